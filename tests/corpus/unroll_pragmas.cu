#define UNROLL_FACTOR 4
#define DO_UNROLL _Pragma("unroll 2")
__global__ void unroll_pragmas(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0.f;
    #pragma unroll UNROLL_FACTOR
    for (int k = 0; k < 16; ++k) s += in[(i + k) % n];
    for (int k = 0; k < 8; ++k)
        #pragma unroll
        for (int j = 0; j < 4; ++j) s *= in[(k + j) % n];
    DO_UNROLL
    for (int k = 0; k < 8; ++k) s -= in[(i * k) % n];
    #pragma unroll 1
    while (s > 10.0f) s *= 0.5f;
    out[i] = s;
}
