// A[i][k] * A[k][i]: two groups of one array.
__global__ void syrk(const float* A, float* C, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < N) {
        float s = 0.0f;
        for (int k = 0; k < N; ++k)
            s += A[y * N + k] * A[x * N + k] + A[k * N + y] * A[k * N + x];
        C[y * N + x] = s;
    }
}
