template <typename T, int N>
struct Vec { T v[N]; };

template <typename T>
__device__ __forceinline__ T add(T a, T b) { return a + b; }

template <typename T, int UNROLL = 4>
__global__ void template_type(const T* __restrict__ a, T* __restrict__ b, int n)
{
    int base = (blockIdx.x * blockDim.x + threadIdx.x) * UNROLL;
    T acc[UNROLL];
    #pragma unroll
    for (int u = 0; u < UNROLL; ++u)
        acc[u] = base + u < n ? a[base + u] : T(0);
    #pragma unroll
    for (int u = 0; u < UNROLL; ++u)
        if (base + u < n) b[base + u] = acc[u] * static_cast<T>(2) - (T)1;
}
