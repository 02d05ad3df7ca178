// Products and sums of zeros of either sign.
__global__ void signed_zero(const float* A, const float* B, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = -0.0f;
        for (int k = 0; k < K; ++k)
            s += A[y * K + k] * B[k * N + x];
        C[y * N + x] = 1.0f / s;
    }
}
