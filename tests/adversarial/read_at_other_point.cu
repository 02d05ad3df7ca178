// The output is read at another point: refused.
__global__ void read_at_other_point(const float* A, float* C, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;

    if (x < N)
        C[x] = A[x] + C[N - 1 - x];
}
