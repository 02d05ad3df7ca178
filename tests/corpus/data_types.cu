// Structs by value and in arrays, vectors, unsigned and 64-bit arithmetic, register arrays, constant memory.
#include <stdint.h>
struct Params { int w, h; float scale[3]; };
struct __align__(8) Pair { float v; int i; };
typedef struct { double re, im; } cplx;
union Bits { float f; unsigned int u; };
enum class Mode : int { Add, Sub };
__constant__ float filter[9];
__constant__ Params defaults;
__device__ unsigned int counter = 0;
__device__ __host__ inline cplx mul(cplx a, cplx b) { cplx r; r.re = a.re * b.re - a.im * b.im; r.im = a.re * b.im + a.im * b.re; return r; }
__global__ void by_value(const Params p, const uchar3* in, float* out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= p.w || y >= p.h) return;
    uchar3 c = in[y * p.w + x];
    out[y * p.w + x] = p.scale[0] * c.x + p.scale[1] * c.y + p.scale[2] * c.z + defaults.scale[0];
}
__global__ void argmin(const float* in, Pair* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Pair best = {3.4e38f, -1};
    for (int k = i; k < n; k += blockDim.x * gridDim.x) if (in[k] < best.v) { best.v = in[k]; best.i = k; }
    out[i] = best;
}
__global__ void fourier(const cplx* a, cplx* b, const cplx* w, size_t n) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    cplx s = {0.0, 0.0};
    for (size_t k = 0; k < n; ++k) { cplx t = mul(a[k], w[(i * k) % n]); s.re += t.re; s.im += t.im; }
    b[i] = s;
}
__global__ void convolve3(const float* in, float* out, unsigned int w, unsigned int h) {
    const unsigned int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) {
        float acc = 0.f;
        for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx) {
                int xx = min(max((int)x + dx, 0), (int)w - 1), yy = min(max((int)y + dy, 0), (int)h - 1);
                acc += filter[(dy + 1) * 3 + dx + 1] * in[yy * w + xx];
            }
        out[y * w + x] = acc;
    }
}
__global__ void split_index(const float* in, float* out, int64_t total, int c, int h, int w) {
    int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < total) {
        const int64_t iw = idx % w, ih = (idx / w) % h, ic = idx / ((int64_t)w * h) % c, b = idx / ((int64_t)w * h * c);
        out[((b * h + ih) * w + iw) * c + ic] = in[idx];
    }
}
__global__ void registers(const float* a, float* b, int n) {
    float r[8], *q = r;
    const int base = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
#pragma unroll
    for (int k = 0; k < 8; ++k) r[k] = base + k < n ? a[base + k] : 0.f;
#pragma unroll
    for (int k = 1; k < 8; ++k) r[k] += r[k - 1];
#pragma unroll 4
    for (int k = 0; k < 8; ++k) if (base + k < n) b[base + k] = q[7 - k];
}
__global__ void float_bits(const float* a, uint32_t* b, uint64_t* c, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (n - i > 0u && i < n) {
        Bits u;
        u.f = a[i];
        b[i] = (u.u & 0x80000000u) ? ~u.u : u.u | 0x80000000;
        c[i] = ((uint64_t)b[i] << 32) | (uint64_t)i;
        atomicAdd(&counter, 1u);
    }
}
__global__ void modes(float* a, Mode mode, bool flip, const int n) {
    auto i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { a[i] = mode == Mode::Add ? a[i] + 1 : a[i] - 1; if (flip) a[i] = -a[i]; }
}
