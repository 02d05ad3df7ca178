// Loops, guards, accesses and conditions that hide in macros.
#define IDX(r, c, ld) ((r) * (ld) + (c))
#define LOOP(v, n) for (int v = 0; v < (n); ++v)
#define GUARD(c) if (!(c)) return
#define SQ(x) ((x) * (x))
#define CHANNELS 3
#define WITH_BIAS 1
__global__ void dist2(const float* a, const float* b, float* out, int m, int n, int d) {
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    GUARD(i < m && j < n);
    float s = 0.f;
    LOOP(k, d) s += SQ(a[IDX(i, k, d)] - b[IDX(j, k, d)]);
    out[IDX(i, j, n)] = s;
}
__global__ void grey(const unsigned char* rgb, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float s = 0.f;
        LOOP(c, CHANNELS) {
            s += rgb[IDX(i, c, CHANNELS)];
        }
#if WITH_BIAS
        s += 0.5f;
#else
        s -= 0.5f;
#endif
        out[i] = s / CHANNELS;
    }
}
#define FIELDS(X) X(0) X(1) X(2)
#define COPY_FIELD(k) dst[(k) * n + i] = src[i * CHANNELS + (k)];
__global__ void to_planes(const float* src, float* dst, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        FIELDS(COPY_FIELD)
    }
}
