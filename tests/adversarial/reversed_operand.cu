// An operand that is walked backwards.
__global__ void reversed_operand(const float* A, const float* B, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        for (int k = 0; k < K; ++k)
            s += A[y * K + (K - 1 - k)] * B[(K - 1 - k) * N + (N - 1 - x)];
        C[y * N + x] = s;
    }
}
