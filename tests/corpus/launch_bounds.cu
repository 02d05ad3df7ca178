__global__ void __launch_bounds__(256, 2) launch_bounds(const float* a, volatile float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = __ldg(&a[i]) + __ldg(a + (n - 1 - i)) + __expf(0.5f) + __fdividef(a[i], 3.0f);
}
