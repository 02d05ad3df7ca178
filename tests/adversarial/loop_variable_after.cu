// A loop variable that is read after its loop.
__global__ void loop_variable_after(const float* A, float* C, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;

    if (x < N) {
        int k;
        float s = 0.0f;
        for (k = 0; k < 4; ++k)
            s += A[x] * (float)k;
        int j;
        for (j = 0; j < x % 5; ++j)
            s += 1.0f;
        C[x] = s + (float)k + (float)j;
    }
}
