// One Jacobi step of the 7-point stencil on a grid of NZ planes of NY rows of NX points.
// Only interior points are written; the boundary of out stays as it was.
__global__ void stencil7(const float* in, float* out, int NX, int NY, int NZ)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;

    if (x >= 1 && x < NX - 1 && y >= 1 && y < NY - 1 && z >= 1 && z < NZ - 1) {
        out[(z * NY + y) * NX + x] = 0.4f * in[(z * NY + y) * NX + x]
                                   + 0.1f * (in[(z * NY + y) * NX + (x - 1)] + in[(z * NY + y) * NX + (x + 1)]
                                           + in[(z * NY + (y - 1)) * NX + x] + in[(z * NY + (y + 1)) * NX + x]
                                           + in[((z - 1) * NY + y) * NX + x] + in[((z + 1) * NY + y) * NX + x]);
    }
}
