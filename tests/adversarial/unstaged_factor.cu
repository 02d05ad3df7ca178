// A product of a factor that the tile bounds and one that is infinite past the end.
__global__ void unstaged_factor(const float* A, const float* B, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        for (int k = 0; k < K; ++k)
            s += A[y * K + k] * (1.0f / (float)(K - k));
        for (int k = 0; k < K; ++k)
            s += A[y * K + k] * B[k * N + x] + 0.5f;
        C[y * N + x] = s;
    }
}
