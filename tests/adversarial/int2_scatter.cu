// A struct of two ints, one component stored.
__global__ void int2_scatter(const int2* A, int2* C, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;

    if (x < N) {
        int s = 0;
        for (int k = 0; k < 4; ++k)
            s += A[x].x * k;
        C[x].y = s + A[x].y;
    }
}
