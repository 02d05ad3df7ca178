// Unsigned and size_t coordinates; x - 1 wraps at x == 0.
__global__ void unsigned_coordinate(const float* A, float* C, unsigned int N)
{
    unsigned int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x - 1 < N - 2 && N > 2) {
        float s = 0.0f;
        for (unsigned int j = 0; j < 3; ++j)
            s += A[x - 1 + j];
        C[x] = s;
    }
}
