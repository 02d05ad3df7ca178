// Elements of type bool and of eight and sixteen bits, signed.
__global__ void bool_and_halves(const bool* A, const signed char* B, short* C, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        int s = 0;
        for (int j = 0; j < 4; ++j)
            s += A[y * (N + 3) + x + j] ? B[j] : -B[j + 1];
        C[y * N + x] = s;
    }
}
