#define x_thread 5
#define k_o (1 + 1)

// Parameters under names that emitted code would like to have, and a macro under another.
__global__ void borrowed_names(const float* A, float* C, int tid, int x_block, int A_s, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;

    if (x < N) {
        float v = 0.0f;
        for (int k = 0; k < 4; ++k)
            v += A[x + k] * (float)(tid + x_block + A_s + x_thread + k_o);
        C[x] = v;
    }
}
