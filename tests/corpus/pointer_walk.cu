// Pointers instead of subscripts.
__global__ void pointer_walk(const float* A, const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const float* row = A + r * cols;
    const float* v = x;
    float s = 0.0f;
    for (int k = 0; k < cols; ++k) {
        s += row[k] * *v;
        v++;
    }
    float* dst = &y[r];
    *dst = s;
}
