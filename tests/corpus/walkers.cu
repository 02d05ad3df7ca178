// Pointers that walk: rows, columns, several at once, down, from an end.
__global__ void column_walk(const float* __restrict__ a, float* __restrict__ out, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= cols) return;
    const float* p = a + c;
    float best = *p;
    for (int r = 1; r < rows; r++) {
        p += cols;
        if (*p > best) best = *p;
    }
    out[c] = best;
}
__global__ void two_walks(const float* x, const float* y, float* out, int n, int len) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float *p = x + i * len, *q = &y[(i + 1) * len - 1];
        float s = 0;
        for (int k = 0; k < len; ++k) { s += *p * *q; ++p; --q; }
        out[i] = s;
    }
}
__global__ void to_the_end(const unsigned char* text, int* count, int n, int len) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned char *p = text + i * len, *const end = p + len;
    int words = 0;
    while (p != end) words += *p++ < 33;
    count[i] = words;
}
__global__ void row_offsets(const double* m, double* out, long long rows, long long cols) {
    long long r = blockIdx.y * (long long)blockDim.y + threadIdx.y;
    long long c = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (r >= rows || c >= cols) return;
    const double* above = m + (r > 0 ? r - 1 : r) * cols;
    const double* here = m + r * cols;
    *(out + r * cols + c) = above[c] + here[c];
}
