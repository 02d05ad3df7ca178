// out = in transposed: in has H rows of W elements, out has W rows of H elements.
__global__ void transpose(const float* in, float* out, int H, int W)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < W && y < H) {
        out[x * H + y] = in[y * W + x];
    }
}
