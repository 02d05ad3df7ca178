// Conditions on parameters and on loop variables around loops.
__global__ void uniform_guard(const float* A, const float* B, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        if (K > 4) {
            for (int k = 0; k < K; ++k) {
                if (k < 3) {
                    for (int j = 0; j < K; ++j)
                        s += A[y * K + j] * B[j * N + x];
                } else {
                    s += A[y * K + k];
                }
            }
        }
        C[y * N + x] = s;
    }
}
