// A guard inside the guarded region around a loop that does not load.
__global__ void inner_guard(const float* A, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 1.0f;
        if (x < 5) {
            for (int k = 0; k < K; ++k)
                s += 1.0f;
        }
        if (y > 2) {
            for (int k = 0; k < K; ++k)
                s += A[k];
        }
        C[y * N + x] = s;
    }
}
