const int RADIUS = 2;
constexpr float WEIGHT = 0.2f;
static const unsigned int MASK = 0xffffffffu;
enum Mode { PLAIN, DOUBLED = 5 };
__constant__ float taps[2 * RADIUS + 1] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};
__device__ const int offsets[4] = {0, 1, 2, 3};

__global__ void constants(const float* in, float* out, int n, int mode) {
    float window[2 * RADIUS + 1] = {0};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = WEIGHT;
    for (int r = -RADIUS; r <= RADIUS; ++r) {
        int j = min(max(i + r, 0), n - 1);
        window[r + RADIUS] = in[j];
        s += taps[r + RADIUS] * window[r + RADIUS];
    }
    if (mode == DOUBLED) s *= 2;
    out[i] = s + offsets[i & 3] + (float)(MASK >> 31);
}
