__constant__ float A_s[4] = {0.5f, 0.25f, 0.125f, 2.0f};

// A constant table of the file, under a name that stages would take.
__global__ void constant_table(const float* A, float* C, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;

    if (x < N) {
        float s = 0.0f;
        for (int j = 0; j < 4; ++j)
            s += A[x + j] * A_s[j];
        C[x] = s;
    }
}
