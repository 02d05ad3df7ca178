__global__ void grid_stride(const float* __restrict__ x, float* __restrict__ y, size_t n) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (; i < n; i += stride) {
        y[i] = sqrtf(fabsf(x[i])) + rsqrtf(1.0f + x[i] * x[i]);
    }
}
