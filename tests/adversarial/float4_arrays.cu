// Arrays of float4: no zero of that type is written as 0.
__global__ void float4_arrays(const float4* A, float4* C, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        float4 v = A[y * N + x];
        float s = 0.0f;
        for (int k = 0; k < 3; ++k) {
            float4 w = A[y * N + k];
            s += w.x * v.y;
        }
        v.x = s + A[x].w;
        C[y * N + x] = v;
    }
}
