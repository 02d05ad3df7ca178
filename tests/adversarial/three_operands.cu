// Three operands over two tiled loops, one of them in both.
__global__ void three_operands(const float* A, const float* B, const float* D, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f, t = 0.0f;
        for (int k = 0; k < K; ++k)
            s += A[y * K + k] * B[k * N + x];
        for (int j = 0; j < K; ++j)
            t += D[y * K + j] * A[j * M + y] + B[j * N + x] * D[j * M + y];
        C[y * N + x] = s * t;
    }
}
