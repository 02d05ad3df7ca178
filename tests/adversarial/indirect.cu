// Gathered loads and a scatter through a subscript array.
__global__ void indirect(const int* idx, const float* A, float* C, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        for (int k = 0; k < 3; ++k)
            s += A[y * N + idx[x]] * (float)idx[k];
        C[y * N + x] = s;
    }
}
