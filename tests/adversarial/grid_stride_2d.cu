// Rows and columns walked over the grid, with a value per row, numbers skipped, and the stride in a variable.
__global__ void grid_stride_2d(const float* A, float* C, int W, int H, const float* scale)
{
    int x0 = blockIdx.x * blockDim.x + threadIdx.x;
    int y0 = blockIdx.y * blockDim.y + threadIdx.y;
    int across = gridDim.x * blockDim.x;
    const float f = scale[0];
    for (int y = y0; y < H; y += blockDim.y * gridDim.y) {
        const float g = scale[y];
        for (int x = x0; x < W; x += across) {
            if (A[y * W + x] < 0.0f) continue;
            float s = f + g;
            for (int k = 0; k < 5; ++k) s = s * 0.5f + A[y * W + x] * (float)k;
            C[y * W + x] = s;
        }
    }
}
