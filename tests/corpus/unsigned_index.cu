// The coordinate stays unsigned where the kernel says so.
__global__ void unsigned_index(const unsigned char* in, unsigned char* out, unsigned int w, unsigned int h) {
    const unsigned int x = __umul24(blockIdx.x, blockDim.x) + threadIdx.x;
    const unsigned int y = __umul24(blockDim.y, blockIdx.y) + threadIdx.y;
    if (x >= w || y >= h) return;
    unsigned int sum = 0;
    for (unsigned int d = 0; d < 3u; ++d) {
        unsigned int xx = x + d - 1u < w ? x + d - 1u : x;
        sum += in[y * w + xx];
    }
    out[y * w + x] = (unsigned char)(sum / 3u);
}
