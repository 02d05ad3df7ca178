// An array is written twice, the second time under a condition.
__global__ void two_writes(const float* A, float* C, float* D, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;

    if (x < N) {
        C[x] = A[x];
        D[x] = C[x] * 2.0f;
        if (A[x] > 0.0f)
            C[x] = D[x] - 1.0f;
        D[x] += C[x];
    }
}
