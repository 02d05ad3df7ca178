// A return after work has been done.
__global__ void late_return(const float* A, float* C, float* D, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x >= N) return;
    float s = 0.5f;
    for (int k = 0; k < 3; ++k)
        s = s * 0.5f + (float)(k * x);
    if (y >= M) return;
    C[y * N + x] = s * A[y * N + x];
    if (x == 0) return;
    D[y * N + x] = s;
}
