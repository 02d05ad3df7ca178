// A product instead of a sum: zeros past the end would destroy it.
__global__ void products(const float* A, const float* B, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 1.0f, t = 0.0f;
        for (int k = 0; k < K; ++k) {
            s *= A[y * K + k] + B[k * N + x];
            t -= A[y * K + k] * B[k * N + x];
            t += A[y * K + k] / B[k * N + x];
        }
        C[y * N + x] = s + t;
    }
}
