"""OpenCL's names for CUDA's types, reserved words and constants, and the refusal that all of them share."""

from __future__ import annotations

from genome import ir
from genome.errors import Loc, Refusal

CODE = "opencl-untranslatable"

SCALARS = {
    "char": "char", "signed char": "char", "unsigned char": "uchar", "short": "short", "unsigned short": "ushort",
    "int": "int", "unsigned int": "uint", "long": "long", "unsigned long": "ulong", "long long": "long",
    "unsigned long long": "ulong", "size_t": "ulong", "ptrdiff_t": "long", "intptr_t": "long", "uintptr_t": "ulong",
    "int8_t": "char", "uint8_t": "uchar", "int16_t": "short", "uint16_t": "ushort", "int32_t": "int",
    "uint32_t": "uint", "int64_t": "long", "uint64_t": "ulong", "float": "float", "double": "double",
    "bool": "bool", "void": "void",
}
LANES = {"char": "char", "uchar": "uchar", "short": "short", "ushort": "ushort", "int": "int", "uint": "uint",
         "long": "long", "ulong": "ulong", "longlong": "long", "ulonglong": "ulong", "float": "float",
         "double": "double"}
VECTORS = {f"{c}{n}": f"{o}{n}" for c, o in LANES.items() for n in (2, 3, 4)}
CONSTANTS = {
    **{n: n for n in ("FLT_MAX", "FLT_MIN", "FLT_EPSILON", "DBL_MAX", "DBL_MIN", "DBL_EPSILON", "INT_MAX", "INT_MIN",
                      "UINT_MAX", "LONG_MAX", "CHAR_BIT", "INFINITY", "NAN", "HUGE_VALF", "M_PI", "M_E", "M_SQRT2",
                      "M_SQRT1_2", "M_1_PI", "M_2_PI", "M_LN2", "M_PI_2", "M_PI_4")},
    "CUDART_INF_F": "INFINITY", "CUDART_NAN_F": "NAN", "CUDART_PI_F": "3.141592654f", "CUDART_INF": "(double)INFINITY",
    "CUDART_NAN": "(double)NAN", "CUDART_MAX_NORMAL_F": "FLT_MAX", "HUGE_VAL": "(double)INFINITY",
}
RESERVED = frozenset(
    "kernel global local constant private half quad complex imaginary uchar ushort uint ulong event_t sampler_t "
    "image1d_t image2d_t image3d_t read_only write_only read_write pipe restrict inline bool2 bool4 auto typeof "
    "half2 half4 double8 double16 float8 float16 int8 int16 uint8 uint16".split())
BUILTIN_FUNCTIONS = frozenset(
    "abs abs_diff acos acosh acospi add_sat all any as_int as_float asin asinh atan atan2 atanh barrier bitselect "
    "cbrt ceil clamp clz copysign cos cosh cospi cross degrees distance dot erf erfc exp exp10 exp2 expm1 fabs "
    "fast_distance fast_length fast_normalize fdim floor fma fmax fmin fmod fract frexp hadd half_cos hypot ilogb "
    "isequal isfinite isinf isnan isnormal ldexp length lgamma log log10 log1p log2 logb mad mad24 mad_hi mad_sat "
    "max maxmag mem_fence min minmag mix modf mul24 mul_hi nan native_exp nextafter normalize popcount pow pown "
    "powr prefetch printf radians remainder rhadd rint rootn rotate round rsqrt select shuffle shuffle2 sign "
    "signbit sin sincos sinh sinpi smoothstep sqrt step sub_sat tan tanh tanpi tgamma trunc upsample vload4 "
    "vstore4".split())
QUALIFIERS = {"global": "__global ", "local": "__local ", "constant": "__constant ", "private": ""}


def refuse(reason: str, loc: Loc | None = None) -> Refusal:
    return Refusal(CODE, reason, loc)


def base_name(base: str, known: frozenset[str], loc: Loc | None = None) -> str:
    """OpenCL's name of a base type; ``known``: the file's own types."""
    name = SCALARS.get(base) or VECTORS.get(base)
    if name is not None:
        return name
    bare = base.removeprefix("struct ")
    if bare in known:
        return bare
    raise refuse(f"the type '{base}' has no OpenCL counterpart", loc)


def stored(t: ir.CType, loc: Loc | None = None) -> None:
    """Refuses types whose layout in memory differs: three-component vectors take 16 bytes in OpenCL."""
    if t.base in VECTORS and t.base.endswith("3"):
        raise refuse(f"'{t.base}' has another size in OpenCL", loc)
