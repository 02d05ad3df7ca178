struct __align__(16) Quad { float a, b, c, d; };
__global__ void aligned(const Quad* in, float* out, int n) {
    __shared__ __align__(16) float tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x & 127] = i < n ? in[i].a : 0.0f;
    __syncthreads();
    if (i < n) out[i] = tile[threadIdx.x & 127] + in[i].d;
}
