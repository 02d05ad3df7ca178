// Guards on one axis, one inside the other, with a store in each.
__global__ void shrinking_guards(const float* A, float* C, float* D, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 1.0f;
        for (int k = 0; k < 2; ++k)
            s += A[y * N + x];
        if (x < N - 1) {
            for (int k = 0; k < 2; ++k)
                s += A[y * N + x + 1];
            if (x < N - 3 && y > 0) {
                for (int k = 0; k < 2; ++k)
                    s -= A[(y - 1) * N + x + 3];
                D[y * N + x] = s;
            }
        }
        C[y * N + x] = s;
    }
}
