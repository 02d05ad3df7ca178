// Subscripts with a stride, staged and not.
__global__ void strided_access(const float* A, const double* B, float* C, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;

    if (x < N) {
        double s = 0.0;
        for (int k = 0; k < 4; ++k)
            s += (double)A[3 * x + k] * B[2 * x + 1];
        C[x] = (float)s + A[3 * x];
    }
}
