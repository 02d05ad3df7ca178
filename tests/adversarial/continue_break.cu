// continue and break in loops.
__global__ void continue_break(const float* A, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        int n = 0;
        for (int k = 0; k < K; ++k) {
            if (A[y * K + k] < 0.0f) continue;
            s += A[y * K + k];
            n += 1;
        }
        for (int j = 0; j < K; ++j) {
            if (A[y * K + j] > 1.0f) break;
            n += 2;
        }
        C[y * N + x] = s + (float)n;
    }
}
