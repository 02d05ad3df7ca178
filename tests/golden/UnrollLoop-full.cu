// conv2d after:
//   UnrollLoop(dx: factor=4, mode=full)
// launch: grid (ceil_div(W, block_x), ceil_div(H, block_y), 1), block (16, 16, 1)

// 5x5 convolution of one channel. The caller pads the input by two elements on every side,
// so that in has H + 4 rows of W + 4 elements and out has H rows of W.
extern "C" __global__ void conv2d(const float* in, const float* w, float* out, int H, int W) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < W && y < H) {
        float sum = 0.0f;
        for (int dy = 0; dy < 5; ++dy) {
            sum += in[(y + dy) * (W + 4) + (x + 0)] * w[dy * 5 + 0];
            sum += in[(y + dy) * (W + 4) + (x + 1)] * w[dy * 5 + 1];
            sum += in[(y + dy) * (W + 4) + (x + 2)] * w[dy * 5 + 2];
            sum += in[(y + dy) * (W + 4) + (x + 3)] * w[dy * 5 + 3];
            sum += in[(y + dy) * (W + 4) + (x + 4)] * w[dy * 5 + 4];
        }
        out[y * W + x] = sum;
    }
}
