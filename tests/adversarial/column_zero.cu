// One column of the points stores a row's result.
__global__ void column_zero(const float* A, float* C, float* R, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        for (int k = 0; k < N; ++k)
            s += A[y * N + k];
        if (x == 0)
            R[y] = s;
        C[y * N + x] = s * A[y * N + x];
    }
}
