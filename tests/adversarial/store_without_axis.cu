// A store that does not depend on x: all threads of a row write it. Refused.
__global__ void store_without_axis(const float* A, float* C, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M)
        C[y] = A[y];
}
