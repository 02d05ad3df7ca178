// Templates with types and integers, helpers that are templates, defaults.
#include <cuda_runtime.h>
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) abort(); } while (0)
template <typename T> struct Plus { __device__ T operator()(T a, T b) const { return a + b; } };
template <typename T> __device__ __forceinline__ T clamp_to(T v, T lo, T hi) { return v < lo ? lo : (v > hi ? hi : v); }
template <int N> __device__ float horner(const float (&c)[N], float x) {
    float r = c[N - 1];
    #pragma unroll
    for (int i = N - 2; i >= 0; --i) r = r * x + c[i];
    return r;
}
constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

template <int BM, int BN, int BK, int TM>
__global__ void tiled_gemm(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    const unsigned int cRow = blockIdx.y;
    const unsigned int cCol = blockIdx.x;
    const int threadCol = threadIdx.x % BN;
    const int threadRow = threadIdx.x / BN;
    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];
    A += cRow * BM * K;
    B += cCol * BN;
    C += cRow * BM * N + cCol * BN;
    const unsigned int innerColA = threadIdx.x % BK;
    const unsigned int innerRowA = threadIdx.x / BK;
    float threadResults[TM] = {0.0};
    for (unsigned int bkIdx = 0; bkIdx < K; bkIdx += BK) {
        As[innerRowA * BK + innerColA] = A[innerRowA * K + innerColA];
        Bs[threadRow * BN + threadCol] = B[threadRow * N + threadCol];
        __syncthreads();
        A += BK;
        B += BK * N;
        for (unsigned int dotIdx = 0; dotIdx < BK; ++dotIdx) {
            float tmpB = Bs[dotIdx * BN + threadCol];
            #pragma unroll TM
            for (unsigned int resIdx = 0; resIdx < TM; ++resIdx)
                threadResults[resIdx] += As[(threadRow * TM + resIdx) * BK + dotIdx] * tmpB;
        }
        __syncthreads();
    }
    for (unsigned int resIdx = 0; resIdx < TM; ++resIdx)
        C[(threadRow * TM + resIdx) * N + threadCol] = alpha * threadResults[resIdx] + beta * C[(threadRow * TM + resIdx) * N + threadCol];
}

template <class T, bool Accumulate = false>
__global__ void __launch_bounds__(256) axpy_clamped(const T *__restrict__ x, T *__restrict__ y, T a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T v = clamp_to<T>(a * x[i], T(-1), static_cast<T>(1));
    if (Accumulate) y[i] += v; else y[i] = v;
}

template <typename T, typename Op, int BLOCK>
__global__ void reduce_op(const T* in, T* out, int n, Op op) {
    __shared__ T buffer[BLOCK];
    int t = threadIdx.x;
    T acc = T(0);
    for (int i = blockIdx.x * BLOCK + t; i < n; i += BLOCK * gridDim.x) acc = op(acc, in[i]);
    buffer[t] = acc;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s /= 2) {
        if (t < s) buffer[t] = op(buffer[t], buffer[t + s]);
        __syncthreads();
    }
    if (!t) out[blockIdx.x] = buffer[0];
}

template <int DEGREE>
__global__ void polynomial(const float* x, float* y, int n) {
    const float c[DEGREE] = {1.0f, 0.5f, 0.25f, 0.125f};
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = horner<DEGREE>(c, x[i]);
}

void run(int M, int N, int K, float* A, float* B, float* C, cudaStream_t stream) {
    dim3 grid(ceil_div(N, 64), ceil_div(M, 64));
    tiled_gemm<64, 64, 8, 8><<<grid, 64 * 64 / 8, 0, stream>>>(M, N, K, 1.0f, A, B, 0.0f, C);
    axpy_clamped<float><<<ceil_div(N, 256), 256>>>(A, B, 2.0f, N);
    reduce_op<float, Plus<float>, 128><<<32, 128>>>(A, B, N, Plus<float>());
    polynomial<4><<<32, 128>>>(A, B, N);
    CHECK(cudaGetLastError());
}
