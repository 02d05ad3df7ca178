// Both branches of an if hold a loop.
__global__ void else_branches(const float* A, const float* B, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        if (x < 5) {
            for (int k = 0; k < K; ++k)
                s += A[y * K + k] * B[k * N + x];
        } else {
            for (int j = 0; j < K; ++j)
                s -= A[y * K + j] + B[j * N + x];
        }
        C[y * N + x] = s;
    }
}
