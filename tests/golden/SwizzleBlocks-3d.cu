// stencil7 after:
//   SwizzleBlocks(grid: rows=4)
// launch: grid (ceil_div(NX, block_x), ceil_div(NY, block_y), ceil_div(NZ, block_z)), block (8, 8, 8)

// One Jacobi step of the 7-point stencil on a grid of NZ planes of NY rows of NX points.
// Only interior points are written; the boundary of out stays as it was.
extern "C" __global__ void stencil7(const float* in, float* out, int NX, int NY, int NZ) {
    const int grid_width = (int)gridDim.x;
    const int linear_block = (int)blockIdx.y * grid_width + (int)blockIdx.x;
    const int group_first = linear_block / (grid_width * 4) * 4;
    const int group_rows = (int)gridDim.y - group_first < 4 ? (int)gridDim.y - group_first : 4;
    const int in_group = linear_block % (grid_width * 4);
    const int x_number = in_group / group_rows;
    const int y_number = group_first + in_group % group_rows;
    const int x_block = x_number * 8;
    const int x_thread = (int)threadIdx.x;
    const int y_block = y_number * 8;
    const int y_thread = (int)threadIdx.y;
    const int z_block = (int)blockIdx.z * 8;
    const int z_thread = (int)threadIdx.z;
    const int x = x_block + x_thread;
    const int y = y_block + y_thread;
    const int z = z_block + z_thread;
    if (x >= 1 && x < NX - 1 && y >= 1 && y < NY - 1 && z >= 1 && z < NZ - 1) {
        out[(z * NY + y) * NX + x] = 0.4f * in[(z * NY + y) * NX + x] + 0.1f * (in[(z * NY + y) * NX + (x - 1)]
                + in[(z * NY + y) * NX + (x + 1)] + in[(z * NY + (y - 1)) * NX + x] + in[(z * NY + (y + 1)) * NX + x]
                + in[((z - 1) * NY + y) * NX + x] + in[((z + 1) * NY + y) * NX + x]);
    }
}
