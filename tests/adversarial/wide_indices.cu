// 64-bit subscripts and an int product that is cast too late to matter here.
__global__ void wide_indices(const double* A, double* C, int M, int N, long long pitch)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        double s = 0.0;
        for (long long k = 0; k < 4; ++k)
            s += A[(long long)y * pitch + x + k] * (double)(k - 2);
        C[(size_t)y * N + x] = s + A[(size_t)(y * N + x)];
    }
}
