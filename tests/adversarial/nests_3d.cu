// A perfect nest of three loops with dependences that permit every order.
__global__ void nests_3d(const float* A, float* C, int M, int N, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        for (int i = 0; i < 5; ++i)
            for (int j = 0; j < 6; ++j)
                for (int k = 0; k < K; ++k)
                    C[(((y * N + x) * 5 + i) * 6 + j) * K + k] = A[(k * 6 + j) * 5 + i] + (float)(i + j * k);
    }
}
