// C = A * B for row-major matrices: A is M x K, B is K x N, C is M x N.
// The row comes from x, so neighbouring threads read and write addresses a whole row apart.
__global__ void sgemm_wrong_axes(const float* A, const float* B, float* C, int M, int N, int K)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;

    if (row < M && col < N) {
        float acc = 0.0f;
        for (int k = 0; k < K; ++k) {
            acc += A[row * K + k] * B[k * N + col];
        }
        C[row * N + col] = acc;
    }
}
