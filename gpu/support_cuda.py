"""The device worker's own kernels: comparison, checksums, guard zones, and two measurements of the device."""

from __future__ import annotations

from genome.program import Launch, Program

SOURCE = r"""
#include <cuda_fp16.h>
typedef unsigned long long u64;

// out[0]: elements out of tolerance, out[1]: smallest index of one, out[2]: largest error in units of the tolerance
// (bits of a non-negative double, which order like integers)
template <class T> __device__ void judge(const T* got, const T* want, u64 n, double rtol, double atol, u64* out) {
  u64 bad = 0, first = ~0ULL;
  double worst = 0.0;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x) {
    double g = (double)got[i], w = (double)want[i];
    bool right;
    double scaled = 0.0;
    if (isfinite(w)) {
      double error = fabs(g - w), allowed = atol + rtol * fabs(w);
      right = error <= allowed;  // false for NaN
      if (error != 0.0) { scaled = error / allowed; if (!(scaled == scaled)) scaled = HUGE_VAL; }
    } else {
      right = isnan(w) ? isnan(g) : g == w;
      if (!right) scaled = HUGE_VAL;
    }
    if (!right) { ++bad; if (i < first) first = i; }
    if (scaled > worst) worst = scaled;
  }
  for (int d = 16; d; d >>= 1) {
    bad += __shfl_down_sync(~0u, bad, d);
    u64 f = __shfl_down_sync(~0u, first, d); if (f < first) first = f;
    double x = __shfl_down_sync(~0u, worst, d); if (x > worst) worst = x;
  }
  if ((threadIdx.x & 31) == 0) {
    if (bad) { atomicAdd(out, bad); atomicMin(out + 1, first); }
    if (worst > 0.0) atomicMax(out + 2, (u64)__double_as_longlong(worst));
  }
}
extern "C" __global__ void evo_compare_f4(const float* g, const float* w, u64 n, double r, double a, u64* o)
{ judge(g, w, n, r, a, o); }
extern "C" __global__ void evo_compare_f8(const double* g, const double* w, u64 n, double r, double a, u64* o)
{ judge(g, w, n, r, a, o); }
struct Half { __half h; __device__ operator double() const { return (double)__half2float(h); } };
extern "C" __global__ void evo_compare_f2(const Half* g, const Half* w, u64 n, double r, double a, u64* o)
{ judge(g, w, n, r, a, o); }

template <class T> __device__ void equal(const T* got, const T* want, u64 n, u64* out) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
    if (got[i] != want[i]) { atomicAdd(out, 1ULL); atomicMin(out + 1, i); }
}
extern "C" __global__ void evo_equal_1(const unsigned char* g, const unsigned char* w, u64 n, u64* o)
{ equal(g, w, n, o); }
extern "C" __global__ void evo_equal_2(const unsigned short* g, const unsigned short* w, u64 n, u64* o)
{ equal(g, w, n, o); }
extern "C" __global__ void evo_equal_4(const unsigned* g, const unsigned* w, u64 n, u64* o) { equal(g, w, n, o); }
extern "C" __global__ void evo_equal_8(const u64* g, const u64* w, u64 n, u64* o) { equal(g, w, n, o); }

__device__ u64 mix(u64 x) {  // finaliser of SplitMix64 (Steele, Lea, Flood 2014)
  x ^= x >> 30; x *= 0xbf58476d1ce4e5b9ULL; x ^= x >> 27; x *= 0x94d049bb133111ebULL; return x ^ (x >> 31);
}
// Sum over positions of a mix of position and content: any single change alters it, order of addition does not matter
extern "C" __global__ void evo_checksum(const unsigned char* data, u64 bytes, u64* out) {
  u64 sum = 0, words = bytes / 4;
  const unsigned* word = (const unsigned*)data;
  u64 start = blockIdx.x * (u64)blockDim.x + threadIdx.x;
  for (u64 i = start; i < words; i += (u64)gridDim.x * blockDim.x)
    sum += mix(i * 0x9e3779b97f4a7c15ULL + word[i]);
  if (start < bytes % 4) sum += mix((words + start + 1) * 0x9e3779b97f4a7c15ULL + data[words * 4 + start]);
  for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
  if ((threadIdx.x & 31) == 0) atomicAdd(out, sum);
}
// Counts bytes of both guard zones that are not as written
extern "C" __global__ void evo_guards(const unsigned char* low, const unsigned char* high, u64 bytes, int want,
                                      u64* out) {
  u64 bad = 0;
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < bytes; i += (u64)gridDim.x * blockDim.x)
    bad += (low[i] != want) + (high[i] != want);
  if (bad) atomicAdd(out, bad);
}
// Keeps the device busy for a while, so that what is enqueued behind it starts without waiting for the host
extern "C" __global__ void evo_curtain(u64 nanoseconds) {
  u64 begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do { asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); } while (now - begin < nanoseconds);
}
// 8 independent chains of 1024 fused multiply-adds a thread
extern "C" __global__ void evo_fma(float* out, float x, float y) {
  float a[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) a[j] = threadIdx.x + j;
  for (int i = 0; i < 1024; i += 8) {
#pragma unroll
    for (int k = 0; k < 8; ++k)
#pragma unroll
      for (int j = 0; j < 8; ++j) a[j] = fmaf(a[j], x, y);
  }
  float s = 0;
#pragma unroll
  for (int j = 0; j < 8; ++j) s += a[j];
  if (s == 123.456f) out[0] = s;
}
"""
FMA_PER_THREAD = 8 * 1024

KERNELS = ("evo_compare_f2", "evo_compare_f4", "evo_compare_f8", "evo_equal_1", "evo_equal_2", "evo_equal_4",
           "evo_equal_8", "evo_checksum", "evo_guards", "evo_curtain", "evo_fma")


def program() -> Program:
    return Program(SOURCE, tuple(Launch(name, ("1", "1", "1"), (256, 1, 1)) for name in KERNELS))
