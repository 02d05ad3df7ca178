"""CUDA's device functions in OpenCL C 1.2: (how to print the call) by name.

C++ converts arguments by the prototype (``fmaxf(x, 0)``) or picks an overload; OpenCL's overloads would be ambiguous,
so arguments whose type is not known to fit are cast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from genome import ir
from genome.frontend.types import INTEGERS
from genome.normal.typing import common, is_integer
from genome.printer.opencl_types import refuse

if TYPE_CHECKING:
    from genome.printer.opencl_function import OpenCLPrinter

MATH = frozenset(
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi erf erfc exp exp10 exp2 expm1 fabs fdim "
    "floor fma fmax fmin fmod hypot lgamma log log10 log1p log2 logb nextafter pow remainder rint round rsqrt sin sinh "
    "sinpi sqrt tan tanh tgamma trunc".split())
RENAMED = {"nearbyint": "rint"}
# native_* functions are far less accurate than CUDA's intrinsics, so that these become the plain functions
INTRINSICS = {"__expf": "exp", "__exp10f": "exp10", "__logf": "log", "__log2f": "log2", "__log10f": "log10",
              "__sinf": "sin", "__cosf": "cos", "__tanf": "tan", "__powf": "pow", "__fsqrt_rn": "sqrt",
              "__frsqrt_rn": "rsqrt", "__fmaf_rn": "fma"}
OPERATORS = {"__fadd_rn": "+", "__fsub_rn": "-", "__fmul_rn": "*", "__fdiv_rn": "/", "__fdividef": "/",
             "__dadd_rn": "+", "__dmul_rn": "*"}
LOADS = ("__ldg", "__ldca", "__ldcg", "__ldcs", "__ldlu", "__ldcv")
ATOMICS = {"atomicAdd": "atomic_add", "atomicSub": "atomic_sub", "atomicMin": "atomic_min", "atomicMax": "atomic_max",
           "atomicAnd": "atomic_and", "atomicOr": "atomic_or", "atomicXor": "atomic_xor",
           "atomicExch": "atomic_xchg", "atomicCAS": "atomic_cmpxchg"}
CONVERSIONS = {"__float2int_rn": "convert_int_rte", "__float2int_rz": "convert_int_rtz",
               "__float2int_rd": "convert_int_rtn", "__float2int_ru": "convert_int_rtp",
               "__float2uint_rn": "convert_uint_rte", "__float2uint_rz": "convert_uint_rtz",
               "__float_as_int": "as_int", "__float_as_uint": "as_uint"}
CASTS = {"__int2float_rn": "float", "__uint2float_rn": "float", "__int2float_rz": "float"}
THREADS = ("__shfl", "__ballot", "__any", "__all", "__match", "__activemask", "__reduce", "__syncwarp",
           "__syncthreads_", "__nanosleep")

Result = tuple[str, int]
UNARY, POSTFIX = 15, 16


def call(p: OpenCLPrinter, e: ir.Call) -> Result:
    """The text and precedence of a call. Raises the refusal when OpenCL has nothing for it."""
    name = e.func.removeprefix("::")
    template = ""
    if name.endswith(">") and "<" in name:
        name, template = name[:-1].split("<", 1)
    if not template and name.rsplit("::", 1)[-1] in p.helpers:
        return p.helper_call(e, name.rsplit("::", 1)[-1])
    handler = HANDLERS.get(name)
    if handler is not None:
        return handler(p, name, e)
    plain = name.removeprefix("std::")
    if plain in ("min", "max", "umin", "umax", "fminf", "fmaxf", "fmin", "fmax", "llmin", "llmax"):
        return _extremum(p, name, plain, template, e)
    if plain in INTRINSICS:
        return _floats(p, INTRINSICS[plain], e.args, "float")
    if plain.endswith("f") and (plain[:-1] in MATH or plain[:-1] in RENAMED):
        return _floats(p, RENAMED.get(plain[:-1], plain[:-1]), e.args, "float")
    if plain in MATH or plain in RENAMED:
        return _overloaded(p, RENAMED.get(plain, plain), e)
    if name.startswith("make_") and name[5:-1].isalpha() and name[-1] in "234":
        base = p.base(name[5:], e.loc)
        return f"({base})({', '.join(p.expr(a, 2) for a in e.args)})", UNARY
    if name.startswith((".", "->", ir.GROUP_METHOD)):
        raise refuse(f"'{name.lstrip('.')}' is a method, which OpenCL C has none of", e.loc)
    if name.startswith(THREADS):
        raise refuse(f"'{name}' exchanges data inside a warp, which OpenCL C 1.2 cannot", e.loc)
    raise refuse(f"'{e.func}' has no OpenCL counterpart", e.loc)


def cast(p: OpenCLPrinter, e: ir.Expr, base: str) -> str:
    """``e`` as a function argument of scalar type ``base``."""
    have = p.type_of(e)
    if have is not None and have.pointer == 0 and p.scalar(have.base) == base:
        return p.expr(e, 2)
    return f"({base}){p.expr(e, UNARY)}" if not p.expr(e, UNARY).startswith("(") else f"({base})({p.expr(e)})"


def _floats(p: OpenCLPrinter, name: str, args: Sequence[ir.Expr], base: str) -> Result:
    return f"{name}({', '.join(cast(p, a, base) for a in args)})", POSTFIX


def _overloaded(p: OpenCLPrinter, name: str, e: ir.Call) -> Result:
    """``sqrt(x)`` without suffix: by the arguments' types, as C++ overloads it; integers go to double."""
    kinds = {p.scalar(t.base) if (t := p.type_of(a)) is not None and t.pointer == 0 else "" for a in e.args}
    if kinds == {"float"}:
        return _floats(p, name, e.args, "float")
    if name == "pow" and not kinds <= {"float", "double"}:
        raise refuse("'pow' with an integer argument has another meaning in OpenCL", e.loc)
    if kinds and kinds <= {"float", "double"} | {p.scalar(i) for i in INTEGERS}:
        return _floats(p, name, e.args, "double")
    raise refuse(f"the type of the arguments of '{e.func}' is not known", e.loc)


