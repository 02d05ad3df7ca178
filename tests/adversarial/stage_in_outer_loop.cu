// A tiled loop inside another one, which the footprint depends on.
__global__ void stage_in_outer_loop(const float* A, const float* B, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float t = 0.0f;
        for (int b = 0; b < 3; ++b) {
            float s = 0.0f;
            for (int k = 0; k < K; ++k)
                s += A[(b * M + y) * K + k] * B[(b * K + k) * N + x];
            t = t * 0.5f + s;
        }
        C[y * N + x] = t;
    }
}
