// Domains that are no boxes: x + y < N, a diagonal, the part below it.
__global__ void skewed_domains(const float* A, float* C, float* D, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = A[y * N + x];
        if (x + y < N - 2) {
            for (int k = 0; k < 3; ++k)
                s += A[y * N + x + y];
        }
        if (x == y)
            D[x] = s;
        if (x < y)
            s = -s;
        C[y * N + x] = s;
    }
}