def _extremum(p: OpenCLPrinter, full: str, name: str, template: str, e: ir.Call) -> Result:
    if len(e.args) != 2:
        raise refuse(f"'{full}' with {len(e.args)} arguments", e.loc)
    kind = "min" if "min" in name else "max"
    if name in ("fminf", "fmaxf"):
        return _floats(p, f"f{kind}", e.args, "float")
    t = ir.CType(template) if template else common(p.type_of(e.args[0]), p.type_of(e.args[1]))
    if t is None:
        raise refuse(f"the type of the arguments of '{e.func}' is not known", e.loc)
    base = p.scalar(t.base)
    if base in ("float", "double"):
        if full.startswith("std::"):  # (a < b) ? b : a, which treats NaN in another way than fmax
            a, b = (p.expr(x, 11) for x in e.args)
            text = f"({a} < {b} ? {b} : {a})" if kind == "max" else f"({b} < {a} ? {b} : {a})"
            return text, POSTFIX
        return _floats(p, f"f{kind}", e.args, base)
    return _floats(p, kind, e.args, base)


def _load(p: OpenCLPrinter, name: str, e: ir.Call) -> Result:
    pointer = e.args[0]
    if isinstance(pointer, ir.Un) and pointer.op == "&":
        return p.render(pointer.operand)
    return p.render(ir.Un("*", pointer, e.loc))


def _operator(p: OpenCLPrinter, name: str, e: ir.Call) -> Result:
    base = "double" if name.startswith("__d") else "float"
    a, b = (cast(p, x, base) for x in e.args)
    return f"(({a}) {OPERATORS[name]} ({b}))", POSTFIX


def _abs(p: OpenCLPrinter, name: str, e: ir.Call) -> Result:
    t = p.type_of(e.args[0])
    if t is None or t.pointer:
        raise refuse(f"the type of the argument of '{name}' is not known", e.loc)
    if p.scalar(t.base) in ("float", "double"):
        return _floats(p, "fabs", e.args, p.scalar(t.base))
    base = "long" if name in ("labs", "llabs") or p.scalar(t.base) == "long" else "int"
    return f"({base})abs({cast(p, e.args[0], base)})", UNARY


