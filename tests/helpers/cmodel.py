"""C's integer arithmetic on the IR, as the language defines it: promotions, conversions, wrapping. Facts' oracle."""

from __future__ import annotations

from collections.abc import Mapping

from genome import ir
from genome.poly import Poly

WIDTHS = {"int": (32, True), "unsigned int": (32, False), "long long": (64, True), "unsigned long long": (64, False),
          "short": (16, True), "unsigned short": (16, False), "unsigned char": (8, False)}
Kind = tuple[int, bool]


class Undefined(Exception):
    """Signed overflow, or a division by zero: the program has no meaning there."""


def wrap(value: int, kind: Kind) -> int:
    """The value after conversion to a type."""
    bits, signed = kind
    value %= 1 << bits
    return value - (1 << bits) if signed and value >= 1 << (bits - 1) else value


def promote(kind: Kind) -> Kind:
    return (32, True) if kind[0] < 32 else kind


def common(a: Kind, b: Kind) -> Kind:
    if a[0] == b[0]:
        return a[0], a[1] and b[1]
    return a if a[0] > b[0] else b


def arithmetic(value: int, kind: Kind) -> int:
    wrapped = wrap(value, kind)
    if kind[1] and wrapped != value:
        raise Undefined
    return wrapped


def evaluate(e: ir.Expr, env: Mapping[str, int], types: Mapping[str, ir.CType]) -> tuple[int, Kind]:
    """(value, type) of an integer expression."""
    match e:
        case ir.IntLit(value=v, suffix=s):
            kind = (64 if "l" in s or v >= 2**31 + ("u" in s) * 2**31 else 32, "u" not in s)
            return v, kind
        case ir.Var(name=n):
            kind = WIDTHS[types[n].base]
            return wrap(env[n], kind), promote(kind)
        case ir.Coord(axis=a):
            return wrap(env["@" + a], (32, False)), (32, False)
        case ir.Cast(type=t, operand=o):
            v, _ = evaluate(o, env, types)
            kind = WIDTHS[t.base]
            return wrap(v, kind), promote(kind)
        case ir.Un(op="-", operand=o):
            v, kind = evaluate(o, env, types)
            return arithmetic(-v, kind), kind
        case ir.Un(op="!", operand=o):
            return int(not evaluate(o, env, types)[0]), (32, True)
        case ir.Bin(op="&&", left=a, right=b):
            return int(bool(evaluate(a, env, types)[0]) and bool(evaluate(b, env, types)[0])), (32, True)
        case ir.Bin(op="||", left=a, right=b):
            return int(bool(evaluate(a, env, types)[0]) or bool(evaluate(b, env, types)[0])), (32, True)
        case ir.Bin(op=op, left=a, right=b):
            (x, kx), (y, ky) = evaluate(a, env, types), evaluate(b, env, types)
            kind = common(kx, ky)
            x, y = wrap(x, kind), wrap(y, kind)
            match op:
                case "+":
                    return arithmetic(x + y, kind), kind
                case "-":
                    return arithmetic(x - y, kind), kind
                case "*":
                    return arithmetic(x * y, kind), kind
                case "/" | "%":
                    if y == 0:
                        raise Undefined
                    q = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
                    return arithmetic(q if op == "/" else x - q * y, kind), kind
            return int({"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y, "!=": x != y}[op]), (32, True)
    raise AssertionError(f"no model of {e}")


def value(p: Poly, env: Mapping[str, int]) -> int:
    """The polynomial's value in exact arithmetic."""
    total = 0
    for m, c in p.terms:
        term = c
        for s in m:
            term *= env[s]
        total += term
    return total
