// stencil7 after:
//   CoalesceMemoryAccess(threads: order=zxy)
// launch: grid (max(1, ceil_div(NZ - 1, 8)), max(1, ceil_div(NX - 1, 8)), max(1, ceil_div(NY - 1, 8))), block (8, 8, 8)

// One Jacobi step of the 7-point stencil on a grid of NZ planes of NY rows of NX points.
// Only interior points are written; the boundary of out stays as it was.
extern "C" __global__ void __launch_bounds__(512) stencil7(const float* in, float* out, int NX, int NY, int NZ) {
    const int z_block = (int)blockIdx.x * 8;
    const int z_thread = (int)threadIdx.x;
    const int x_block = (int)blockIdx.y * 8;
    const int x_thread = (int)threadIdx.y;
    const int y_block = (int)blockIdx.z * 8;
    const int y_thread = (int)threadIdx.z;
    const int x = x_block + x_thread;
    const int y = y_block + y_thread;
    const int z = z_block + z_thread;
    if (x >= 1 && x < NX - 1 && y >= 1 && y < NY - 1 && z >= 1 && z < NZ - 1) {
        out[(z * NY + y) * NX + x] = 0.4f * in[(z * NY + y) * NX + x] + 0.1f * (in[(z * NY + y) * NX + (x - 1)]
                + in[(z * NY + y) * NX + (x + 1)] + in[(z * NY + (y - 1)) * NX + x] + in[(z * NY + (y + 1)) * NX + x]
                + in[((z - 1) * NY + y) * NX + x] + in[((z + 1) * NY + y) * NX + x]);
    }
}
