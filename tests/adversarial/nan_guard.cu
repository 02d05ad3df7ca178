// Comparisons of floating-point numbers whose negation is not their inverse.
__global__ void nan_guard(const float* A, const float* B, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float m = A[y * K];
        for (int k = 0; k < K; ++k) {
            float v = A[y * K + k] * B[k * N + x];
            if (!(v <= m)) m = v;
        }
        C[y * N + x] = m;
    }
}
