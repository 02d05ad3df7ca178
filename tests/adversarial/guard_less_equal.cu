// Guards with <= and the bound on the left.
__global__ void guard_less_equal(const float* A, float* C, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x <= N - 1 && M - 1 >= y) {
        float s = 0.0f;
        for (int k = 0; k <= x % 3; ++k)
            s += A[y * N + x] + (float)k;
        C[y * N + x] = s;
    }
}
