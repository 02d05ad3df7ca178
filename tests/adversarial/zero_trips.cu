// Sums over nothing: K may be zero.
__global__ void zero_trips(const float* A, const float* B, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 3.0f;
        for (int k = 0; k < K; ++k)
            s += A[y * K + k] * B[k * N + x];
        for (int k = 4; k < K; ++k)
            s += B[k * N + x];
        C[y * N + x] = s;
    }
}
