// Loads and stores of several arrays in straight-line code: loads first.
__global__ void copy_and_scale(const float* A, const float* B, float* C, float* D, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float a = A[y * N + x];
        C[y * N + x] = a * B[x] + C[y * N + x];
        float c = C[y * N + x];
        D[y * N + x] = c + B[y] + A[x * M + y];
        C[y * N + x] = D[y * N + x] * 0.5f;
    }
}
