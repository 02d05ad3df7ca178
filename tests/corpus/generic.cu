// Templates over numbers, types and functors; helpers called through them.
struct Scale {
    float by;
    __device__ float operator()(float v) const { return v * by; }
};
template <typename T> __device__ inline T clampT(T v, T lo, T hi) { return v < lo ? lo : v > hi ? hi : v; }
template <int TAPS>
__global__ void fir(const float* __restrict__ in, const float* __restrict__ taps, float* __restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float window[TAPS];
#pragma unroll
    for (int k = 0; k < TAPS; ++k) window[k] = i + k < n ? in[i + k] : 0.0f;
    float s = 0.0f;
#pragma unroll
    for (int k = 0; k < TAPS; ++k) s += window[k] * taps[k];
    out[i] = s;
}
template <typename T, typename F>
__global__ void map_clamped(const T* in, T* out, size_t n, F f, T lo, T hi) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        out[i] = clampT<T>(f(in[i]), lo, hi);
}
template <int W, int H>
__global__ void block_means(const float* in, float* out, int width) {
    int bx = blockIdx.x * blockDim.x + threadIdx.x, by = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0.0f;
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x) s += in[(by * H + y) * width + bx * W + x];
    out[by * (width / W) + bx] = s / (W * H);
}
template __global__ void fir<5>(const float*, const float*, float*, int);
template __global__ void map_clamped<float, Scale>(const float*, float*, size_t, Scale, float, float);
template __global__ void block_means<4, 2>(const float*, float*, int);
constexpr int kUnroll = 4;
const int kThreads = 32 * kUnroll;
const int kLargest = 256;
__global__ void __launch_bounds__(kLargest, 2) constant_knobs(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0.0f;
#pragma unroll kUnroll
    for (int k = 0; k < kThreads; ++k) s += in[(i + k) % n];
    if (i < n) out[i] = s / kLargest;
}
template <int N> __device__ float scaled(float x) { return x * N; }
template <int N> struct Ring { float v[N]; };
__global__ void shadowed_constants(float* a) {
    constexpr int w = 4;
    { constexpr int w = 2; a[0] = scaled<w>(a[0]); }
    {
        constexpr int w = 3;
        Ring<w> q = {};
        a[1] = scaled<w>(a[1]) + sizeof(Ring<w>) + q.v[0];
        a[2] = ((Ring<w>*)a)->v[1];
    }
    a[3] = scaled<w>(a[3]);
}
