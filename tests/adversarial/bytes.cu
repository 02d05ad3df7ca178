// Elements of one byte, and of two.
__global__ void bytes(const unsigned char* A, const short* B, unsigned char* C, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        int s = 0;
        for (int j = 0; j < 5; ++j)
            s += A[y * (N + 4) + x + j] * B[j];
        C[y * N + x] = (unsigned char)(s / 4);
    }
}
