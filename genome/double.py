"""The kernel with ``double`` in the place of ``float``: the same arithmetic with nine more digits, as an independent
reference for how precise a candidate is (evaluator.md C9).

Constants keep the value that they have in ``float``. It is refused where the meaning may hang on the type: text that
is not understood, vectors, structs, half precision, pointer casts, calls of anything but known functions.
"""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from typing import Any

from genome import ir
from genome.errors import Refusal
from genome.program import Launch, Program
from genome.unit import SourceUnit
from genome.walk import rewrite, walk

_ONE = ("exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt", "sin", "cos", "tan",
        "asin", "acos", "atan", "sinh", "cosh", "tanh", "erf", "erfc", "floor", "ceil", "trunc", "round", "rint",
        "fabs", "pow", "fmod", "fma", "fmax", "fmin", "hypot", "atan2", "copysign")
_NAMES = {**{f"{n}f": n for n in _ONE}, **{f"__{n}f": n for n in ("exp", "log", "log2", "log10", "sin", "cos", "pow")}}
_KNOWN = frozenset({*_ONE, *_NAMES, "min", "max", "abs", "std::min", "std::max", "std::abs", "__ldg", "isnan", "isinf",
                    "std::sqrt", "std::exp", "std::log", "std::fabs", "__syncthreads"})
_TYPES = frozenset({"void", "bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int",
                    "unsigned int", "long", "unsigned long", "long long", "unsigned long long", "size_t", "float",
                    "double"})


def in_double(unit: SourceUnit, launch: Launch, language: str) -> Program | None:
    """The program in double precision; None where there is nothing to widen, or where it is not safe to."""
    kernel = unit.kernel
    if not any(p.type.base == "float" for p in kernel.params) or not _safe(unit):
        return None
    wide = replace(kernel, params=tuple(replace(p, type=_type(p.type)) for p in kernel.params),
                   body=rewrite(kernel.body, _widen), launch_bounds=None)
    try:
        source = unit.cuda(wide) if language == "cuda" else unit.opencl(wide)
    except Refusal:
        return None
    dynamic = any(isinstance(n, ir.Decl) and n.space == "extern shared" for n in walk(kernel.body))
    return Program(source, (replace(launch, shared_bytes=launch.shared_bytes * (2 if dynamic else 1)),), language)


def _safe(unit: SourceUnit) -> bool:
    helpers = {f.name for f in unit.functions}
    if any(p.type.base not in _TYPES or p.type.pointer > 1 for p in unit.kernel.params):
        return False
    for node in walk(unit.kernel.body):
        match node:
            case ir.Opaque() | ir.OpaqueExpr() | ir.Member() | ir.AsyncCopy():
                return False
            case ir.Decl(type=t) | ir.For(type=ir.CType() as t) if t.base not in _TYPES:
                return False
            case ir.Cast(type=t) if t.pointer or t.base not in _TYPES:
                return False
            case ir.Call(func=f) if f not in _KNOWN or f in helpers:
                return False
            case ir.FloatLit(text=text) if math.isnan(_value(text)):
                return False
    return True


def _type(t: ir.CType) -> ir.CType:
    return replace(t, base="double") if t.base == "float" else t


def _widen(node: Any) -> Any:
    match node:
        case ir.Decl(type=t) | ir.Cast(type=t) if t.base == "float":
            return replace(node, type=_type(t))
        case ir.For(type=ir.CType(base="float") as t):
            return replace(node, type=_type(t))
        case ir.Call(func=f) if f in _NAMES:
            return replace(node, func=_NAMES[f])
        case ir.FloatLit(text=text) if text[-1] in "fF":
            return replace(node, text=repr(_value(text)))
    return node


def _value(text: str) -> float:
    """What a literal is worth, rounded to float where it has that suffix; NaN for what Python does not read."""
    body = text.rstrip("fFlL") if not text.lower().startswith("0x") or "p" in text.lower() else text
    try:
        value = float.fromhex(body) if body.lower().startswith("0x") else float(body)
        return float(struct.unpack("f", struct.pack("f", value))[0]) if text[-1] in "fF" else value
    except (ValueError, OverflowError):
        return math.nan
