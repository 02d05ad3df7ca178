// stencil7 after:
//   WarpTile(threads: lanes=8)
// launch: grid (ceil_div(NX, block_x), ceil_div(NY, block_y), ceil_div(NZ, block_z)), block (8, 8, 8)

// One Jacobi step of the 7-point stencil on a grid of NZ planes of NY rows of NX points.
// Only interior points are written; the boundary of out stays as it was.
extern "C" __global__ void stencil7(const float* in, float* out, int NX, int NY, int NZ) {
    const int tid = (int)threadIdx.x + (int)threadIdx.y * 8 + (int)threadIdx.z * 64;
    const int x_block = (int)blockIdx.x * 8;
    const int x_thread = tid % 64 % 32 % 8 + tid % 64 / 32 % 1 * 8;
    const int y_block = (int)blockIdx.y * 8;
    const int y_thread = tid % 64 % 32 / 8 + tid % 64 / 32 / 1 * 4;
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
