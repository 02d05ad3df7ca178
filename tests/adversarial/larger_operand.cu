// The sum stops before the operands end: nothing is zero past it.
__global__ void larger_operand(const float* A, const float* B, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        for (int k = 0; k < K; ++k)
            s += A[y * (K + 5) + k] * B[k * N + x];
        C[y * N + x] = s;
    }
}
