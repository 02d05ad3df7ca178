// x & 6 is no polynomial: refused.
__global__ void masked_store(const float* A, float* C, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;

    if (x < N)
        C[x & 6] = 1.0f + A[0];
}
