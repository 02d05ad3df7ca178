__device__ void split(int flat, int width, int& row, int& col) { row = flat / width; col = flat % width; }
__global__ void references(const float* in, float* out, int width, int height) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= width * height) return;
    int r, c;
    split(i, width, r, c);
    float& dst = out[c * height + r];
    dst = in[i];
}
