// No guard, and the grid comes from sizes that are no parameters of the kernel.
__global__ void unguarded_hidden_size(const float* A, float* C, int pitch)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    float s = 0.0f;
    for (int k = 0; k < 4; ++k)
        s += A[y * pitch + x] * (float)k;
    C[y * pitch + x] = s;
}
