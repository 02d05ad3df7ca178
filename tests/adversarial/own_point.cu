// The same array read and written at the own point.
__global__ void own_point(float* A, const float* B, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;

    if (x < N) {
        float s = A[x];
        for (int j = 0; j < 3; ++j)
            s += B[x * 3 + j] * A[x];
        A[x] = s;
        A[x] += B[x];
    }
}
