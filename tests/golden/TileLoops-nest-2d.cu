// conv2d after:
//   TileLoops(dy,dx: size=4, size2=4)
// launch: grid (ceil_div(W, block_x), ceil_div(H, block_y), 1), block (16, 16, 1)

// 5x5 convolution of one channel. The caller pads the input by two elements on every side,
// so that in has H + 4 rows of W + 4 elements and out has H rows of W.
extern "C" __global__ void conv2d(const float* in, const float* w, float* out, int H, int W) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < W && y < H) {
        float sum = 0.0f;
        // TileLoops: dy in steps of 4
        for (int dy_o = 0; dy_o < 5; dy_o += 4) {
            // TileLoops: dx in steps of 4
            for (int dx_o = 0; dx_o < 5; dx_o += 4) {
                for (int dy_i = 0; dy_i < (5 - dy_o < 4 ? 5 - dy_o : 4); ++dy_i) {
                    for (int dx_i = 0; dx_i < (5 - dx_o < 4 ? 5 - dx_o : 4); ++dx_i) {
                        sum += in[(y + (dy_o + dy_i)) * (W + 4) + (x + (dx_o + dx_i))] * w[(dy_o + dy_i) * 5 + (dx_o
                                + dx_i)];
                    }
                }
            }
        }
        out[y * W + x] = sum;
    }
}
