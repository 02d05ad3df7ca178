// Negative coefficients, staged and not.
__global__ void mirrored(const float* A, float* C, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;

    if (x < N) {
        float s = 0.0f;
        for (int j = 0; j < 3; ++j)
            s += A[N + 1 - x - j + 1];
        C[N - 1 - x] = s + A[N - 1 - x];
    }
}
