// Axes x and z; y is one.
__global__ void axes_xz(const float* A, float* C, int N, int M)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < N && z < M) {
        float s = 0.0f;
        for (int j = 0; j < 3; ++j)
            s += A[z * (N + 2) + x + j];
        C[z * N + x] = s;
    }
}
