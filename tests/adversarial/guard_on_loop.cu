// A guard that compares a loop variable with a coordinate, around a loop.
__global__ void guard_on_loop(const float* A, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        for (int b = 0; b < 4; ++b) {
            if (b < y) {
                for (int k = 0; k < K; ++k)
                    s += A[k] + 1.0f;
            }
        }
        C[y * N + x] = s;
    }
}
