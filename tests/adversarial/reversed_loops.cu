// Loops that count down, also in unsigned arithmetic.
__global__ void reversed_loops(const float* A, const float* B, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        for (int k = K - 1; k >= 0; --k)
            s = s * 0.5f + A[y * K + k] * B[k * N + x];
        for (unsigned int j = 3; j < 4; --j)
            s = s * 0.5f + (float)j;
        C[y * N + x] = s;
    }
}
