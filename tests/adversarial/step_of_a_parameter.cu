// A loop whose step is a parameter.
__global__ void step_of_a_parameter(const float* A, float* C, int M, int N, int K, int S)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float s = 0.0f;
        for (int k = 0; k < K; k += S)
            s = s * 0.5f + A[y * K + k];
        for (int k = K - 1; k > 0; k -= 2)
            s = s * 0.5f - A[y * K + k];
        C[y * N + x] = s;
    }
}
