// The largest of a row: zeros past its end must not count.
__global__ void max_reduction(const float* A, const float* B, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float m = -3.0e38f;
        for (int k = 0; k < K; ++k)
            m = fmaxf(m, A[y * K + k] * B[k * N + x]);
        C[y * N + x] = m;
    }
}
