// Guards in negated forms, and a guarded region in an else branch.
__global__ void negated_guards(const float* A, float* C, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (!(x >= N) && !(M <= y)) {
        float s = 0.0f;
        if (x == 3 || !(y > 2)) {
        } else {
            for (int k = 0; k < 3; ++k)
                s += A[y * N + x];
        }
        C[y * N + x] = s;
    }
}