def _atomic(p: OpenCLPrinter, name: str, e: ir.Call) -> Result:
    t = p.type_of(e.args[0])
    base = None if t is None or t.pointer != 1 else p.scalar(t.base)
    if base not in ("int", "uint") and not (base == "float" and name == "atomicExch"):
        raise refuse(f"'{name}' on '{'an unknown type' if t is None else t.base}' has no OpenCL 1.2 counterpart", e.loc)
    values = ", ".join(cast(p, a, base) for a in e.args[1:])
    return f"{ATOMICS[name]}({p.expr(e.args[0], 2)}, {values})", POSTFIX


def _fence(p: OpenCLPrinter, name: str, e: ir.Call) -> Result:
    return "mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)", POSTFIX


def _mul24(p: OpenCLPrinter, name: str, e: ir.Call) -> Result:
    return _floats(p, "mul24", e.args, "uint" if name.startswith("__u") else "int")


def _bits(p: OpenCLPrinter, name: str, e: ir.Call) -> Result:
    function, base = {"__popc": ("popcount", "uint"), "__clz": ("clz", "int"), "__popcll": ("popcount", "ulong"),
                      "__clzll": ("clz", "long")}[name]
    return f"(int){function}({cast(p, e.args[0], base)})", UNARY


def _mulhi(p: OpenCLPrinter, name: str, e: ir.Call) -> Result:
    return _floats(p, "mul_hi", e.args, "uint" if name.startswith("__u") else "int")


def _conversion(p: OpenCLPrinter, name: str, e: ir.Call) -> Result:
    return _floats(p, CONVERSIONS[name], e.args, "float")


def _cast(p: OpenCLPrinter, name: str, e: ir.Call) -> Result:
    source = "uint" if "uint" in name else "int"
    return f"(float)({cast(p, e.args[0], source)})", UNARY


def _reinterpret(p: OpenCLPrinter, name: str, e: ir.Call) -> Result:
    return _floats(p, "as_float", e.args, "int" if "_int_" in name else "uint")


def _saturate(p: OpenCLPrinter, name: str, e: ir.Call) -> Result:
    return f"clamp({cast(p, e.args[0], 'float')}, 0.0f, 1.0f)", POSTFIX


def _reciprocal(p: OpenCLPrinter, name: str, e: ir.Call) -> Result:
    return f"(1.0f / ({cast(p, e.args[0], 'float')}))", POSTFIX


def _classify(p: OpenCLPrinter, name: str, e: ir.Call) -> Result:
    t = p.type_of(e.args[0])
    if t is None or is_integer(t) or t.pointer:
        raise refuse(f"the type of the argument of '{name}' is not known", e.loc)
    return f"{name.removeprefix('std::')}({p.expr(e.args[0], 2)})", POSTFIX


def _fmaf(p: OpenCLPrinter, name: str, e: ir.Call) -> Result:
    return _floats(p, "fma", e.args, "float")


def _printf(p: OpenCLPrinter, name: str, e: ir.Call) -> Result:
    return f"printf({', '.join(p.expr(a, 2) for a in e.args)})", POSTFIX


Handler = Callable[["OpenCLPrinter", str, ir.Call], Result]
HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(LOADS, _load), **dict.fromkeys(OPERATORS, _operator), **dict.fromkeys(ATOMICS, _atomic),
    **dict.fromkeys(CONVERSIONS, _conversion), **dict.fromkeys(CASTS, _cast),
    **dict.fromkeys(("abs", "std::abs", "labs", "llabs"), _abs),
    **dict.fromkeys(("__threadfence", "__threadfence_block"), _fence),
    **dict.fromkeys(("__mul24", "__umul24"), _mul24), **dict.fromkeys(("__mulhi", "__umulhi"), _mulhi),
    **dict.fromkeys(("__popc", "__clz", "__popcll", "__clzll"), _bits),
    **dict.fromkeys(("__int_as_float", "__uint_as_float"), _reinterpret),
    **dict.fromkeys(("isnan", "isinf", "isfinite", "signbit", "std::isnan", "std::isinf"), _classify),
    "__saturatef": _saturate, "__frcp_rn": _reciprocal, "fmaf": _fmaf, "printf": _printf,
}
