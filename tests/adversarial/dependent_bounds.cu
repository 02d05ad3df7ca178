// An inner loop of constant length whose start depends on the outer loop.
__global__ void dependent_bounds(const float* A, float* C, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;

    if (x < N) {
        float s = 0.0f;
        for (int i = 0; i < 4; ++i)
            for (int j = i; j < i + 3; ++j)
                s = s * 0.5f + A[x + j];
        C[x] = s;
    }
}
