#ifdef USE_DOUBLE
typedef double real;
#else
typedef float real;
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 350
#define LOAD(p) __ldg(p)
#else
#define LOAD(p) (*(p))
#endif
__global__ void conditional(const real* a, real* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 9999
        b[i] = 0;
#else
        b[i] = LOAD(a + i) * (real)0.5;
#endif
    }
}
