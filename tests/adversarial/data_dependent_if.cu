// A condition on data around a loop, a scalar declared outside.
__global__ void data_dependent_if(const float* A, const float* B, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 2.0f;
        if (A[y * K] > 0.0f) {
            for (int k = 0; k < K; ++k)
                s += A[y * K + k] * B[k * N + x];
        }
        C[y * N + x] = s;
    }
}
