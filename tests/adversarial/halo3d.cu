// A 3-D stencil with a halo of two, the input padded.
__global__ void halo3d(const float* in, float* out, int X, int Y, int Z)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < X && y < Y && z < Z) {
        float s = 0.0f;
        for (int d = -2; d <= 2; ++d)
            s += in[((z + 2 + d) * (Y + 4) + y + 2) * (X + 4) + x + 2]
               + in[((z + 2) * (Y + 4) + y + 2 + d) * (X + 4) + x + 2]
               + in[((z + 2) * (Y + 4) + y + 2) * (X + 4) + x + 2 + d];
        out[(z * Y + y) * X + x] = s;
    }
}
