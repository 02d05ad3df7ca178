#define TILE 16  // edge of a block
#define IDX2(r, c, ld) ((r) * (ld) + (c))
#define FOR(i, n) for (int i = 0; i < (n); ++i)
#define SQUARE(x) \
    ((x) * \
     (x))
#ifndef SCALE
#define SCALE 2.0f /* overridable */
#endif
#if TILE > 8
#define FACTOR 3
#else
#define FACTOR 5
#endif
#define GID (blockIdx.x * TILE + threadIdx.x)

__global__ void macros(const float* in, float* out, int rows, int cols)
{
    int c = GID;
    if (c >= cols) return;
    float sum = 0.f;
    FOR(r, rows) {
        float v = in[IDX2(r, c, cols)];
        sum += SQUARE(v) * SCALE - FACTOR;
    }
    out[c] = sum;
}
