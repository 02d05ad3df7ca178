// What looks like a walk over the grid and is none: a sum lives from one number to the next.
__global__ void grid_stride_carries(const float* A, float* C, int N, int T)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float last = 1.0f;
    for (int i = t; i < N; i += blockDim.x * gridDim.x) {
        float s = A[i];
        for (int k = 0; k < 3; ++k) s = s * 0.5f + last;
        C[i] = s;
        last = s;
    }
}
