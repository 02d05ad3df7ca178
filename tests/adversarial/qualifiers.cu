// restrict, launch bounds, pragmas and __ldg-free read-only loads.
__global__ void __launch_bounds__(128) qualifiers(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        #pragma unroll 4
        for (int k = 0; k < K; ++k)
            s = fmaf(A[y * K + k], B[k * N + x], s);
        C[y * N + x] = s;
    }
}
