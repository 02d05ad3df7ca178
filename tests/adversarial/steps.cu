// Loops with a step of two, <=, and a variable step.
__global__ void steps(const float* A, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        for (int k = 0; k < K; k += 2)
            s = s * 0.5f + A[y * K + k];
        for (int k = 1; k <= K; ++k)
            s = s * 0.5f + A[y * K + k - 1];
        for (int k = 0; k <= 10; k += 3)
            s = s * 0.5f + (float)k;
        for (int k = 2; k <= 7; ++k)
            s = s * 0.5f + (float)k;
        C[y * N + x] = s;
    }
}
