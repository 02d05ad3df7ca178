// The loop and its sum depend on y alone, the store on both.
__global__ void triangular_row_only(const float* A, float* C, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        for (int k = 0; k < y; ++k)
            s += A[y * M + k];
        C[y * N + x] = s;
    }
}
