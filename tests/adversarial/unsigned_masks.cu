// Unsigned arithmetic in guards under which the lower bound is implied.
__global__ void unsigned_masks(const float* A, float* C, unsigned int M, unsigned int N)
{
    unsigned int x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x - 2u < N - 2u && y < M && N > 2u) {
        float s = 0.0f;
        for (int j = 0; j < 3; ++j)
            s += A[y * N + x - (unsigned int)j];
        C[y * N + x] = s;
    }
}
