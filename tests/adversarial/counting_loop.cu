// A loop that counts beside its sum.
__global__ void counting_loop(const float* A, const float* B, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        int n = 0;
        for (int k = 0; k < K; ++k) {
            float a = A[y * K + k];
            s += a * B[k * N + x];
            if (a * B[k * N + x] >= 0.0f)
                n += 1;
        }
        C[y * N + x] = s / (float)(n + 1);
    }
}
