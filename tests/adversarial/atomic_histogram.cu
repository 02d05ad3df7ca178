// Atomics: the mapping is refused.
__global__ void atomic_histogram(const int* A, int* C, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;

    if (x < N) {
        int n = 0;
        for (int k = 0; k < 4; ++k) {
            atomicAdd(&C[(A[x] + k) & 7], 1);
            n += k;
        }
        if (n < 0) C[0] = n;
    }
}
