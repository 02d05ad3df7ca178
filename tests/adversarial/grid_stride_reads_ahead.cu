// Numbers that depend on each other stay with their threads: each reads what an earlier step of its thread wrote.
__global__ void grid_stride_reads_ahead(const float* A, float* C, int N)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += blockDim.x * gridDim.x) {
        float s = A[i];
        if (i >= 64) s += 0.5f * C[i - 64];
        for (int k = 0; k < 3; ++k) s = s * 0.5f + A[i];
        C[i] = s;
    }
}
