// One accumulator for two sums, another carried over both.
__global__ void reused_scalar(const float* A, const float* B, float* C, float* D, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float acc = 0.0f, total = 1.0f;
        for (int k = 0; k < K; ++k) {
            acc += A[y * K + k] * B[k * N + x];
            total += acc;
        }
        C[y * N + x] = acc;
        acc = total;
        for (int k = 0; k < K; ++k)
            acc -= A[y * K + k];
        D[y * N + x] = acc + total;
    }
}
