// transpose after:
//   WarpTile(threads: lanes=8)
// launch: grid (ceil_div(W, block_x), ceil_div(H, block_y), 1), block (32, 8, 1)

// out = in transposed: in has H rows of W elements, out has W rows of H elements.
extern "C" __global__ void transpose(const float* in, float* out, int H, int W) {
    const int tid = (int)threadIdx.x + (int)threadIdx.y * 32;
    const int x_block = (int)blockIdx.x * 32;
    const int x_thread = tid % 32 % 8 + tid / 32 % 4 * 8;
    const int y_block = (int)blockIdx.y * 8;
    const int y_thread = tid % 32 / 8 + tid / 32 / 4 * 4;
    const int x = x_block + x_thread;
    const int y = y_block + y_thread;
    if (x < W && y < H) {
        out[x * H + y] = in[y * W + x];
    }
}
