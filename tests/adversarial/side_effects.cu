// Side effects inside expressions.
__global__ void side_effects(const float* A, float* C, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        int p = 0;
        float s = A[y * N + x] + (float)(p++);
        s += A[y * N + x] * (float)(p += 2);
        for (int k = 0; k < 3; ++k)
            s += (float)(++p);
        C[y * N + x] = s + (float)p;
    }
}
