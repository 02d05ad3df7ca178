// A loop over the grid: any block and any grid will do.
__global__ void grid_stride(const float* A, float* C, int N)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += blockDim.x * gridDim.x) {
        float s = A[i];
        for (int k = 0; k < 4; ++k)
            s = s * 0.5f + (float)k;
        C[i] = s;
    }
}
