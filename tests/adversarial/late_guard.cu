// A guard that is evaluated after its variable has changed.
__global__ void late_guard(const float* A, float* C, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;

    int n = N;
    if (A[0] > 100.0f) n = n - 1;
    n = n - 2;
    if (x < n && x < N) {
        float s = 0.0f;
        for (int j = 0; j < 3; ++j)
            s += A[x + j];
        C[x] = s;
    }
}
