// Row pointers and pointers that walk.
__global__ void walking_pointers(const float* A, const float* B, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x >= N || y >= M) return;
    const float* a = A + y * K;
    const float* b = B + x;
    float s = 0.0f;
    for (int k = 0; k < K; ++k) {
        s += a[k] * *b;
        b += N;
    }
    C[y * N + x] = s;
}
