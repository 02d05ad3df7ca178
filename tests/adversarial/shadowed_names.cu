// An inner k and an inner s hide outer ones.
__global__ void shadowed_names(const float* A, const float* B, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        for (int k = 0; k < K; ++k) {
            float s2 = A[y * K + k];
            {
                float s = 1.0f;
                for (int k = 0; k < 3; ++k)
                    s += s2 * (float)k;
                s2 = s;
            }
            s += s2 * B[k * N + x];
        }
        for (int k = 0; k < 2; ++k)
            s += (float)k;
        C[y * N + x] = s;
    }
}
