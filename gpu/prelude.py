"""Headers that CUDA sources include and NVRTC lacks, in the small form that device code needs.

nvcc puts ``cuda_runtime.h`` and with it C's math, limits and integer types before every file; NVRTC puts nothing.
``PRE_INCLUDE`` makes up for that. Host-only headers are empty: their host code is not compiled here.
"""

from __future__ import annotations

import re

PRE_INCLUDE = "evo_prelude.h"

# CCCL, which these include, defines the 64-bit types as long long under NVRTC; nvcc's are long.
_CCCL = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"](?:cooperative_groups|cuda/|cub/|thrust/|nv/|cuda_pipeline|'
                   r"cuda_awbarrier)", re.MULTILINE)


def options(source: str) -> list[str]:
    """What NVRTC must be told for this source, so that the prelude's types are those of the headers it includes."""
    return [f"--pre-include={PRE_INCLUDE}", *(["-DEVO_LONG_LONG"] if _CCCL.search(source) else [])]


_INTEGERS = """
#ifndef EVO_STDINT
#define EVO_STDINT
#ifdef EVO_LONG_LONG
#define EVO_LONG long long
#else
#define EVO_LONG long
#endif
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef EVO_LONG int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned EVO_LONG uint64_t; typedef EVO_LONG intptr_t; typedef unsigned EVO_LONG uintptr_t;
typedef EVO_LONG intmax_t; typedef unsigned EVO_LONG uintmax_t;
typedef unsigned int uint; typedef unsigned short ushort; typedef unsigned long ulong; typedef long ssize_t;
typedef unsigned char u_int8_t; typedef unsigned short u_int16_t; typedef unsigned int u_int32_t;
typedef unsigned long u_int64_t; typedef unsigned char u_char; typedef unsigned int u_int; typedef unsigned long u_long;
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
#define SIZE_MAX 18446744073709551615UL
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
#define EVO_ANY template <class T, class = typename std::enable_if<std::is_integral<T>::value>::type> \\
  __device__ __forceinline__ double
#define EVO_ONE(NAME) EVO_ANY NAME(T x) { return ::NAME((double)x); }
EVO_ONE(sqrt) EVO_ONE(cbrt) EVO_ONE(exp) EVO_ONE(exp2) EVO_ONE(expm1) EVO_ONE(log) EVO_ONE(log2) EVO_ONE(log10)
EVO_ONE(log1p) EVO_ONE(sin) EVO_ONE(cos) EVO_ONE(tan) EVO_ONE(asin) EVO_ONE(acos) EVO_ONE(atan) EVO_ONE(sinh)
EVO_ONE(cosh) EVO_ONE(tanh) EVO_ONE(floor) EVO_ONE(ceil) EVO_ONE(round) EVO_ONE(trunc) EVO_ONE(rint) EVO_ONE(fabs)
EVO_ONE(erf) EVO_ONE(erfc)
#define EVO_TWO(NAME) template <class T, class U, class = typename evo_math::mixed<T, U>::type> \\
  __device__ __forceinline__ double NAME(T x, U y) { return ::NAME((double)x, (double)y); }
EVO_TWO(pow) EVO_TWO(fmax) EVO_TWO(fmin) EVO_TWO(fmod) EVO_TWO(atan2) EVO_TWO(hypot) EVO_TWO(copysign) EVO_TWO(fdim)
EVO_TWO(remainder)
template <class T, class U, class V, class = typename evo_math::mixed3<T, U, V>::type>
__device__ __forceinline__ double fma(T x, U y, V z) { return ::fma((double)x, (double)y, (double)z); }
#undef EVO_ANY
#undef EVO_ONE
#undef EVO_TWO
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

_TRAITS = """
#ifndef EVO_TRAITS
#define EVO_TRAITS
namespace std {
template <class T, T V> struct integral_constant {
  enum : T { value = V }; typedef T value_type;  // a static member would be a variable of the device
  typedef integral_constant type;
  __host__ __device__ constexpr operator T() const { return V; } };
typedef integral_constant<bool, true> true_type; typedef integral_constant<bool, false> false_type;
template <bool B> using bool_constant = integral_constant<bool, B>;
template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, class T, class F> struct conditional { typedef T type; };
template <class T, class F> struct conditional<false, T, F> { typedef F type; };
template <bool B, class T, class F> using conditional_t = typename conditional<B, T, F>::type;
template <class T, class U> struct is_same : false_type {};
template <class T> struct is_same<T, T> : true_type {};
template <class T, class U> inline constexpr bool is_same_v = is_same<T, U>::value;
template <class T> struct remove_const { typedef T type; };
template <class T> struct remove_const<const T> { typedef T type; };
template <class T> struct remove_volatile { typedef T type; };
template <class T> struct remove_volatile<volatile T> { typedef T type; };
template <class T> struct remove_cv { typedef typename remove_const<typename remove_volatile<T>::type>::type type; };
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> struct remove_reference { typedef T type; };
template <class T> struct remove_reference<T&> { typedef T type; };
template <class T> struct remove_reference<T&&> { typedef T type; };
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> struct remove_pointer { typedef T type; };
template <class T> struct remove_pointer<T*> { typedef T type; };
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> struct decay { typedef remove_cv_t<remove_reference_t<T>> type; };
template <class T> using decay_t = typename decay<T>::type;
template <class T> struct is_pointer : false_type {};
template <class T> struct is_pointer<T*> : true_type {};
template <class T> struct evo_integral : false_type {};
template <class T> struct evo_floating : false_type {};
#define EVO_IS(KIND, T) template <> struct evo_##KIND<T> : true_type {};
EVO_IS(integral, bool) EVO_IS(integral, char) EVO_IS(integral, signed char) EVO_IS(integral, unsigned char)
EVO_IS(integral, short) EVO_IS(integral, unsigned short) EVO_IS(integral, int) EVO_IS(integral, unsigned int)
EVO_IS(integral, long) EVO_IS(integral, unsigned long) EVO_IS(integral, long long)
EVO_IS(integral, unsigned long long) EVO_IS(floating, float) EVO_IS(floating, double)
#undef EVO_IS
template <class T> struct is_integral : evo_integral<remove_cv_t<T>> {};
template <class T> struct is_floating_point : evo_floating<remove_cv_t<T>> {};
template <class T> struct is_arithmetic : bool_constant<is_integral<T>::value || is_floating_point<T>::value> {};
template <class T, bool = is_arithmetic<T>::value> struct is_signed : false_type {};
template <class T> struct is_signed<T, true> : bool_constant<(T(-1) < T(0))> {};
template <class T> struct is_unsigned : bool_constant<is_integral<T>::value && !is_signed<T>::value> {};
template <class T> inline constexpr bool is_integral_v = is_integral<T>::value;
template <class T> inline constexpr bool is_floating_point_v = is_floating_point<T>::value;
template <class T> inline constexpr bool is_arithmetic_v = is_arithmetic<T>::value;
template <class T> inline constexpr bool is_signed_v = is_signed<T>::value;
template <class T> inline constexpr bool is_unsigned_v = is_unsigned<T>::value;
template <class T> inline constexpr bool is_pointer_v = is_pointer<T>::value;
}
namespace evo_math {  // C++ takes mixed arguments to double; the overloads that CUDA has itself stay
template <class T, class U> struct own : std::is_same<T, U> {};
template <> struct own<float, int> : std::true_type {};
template <> struct own<double, int> : std::true_type {};
template <class T, class U> struct mixed : std::enable_if<std::is_arithmetic<T>::value && std::is_arithmetic<U>::value
  && !(own<T, U>::value && std::is_floating_point<T>::value)> {};
template <class T, class U, class V> struct mixed3 : std::enable_if<std::is_arithmetic<T>::value
  && std::is_arithmetic<U>::value && std::is_arithmetic<V>::value
  && !(std::is_same<T, U>::value && std::is_same<U, V>::value && std::is_floating_point<T>::value)> {};
}
#endif
"""

_STANDARD = """
#ifndef EVO_STD
#define EVO_STD
namespace std {
template <class T> __host__ __device__ constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <class T> __host__ __device__ constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T> __host__ __device__ constexpr const T& clamp(const T& x, const T& a, const T& b) {
  return x < a ? a : b < x ? b : x; }
template <class T> __host__ __device__ void swap(T& a, T& b) { T c = a; a = b; b = c; }
template <class T> struct numeric_limits;
#define EVO_LIMIT(T, LOW, MIN, MAX, EPS, INF) \\
template <> struct numeric_limits<T> { \\
  __host__ __device__ static constexpr T lowest() { return LOW; } \\
  __host__ __device__ static constexpr T min() { return MIN; } \\
  __host__ __device__ static constexpr T max() { return MAX; } \\
  __host__ __device__ static constexpr T epsilon() { return EPS; } \\
  __device__ static T infinity() { return INF; } \\
  __device__ static T quiet_NaN() { return INF - INF; } };
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
using ::isinf; using ::isfinite; using ::signbit; using ::size_t; using ::ptrdiff_t; using ::round; using ::trunc;
using ::rint; using ::nearbyint; using ::lrint; using ::log2; using ::log10; using ::log1p; using ::exp2; using ::expm1;
using ::sinh; using ::cosh; using ::asin; using ::acos; using ::atan; using ::atan2; using ::asinh; using ::acosh;
using ::atanh; using ::hypot; using ::cbrt; using ::erf; using ::erfc; using ::tgamma; using ::lgamma; using ::copysign;
using ::fdim; using ::remainder; using ::nextafter; using ::ldexp; using ::frexp; using ::modf;
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t; using ::uint8_t; using ::uint16_t; using ::uint32_t;
using ::uint64_t; using ::intptr_t; using ::uintptr_t;
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
    result |= dict.fromkeys(("math.h", "cmath"), _TRAITS + _MATH)
    standard = _INTEGERS + _TRAITS + _MATH + _STANDARD
    result |= dict.fromkeys(("algorithm", "utility", "limits", "type_traits", "stddef.h", "cstddef"), standard)
    result[PRE_INCLUDE] = _INTEGERS + _LIMITS + _TRAITS + _MATH + _STANDARD
    return result
