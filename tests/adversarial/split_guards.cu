// Guards over nested ifs with work in between.
__global__ void split_guards(const float* A, const float* B, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N) {
        float s = 1.0f;
        float t = 0.5f;
        if (y < M) {
            for (int k = 0; k < K; ++k)
                s += A[y * K + k] * B[k * N + x];
            t = s;
            C[y * N + x] = s + t;
        }
    }
}
