// conv2d after:
//   UseSharedMemory(in: order=01, pad=0, scope=block)
// launch: grid (ceil_div(W, block_x), ceil_div(H, block_y), 1), block (16, 16, 1)

// 5x5 convolution of one channel. The caller pads the input by two elements on every side,
// so that in has H + 4 rows of W + 4 elements and out has H rows of W.
extern "C" __global__ void conv2d(const float* in, const float* w, float* out, int H, int W) {
    // UseSharedMemory: the part of in that the block reads
    __shared__ __align__(16) float in_s[20][20];
    const int tid = (int)threadIdx.x + (int)threadIdx.y * 16;
    const int x_block = (int)blockIdx.x * 16;
    const int x_thread = (int)threadIdx.x;
    const int y_block = (int)blockIdx.y * 16;
    const int y_thread = (int)threadIdx.y;
    const int x = x_block + x_thread;
    const int y = y_block + y_thread;
    #pragma unroll
    for (int in_e = 0; in_e < 400; in_e += 256) {
        if (in_e + tid < 400) {
            const int in_i0 = (in_e + tid) / 20;
            const int in_i1 = (in_e + tid) % 20;
            in_s[in_i0][in_i1] = y_block + in_i0 < H + 4 && x_block + in_i1 < W + 4 ? in[(y_block + in_i0) * (W + 4)
                    + (x_block + in_i1)] : 0;
        }
    }
    __syncthreads();
    if (x < W && y < H) {
        float sum = 0.0f;
        for (int dy = 0; dy < 5; ++dy) {
            for (int dx = 0; dx < 5; ++dx) {
                sum += in_s[y_thread + dy][x_thread + dx] * w[dy * 5 + dx];
            }
        }
        out[y * W + x] = sum;
    }
}
