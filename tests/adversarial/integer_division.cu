// Integer arithmetic with divisions that would trap on a masked point.
__global__ void integer_division(const int* A, int* C, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        int q = 1000 / (N - x);
        int r = 7 / M;
        r += 9 % M;
        int s = 0;
        for (int k = 0; k < 4; ++k)
            s += A[y * N + x] / (k + 1) + q % (y + 1) + r;
        C[y * N + x] = s;
    }
}
