__global__ void ternaries(const float* x, float* y, int n, int mode) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        y[i] = mode == 0 ? v : mode == 1 ? -v : mode == 2 ? (v > 0.f ? v : 0.f) : 1.0f / (1.0f + expf(-v));
        y[i] *= (v != v) ? 0.0f : 1.0f;
    }
}
