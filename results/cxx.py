"""Expressions over a problem's scalars (:mod:`genome.expressions`) as C++.

Integers are ``long long``, everything else ``double``; division and remainder round down as they do when evo evaluates
them, through the small functions of :data:`HELPERS`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from genome.errors import InputError
from genome.expressions import ExpressionError, parse

HELPERS = """\
namespace evo_detail {
inline long long idiv(long long a, long long b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }
inline long long imod(long long a, long long b) { return a - idiv(a, b) * b; }
inline long long ceil_div(long long a, long long b) { return -idiv(-a, b); }
inline long long ipow(long long a, long long n) { long long r = 1; for (; n > 0; --n) r *= a; return r; }
template <class T> inline T least(T a, T b) { return b < a ? b : a; }
template <class T> inline T most(T a, T b) { return a < b ? b : a; }
template <class T> inline T magnitude(T a) { return a < 0 ? -a : a; }
inline bool disjoint(const volatile void* a, long long a_bytes, const volatile void* b, long long b_bytes) {
    const std::uintptr_t x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
    return x + static_cast<std::uintptr_t>(a_bytes) <= y || y + static_cast<std::uintptr_t>(b_bytes) <= x;
}
}  // namespace evo_detail
"""

_COMPARE: Mapping[type[ast.cmpop], str] = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
                                           ast.GtE: ">="}
_PLAIN: Mapping[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.LShift: "<<",
                                            ast.RShift: ">>"}


def expression(text: str | float, names: Mapping[str, tuple[str, bool]]) -> tuple[str, bool]:
    """C++ text and whether it is a ``long long`` (else a ``double``). ``names`` gives each scalar's C++ text and kind.
    Raises InputError for an unknown name or an operator without an exact counterpart."""
    try:
        return _emit(parse(str(text)), names)
    except ExpressionError as e:
        raise InputError(f"no launcher can be written: {e}", remedy="simplify it in the problem file") from e
    except KeyError as e:
        raise InputError(f"no launcher can be written: '{text}' uses {e.args[0]}, which is no scalar of the kernel",
                         remedy="give its value in [args]") from e


def _emit(node: ast.expr, names: Mapping[str, tuple[str, bool]]) -> tuple[str, bool]:
    match node:
        case ast.Constant(value=bool() as v):
            return str(int(v)) + "LL", True
        case ast.Constant(value=int() as v):
            return f"{v}LL", True
        case ast.Constant(value=float() as v):
            return repr(v), False
        case ast.Name(id=name):
            return names[name]
        case ast.UnaryOp(op=op, operand=inner):
            text, whole = _emit(inner, names)
            if isinstance(op, ast.Not):
                return f"static_cast<long long>(!({text}))", True
            if isinstance(op, ast.UAdd):
                return text, whole
            if isinstance(op, ast.USub):
                return f"(-{text})", whole
        case ast.BoolOp(op=op, values=values):
            joint = " && " if isinstance(op, ast.And) else " || "
            return "static_cast<long long>(" + joint.join(f"({_emit(v, names)[0]} != 0)" for v in values) + ")", True
        case ast.Compare(left=left, ops=ops, comparators=rest):
            sides = [_emit(left, names)[0], *(_emit(r, names)[0] for r in rest)]
            if all(type(op) in _COMPARE for op in ops):
                tests = (f"({a} {_COMPARE[type(op)]} {b})" for a, op, b in zip(sides, ops, sides[1:], strict=False))
                return f"static_cast<long long>({' && '.join(tests)})", True
        case ast.IfExp(test=test, body=body, orelse=other):
            (a, i), (b, j) = _emit(body, names), _emit(other, names)
            whole = i and j
            return f"({_emit(test, names)[0]} != 0 ? {_as(whole, (a, i))} : {_as(whole, (b, j))})", whole
        case ast.Call(func=ast.Name(id=name), args=args):
            return _call(name, [_emit(a, names) for a in args])
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(op, _emit(left, names), _emit(right, names))
    raise ExpressionError(f"'{ast.unparse(node)}' has no counterpart in C++")


def _as(whole: bool, value: tuple[str, bool]) -> str:
    """A value where others are ``double`` becomes one itself; nothing ever becomes an integer."""
    return value[0] if whole == value[1] else f"static_cast<double>({value[0]})"


def _call(name: str, args: list[tuple[str, bool]]) -> tuple[str, bool]:
    whole = all(w for _, w in args)
    texts = [_as(whole, a) for a in args]
    if name == "abs" and len(args) == 1:
        return f"evo_detail::magnitude({texts[0]})", whole
    if name == "ceil_div" and len(args) == 2:
        return (f"evo_detail::ceil_div({', '.join(texts)})", True) if whole else (
            f"(-std::floor(-({texts[0]}) / ({texts[1]})))", False)
    if name in ("min", "max") and len(args) > 1:
        function = "least" if name == "min" else "most"
        result = texts[0]
        for t in texts[1:]:
            result = f"evo_detail::{function}({result}, {t})"
        return result, whole
    raise ExpressionError(f"{name} of {len(args)} arguments has no counterpart in C++")


def _binary(op: ast.operator, left: tuple[str, bool], right: tuple[str, bool]) -> tuple[str, bool]:
    (a, i), (b, j) = left, right
    whole = i and j
    if type(op) in _PLAIN:
        return f"({a} {_PLAIN[type(op)]} {b})", whole
    a, b = _as(whole, left), _as(whole, right)
    match op:
        case ast.Div() | ast.FloorDiv() if whole:
            return f"evo_detail::idiv({a}, {b})", True
        case ast.Div():
            return f"({a} / {b})", False
        case ast.FloorDiv():
            return f"std::floor({a} / {b})", False
        case ast.Mod():
            return (f"evo_detail::imod({a}, {b})", True) if whole else (f"({a} - std::floor({a} / {b}) * {b})", False)
        case ast.Pow():
            return (f"evo_detail::ipow({a}, {b})", True) if whole else (f"std::pow({a}, {b})", False)
    raise ExpressionError(f"the operator {type(op).__name__} has no counterpart in C++")
