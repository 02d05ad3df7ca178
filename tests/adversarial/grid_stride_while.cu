// The counter of a while loop: a stencil walked over the grid, in 64 bits.
__global__ void grid_stride_while(const float* A, float* C, const float* w, size_t N)
{
    size_t tid = threadIdx.x + blockIdx.x * (size_t)blockDim.x;
    while (tid < N) {
        float s = 0.0f;
        for (int k = 0; k < 7; ++k)
            if (tid + k < N) s += w[k] * A[tid + k];
        C[tid] = s;
        tid += (size_t)gridDim.x * blockDim.x;
    }
}
