// A scalar set under a guard on one axis, inside a guard on the same axis.
__global__ void conditional_scalar(const float* A, float* C, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        int n = 0;
        if (y < 5) s = 1.0f;
        if (y < 7) s += 2.0f;
        if (y < 3) n++;
        C[y * N + x] = A[y * N + x] * s + (float)n;
    }
}
