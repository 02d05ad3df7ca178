"""Headers that CUDA sources include and NVRTC lacks, in the small form that device code needs.

nvcc puts ``cuda_runtime.h`` and with it C's math, limits and integer types before every file; NVRTC puts nothing.
``PRE_INCLUDE`` makes up for that. Host-only headers are empty: their host code is not compiled here.
"""

from __future__ import annotations

PRE_INCLUDE = "evo_prelude.h"

_INTEGERS = """
#ifndef EVO_STDINT
#define EVO_STDINT
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long uint64_t; typedef long intptr_t; typedef unsigned long uintptr_t;
typedef unsigned int uint; typedef unsigned short ushort; typedef unsigned long ulong;
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32767-1)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN (-2147483647-1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295U
#define INT64_MIN (-9223372036854775807L-1)
#define INT64_MAX 9223372036854775807L
#define UINT64_MAX 18446744073709551615UL
#endif
"""

_LIMITS = """
#ifndef EVO_LIMITS
#define EVO_LIMITS
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN (-128)
#define CHAR_MAX 127
#define SHRT_MIN (-32767-1)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647-1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295U
#define LONG_MIN (-9223372036854775807L-1)
#define LONG_MAX 9223372036854775807L
#define ULONG_MAX 18446744073709551615UL
#define LLONG_MIN (-9223372036854775807LL-1)
#define LLONG_MAX 9223372036854775807LL
#define ULLONG_MAX 18446744073709551615ULL
#define FLT_RADIX 2
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_EPSILON 1.19209290e-7f
#define FLT_MIN 1.17549435e-38f
#define FLT_MAX 3.40282347e+38f
#define FLT_MIN_EXP (-125)
#define FLT_MAX_EXP 128
#define DBL_DIG 15
#define DBL_MANT_DIG 53
#define DBL_EPSILON 2.2204460492503131e-16
#define DBL_MIN 2.2250738585072014e-308
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN_EXP (-1021)
#define DBL_MAX_EXP 1024
#endif
"""

_MATH = """
#ifndef EVO_MATH
#define EVO_MATH
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#ifndef HUGE_VALF
#define HUGE_VALF INFINITY
#endif
#ifndef HUGE_VAL
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000ULL)
#endif
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
"""

_STANDARD = """
#ifndef EVO_STD
#define EVO_STD
namespace std {
template <class T> __host__ __device__ constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <class T> __host__ __device__ constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T> __host__ __device__ void swap(T& a, T& b) { T c = a; a = b; b = c; }
template <class T> struct numeric_limits;
#define EVO_LIMIT(T, LOW, MIN, MAX, EPS, INF) \\
template <> struct numeric_limits<T> { \\
  __host__ __device__ static constexpr T lowest() { return LOW; } \\
  __host__ __device__ static constexpr T min() { return MIN; } \\
  __host__ __device__ static constexpr T max() { return MAX; } \\
  __host__ __device__ static constexpr T epsilon() { return EPS; } \\
  __device__ static T infinity() { return INF; } };
EVO_LIMIT(float, -3.40282347e+38f, 1.17549435e-38f, 3.40282347e+38f, 1.19209290e-7f, __int_as_float(0x7f800000))
EVO_LIMIT(double, -1.7976931348623157e+308, 2.2250738585072014e-308, 1.7976931348623157e+308, 2.2204460492503131e-16,
          __longlong_as_double(0x7ff0000000000000LL))
EVO_LIMIT(int, (-2147483647-1), (-2147483647-1), 2147483647, 0, 0)
EVO_LIMIT(unsigned int, 0, 0, 4294967295U, 0, 0)
EVO_LIMIT(long, (-9223372036854775807L-1), (-9223372036854775807L-1), 9223372036854775807L, 0, 0)
EVO_LIMIT(unsigned long, 0, 0, 18446744073709551615UL, 0, 0)
EVO_LIMIT(long long, (-9223372036854775807LL-1), (-9223372036854775807LL-1), 9223372036854775807LL, 0, 0)
EVO_LIMIT(unsigned long long, 0, 0, 18446744073709551615ULL, 0, 0)
EVO_LIMIT(short, (-32767-1), (-32767-1), 32767, 0, 0)
EVO_LIMIT(unsigned short, 0, 0, 65535, 0, 0)
EVO_LIMIT(signed char, -128, -128, 127, 0, 0)
EVO_LIMIT(unsigned char, 0, 0, 255, 0, 0)
#undef EVO_LIMIT
using ::abs; using ::fabs; using ::sqrt; using ::exp; using ::log; using ::pow; using ::sin; using ::cos; using ::tan;
using ::floor; using ::ceil; using ::fma; using ::fmod; using ::fmin; using ::fmax; using ::tanh; using ::isnan;
using ::isinf; using ::size_t;
}
#endif
"""

_EMPTY = ("cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h", "stdio.h", "cstdio",
          "stdlib.h", "cstdlib", "string.h", "cstring", "iostream", "vector", "string", "iomanip", "fstream", "sstream",
          "chrono", "random", "memory", "cassert", "assert.h", "time.h", "ctime", "sys/time.h", "unistd.h", "errno.h",
          "map", "set", "functional", "numeric", "omp.h", "stdbool.h", "helper_cuda.h", "helper_functions.h")


def headers() -> dict[str, str]:
    """Header name → text, all for ``nvrtcCreateProgram``. ``printf``, ``assert`` and ``size_t`` are built in."""
    result = dict.fromkeys(_EMPTY, "")
    result |= dict.fromkeys(("stdint.h", "cstdint", "inttypes.h", "sys/types.h"), _INTEGERS)
    result |= dict.fromkeys(("limits.h", "climits", "float.h", "cfloat"), _LIMITS)
    result |= dict.fromkeys(("math.h", "cmath"), _MATH)
    result |= dict.fromkeys(("algorithm", "utility", "limits", "type_traits", "stddef.h", "cstddef"), _STANDARD)
    result[PRE_INCLUDE] = _INTEGERS + _LIMITS + _MATH + _STANDARD
    return result
