__device__ float last_sum[4096];

// A __device__ variable is written: refused.
__global__ void global_variable(const float* A, float* C, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;

    if (x < N) {
        float s = A[x];
        for (int j = 0; j < 3; ++j)
            s += 1.0f;
        last_sum[x / 2] = s;
        C[x] = s;
    }
}
