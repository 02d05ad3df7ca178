// 5x5 convolution of one channel. The caller pads the input by two elements on every side,
// so that in has H + 4 rows of W + 4 elements and out has H rows of W.
__global__ void conv2d(const float* in, const float* w, float* out, int H, int W)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < W && y < H) {
        float sum = 0.0f;
        for (int dy = 0; dy < 5; ++dy) {
            for (int dx = 0; dx < 5; ++dx) {
                sum += in[(y + dy) * (W + 4) + (x + dx)] * w[dy * 5 + dx];
            }
        }
        out[y * W + x] = sum;
    }
}
