// Arrays whose extents are numbers.
__global__ void fixed_extents(const float* A, const float* w, float* C, int M)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < 24 && y < M) {
        float s = 0.0f;
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 4; ++j)
                s += A[(y + i) * 27 + x + j] * w[i * 4 + j];
        C[y * 24 + x] = s;
    }
}
