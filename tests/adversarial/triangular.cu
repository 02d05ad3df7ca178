// A loop up to a coordinate.
__global__ void triangular(const float* A, const float* B, float* C, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        for (int k = 0; k <= y; ++k)
            s += A[y * M + k] * B[k * N + x];
        C[y * N + x] = s;
    }
}
