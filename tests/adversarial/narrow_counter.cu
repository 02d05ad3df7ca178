// A loop that counts in eight bits.
__global__ void narrow_counter(const float* A, float* C, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;

    if (x < N) {
        float s = 0.0f;
        for (unsigned char k = 0; k < 250; ++k)
            s = s * 0.5f + (float)k;
        C[x] = s + A[x];
    }
}
