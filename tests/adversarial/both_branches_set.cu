// A scalar without initialiser that both branches set.
__global__ void both_branches_set(const float* A, float* C, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float t;
        int n;
        if (x > 4) {
            t = A[y * N + x];
            n = 1;
        } else {
            t = 0.5f;
            n = y;
        }
        float s = 0.0f;
        for (int k = 0; k < 3; ++k)
            s += t * (float)n;
        C[y * N + x] = s;
    }
}
