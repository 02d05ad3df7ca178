// Function-like macros, macros that hide loops and subscripts, conditions in the body.
#include "config_that_is_not_here.h"
#define IDX3(i, j, k) ((i) + nx * ((j) + ny * (k)))
#define U(i, j, k) u[IDX3(i, j, k)]
#define FOR_EACH(var, count) for (int var = blockIdx.x * blockDim.x + threadIdx.x; var < (count); var += blockDim.x * gridDim.x)
#define MAX2(a, b) ((a) > (b) ? (a) : (b))
#define MIN2(a, b) ((a) < (b) ? (a) : (b))
#define BLOCK 16
#define LOOP(n, body) for (int q = 0; q < (n); ++q) { body; }
#define DECLARE(type, name, value) type name = (value)
#define USE_FAST 1
#define CONCAT(a, b) a##b
#define STAGE(n) CONCAT(stage_, n)
#define SWAP(T, a, b) do { T t_ = (a); (a) = (b); (b) = t_; } while (0)

__global__ void laplace3(const float* u, float* v, int nx, int ny, int nz) {
    int i = blockIdx.x * BLOCK + threadIdx.x, j = blockIdx.y * BLOCK + threadIdx.y;
    if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
    for (int k = 1; k < nz - 1; k++)
        v[IDX3(i, j, k)] = U(i - 1, j, k) + U(i + 1, j, k) + U(i, j - 1, k) + U(i, j + 1, k) + U(i, j, k - 1) + U(i, j, k + 1)
                         - 6.0f * U(i, j, k);
}

__global__ void each(float* a, const float* b, int n) {
    FOR_EACH(i, n) {
        DECLARE(float, v, b[i]);
#if USE_FAST
        a[i] = MAX2(v, 0.0f);
#else
        a[i] = fmaxf(v, 0.0f);
#endif
        LOOP(3, a[i] += MIN2(v, (float)q))
    }
}

__global__ void STAGE(one)(int* data, int n) {
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 1 < n && data[i] > data[i + 1]) SWAP(int, data[i], data[i + 1]);
}

#define MAKE_KERNEL(name, op) \
    __global__ void name(const float* a, const float* b, float* c, int n) { \
        int i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i < n) c[i] = a[i] op b[i]; \
    }
MAKE_KERNEL(add_arrays, +)
MAKE_KERNEL(mul_arrays, *)
#undef MAKE_KERNEL
