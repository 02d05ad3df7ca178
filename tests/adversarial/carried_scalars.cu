// Scalars carried from one iteration to the next, one by ++, one by +=.
__global__ void carried_scalars(const float* A, const float* B, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        int p = 0;
        int count = 1;
        float last = 1.0f;
        for (int k = 0; k < K; ++k) {
            s += A[y * K + p] * B[p * N + x] * (float)count + last;
            last = A[y * K + k];
            p += 1;
            count++;
        }
        C[y * N + x] = s + (float)count;
    }
}
