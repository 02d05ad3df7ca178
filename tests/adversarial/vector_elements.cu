// Elements of type float4.
__global__ void vector_elements(const float* A, float* C, int M, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < N && y < M) {
        const float4* a = (const float4*)A;
        float4* c = (float4*)C;
        float4 v = a[y * N + x];
        v.x += v.y * 2.0f;
        c[y * N + x] = v;
    }
}
