// A nest that may not be permuted: each element is made of one of the row before it.
__global__ void skewed_nest(const float* A, float* C, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        for (int i = 1; i < 8; ++i)
            for (int j = 0; j < 7; ++j)
                C[((y * N + x) * 8 + i) * 8 + j] = C[((y * N + x) * 8 + i - 1) * 8 + j + 1] + A[i * 8 + j];
    }
}
