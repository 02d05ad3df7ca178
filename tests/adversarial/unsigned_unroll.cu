// A loop variable whose type matters to the arithmetic around it.
__global__ void unsigned_unroll(const int* A, int* C, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;

    if (x < N) {
        int s = 0;
        for (unsigned int k = 0; k < 4; ++k)
            s += (A[x] - k < 3) ? 1 : (A[x] / (int)(k + 1));
        for (long long j = 1; j < 5; ++j)
            s += (int)(((j << 32) / 3) >> 30);
        C[x] = s;
    }
}
