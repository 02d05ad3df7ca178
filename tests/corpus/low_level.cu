// Inline PTX, half precision, bit tricks, volatile, clocks.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__device__ __forceinline__ unsigned lane_id() { unsigned r; asm volatile("mov.u32 %0, %%laneid;" : "=r"(r)); return r; }
__global__ void half_axpy(const __half* x, __half* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __float2half(a * __half2float(x[i]) + __half2float(y[i]));
}
__global__ void half2_mul(const half2* x, half2* y, int n2) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n2) y[i] = __hmul2(x[i], __floats2half2_rn(0.5f, 2.0f));
}
__global__ void bf16_sum(const __nv_bfloat16* __restrict__ x, float* out, int n) {
    float s = 0.f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += __bfloat162float(x[i]);
    atomicAdd(out, s);
}
__global__ void cache_hints(const float* __restrict__ a, float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v;
    if (i < n) {
        asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(v) : "l"(a + i));
        asm("st.global.cs.f32 [%0], %1;" :: "l"(b + i), "f"(v * 2.0f) : "memory");
    }
}
__global__ void bits(const unsigned int* in, unsigned int* out, int n) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (unsigned)n) return;
    unsigned int v = in[i];
    v = ((v >> 1) & 0x55555555u) | ((v & 0x55555555u) << 1);
    v = (v ^ (v >> 16)) * 0x7feb352dU;
    out[i] = __brev(v) ^ ~__clz(v) + (lane_id() << 3);
    out[i] |= v ? 1u << (v & 31) : 0;
}
__global__ void spin(volatile int* flag, int* data) {
    if (threadIdx.x == 0) { while (*flag == 0) ; data[blockIdx.x] = *flag; }
    long long int t = clock64();
    data[1] += (int)(clock64() - t);
}
