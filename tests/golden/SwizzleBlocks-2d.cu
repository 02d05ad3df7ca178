// transpose after:
//   SwizzleBlocks(grid: rows=8)
// launch: grid (ceil_div(W, block_x), ceil_div(H, block_y), 1), block (32, 8, 1)

// out = in transposed: in has H rows of W elements, out has W rows of H elements.
extern "C" __global__ void transpose(const float* in, float* out, int H, int W) {
    const int grid_width = (int)gridDim.x;
    const int linear_block = (int)blockIdx.y * grid_width + (int)blockIdx.x;
    const int group_first = linear_block / (grid_width * 8) * 8;
    const int group_rows = (int)gridDim.y - group_first < 8 ? (int)gridDim.y - group_first : 8;
    const int in_group = linear_block % (grid_width * 8);
    const int x_number = in_group / group_rows;
    const int y_number = group_first + in_group % group_rows;
    const int x_block = x_number * 32;
    const int x_thread = (int)threadIdx.x;
    const int y_block = y_number * 8;
    const int y_thread = (int)threadIdx.y;
    const int x = x_block + x_thread;
    const int y = y_block + y_thread;
    if (x < W && y < H) {
        out[x * H + y] = in[y * W + x];
    }
}
