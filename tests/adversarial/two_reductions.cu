// A perfect nest of two reductions over both operands.
__global__ void two_reductions(const float* A, const float* w, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        for (int c = 0; c < K; ++c)
            for (int k = 0; k < 5; ++k)
                s += A[(c * M + y) * (N + 4) + x + k] * w[c * 5 + k];
        C[y * N + x] = s;
    }
}
