// bias after:
//   CoarsenThreads(y: fragment=4, items=4, mode=strided)
//   ReorderInstructions(out: order=loads-first)
// launch: grid (ceil_div(W, 32), ceil_div(H, 32), 1), block (32, 8, 1)

extern "C" __global__ void __launch_bounds__(256) bias(const float* in, const float* b, float* out, int H, int W) {
    const int x_block = (int)blockIdx.x * 32;
    const int x_thread = (int)threadIdx.x;
    const int y_block = (int)blockIdx.y * 32;
    const int y_thread = (int)threadIdx.y;
    const int x = x_block + x_thread;
    float in_v[4];
    #pragma unroll
    for (int y_i = 0; y_i < 4; ++y_i) {
        in_v[y_i] = x < W && y_block + y_thread + y_i * 8 < H ? in[(y_block + y_thread + y_i * 8) * W + x] : 0;
    }
    const float b_v = x < W ? b[x] : 0;
    #pragma unroll
    for (int y_i = 0; y_i < 4; ++y_i) {
        if (x < W && y_block + y_thread + y_i * 8 < H) {
            out[(y_block + y_thread + y_i * 8) * W + x] = in_v[y_i] + b_v;
        }
    }
}
