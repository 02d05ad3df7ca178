// A column is walked by adding the row length.
__global__ void pointer_stride(const float* __restrict__ A, float* __restrict__ sums, int rows, int cols) {
    const unsigned int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < (unsigned int)cols) {
        const float* p = A + c;
        float s = 0.0f;
        for (int r = 0; r < rows; r++) {
            s += *p;
            p += cols;
        }
        sums[c] = s;
    }
}
