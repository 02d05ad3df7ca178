// No guard at all: the sizes are multiples of the block.
__global__ void unguarded_exact(const float* A, float* C, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    float s = 0.0f;
    for (int k = 0; k < 6; ++k)
        s += A[y * N + x] * (float)(k + 1);
    C[y * N + x] = s;
}
