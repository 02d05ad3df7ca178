// Loops that start past zero and end before the bound.
__global__ void offset_bounds(const float* A, const float* B, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        for (int k = 2; k < K - 1; ++k)
            s += A[y * K + k] * B[k * N + x];
        for (int k = y; k < y + 3; ++k)
            s += B[(k - y) * N + x] + (float)k;
        for (int k = 1; k <= K - 2; ++k)
            s += A[y * K + k + 1] * B[(k - 1) * N + x];
        C[y * N + x] = s;
    }
}
