// A private array that a loop fills and another sums.
__global__ void private_array(const float* A, float* C, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float w[4];
        for (int i = 0; i < 4; ++i)
            w[i] = A[y * N + x] * (float)(i + y);
        float s = 0.0f;
        for (int i = 0; i < 4; ++i)
            s += w[3 - i] * (float)i;
        C[y * N + x] = s;
    }
}
