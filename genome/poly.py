"""Integer polynomials over named symbols: what subscripts, guards and loop bounds become for analysis.

A symbol is a parameter, a loop variable or a logical coordinate (``@x``). Arithmetic is exact integer arithmetic;
C's conversions are the caller's concern (:func:`from_expr` gives up where they could matter).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from genome import ir

Monomial = tuple[str, ...]

INTEGER_BASES = {
    "int": (32, True), "unsigned int": (32, False), "long": (64, True), "unsigned long": (64, False),
    "long long": (64, True), "unsigned long long": (64, False), "size_t": (64, False), "ptrdiff_t": (64, True),
    "int32_t": (32, True), "uint32_t": (32, False), "int64_t": (64, True), "uint64_t": (64, False),
    "short": (16, True), "unsigned short": (16, False), "char": (8, True), "unsigned char": (8, False),
    "signed char": (8, True), "bool": (1, False),
}


def is_integer(t: ir.CType) -> bool:
    return t.pointer == 0 and t.base in INTEGER_BASES


@dataclass(frozen=True)
class Poly:
    """A sum of integer multiples of monomials; ``terms`` is sorted and has no zero."""

    terms: tuple[tuple[Monomial, int], ...] = ()

    @staticmethod
    def of(items: Mapping[Monomial, int]) -> Poly:
        return Poly(tuple(sorted((m, c) for m, c in items.items() if c)))

    @staticmethod
    def const(value: int) -> Poly:
        return Poly((((), value),)) if value else Poly()

    @staticmethod
    def sym(name: str) -> Poly:
        return Poly((((name,), 1),))

    @cached_property
    def dict(self) -> dict[Monomial, int]:
        return dict(self.terms)

    @cached_property
    def symbols(self) -> frozenset[str]:
        return frozenset(s for m, _ in self.terms for s in m)

    @property
    def constant(self) -> int:
        return self.dict.get((), 0)

    @property
    def is_constant(self) -> bool:
        return all(not m for m, _ in self.terms)

    @property
    def is_affine(self) -> bool:
        return all(len(m) <= 1 for m, _ in self.terms)

    def coefficient(self, name: str) -> int:
        """The coefficient of the linear monomial ``name``."""
        return self.dict.get((name,), 0)

    def linear_in(self, name: str) -> bool:
        """Whether ``name`` occurs only as an integer multiple (in no product with another symbol)."""
        return all(name not in m or len(m) == 1 for m, _ in self.terms)

    def __add__(self, other: Poly) -> Poly:
        out = dict(self.terms)
        for m, c in other.terms:
            out[m] = out.get(m, 0) + c
        return Poly.of(out)

    def __neg__(self) -> Poly:
        return Poly(tuple((m, -c) for m, c in self.terms))

    def __sub__(self, other: Poly) -> Poly:
        return self + (-other)

    def __mul__(self, other: Poly) -> Poly:
        out: dict[Monomial, int] = {}
        for m, c in self.terms:
            for n, d in other.terms:
                key = tuple(sorted(m + n))
                out[key] = out.get(key, 0) + c * d
        return Poly.of(out)

    def substitute(self, mapping: Mapping[str, Poly]) -> Poly:
        if not (self.symbols & mapping.keys()):
            return self
        out = Poly()
        for m, c in self.terms:
            term = Poly.const(c)
            for s in m:
                term = term * mapping.get(s, Poly.sym(s))
            out = out + term
        return out

    def divide(self, divisor: Poly) -> tuple[Poly, Poly] | None:
        """Quotient and remainder by a polynomial whose leading monomial (highest degree) has coefficient 1, so that
        no term of the remainder is divisible by that monomial; None when there is no such leading monomial."""
        lead = max(divisor.terms, key=lambda t: (len(t[0]), t[0]), default=None)
        if lead is None or lead[1] != 1 or not lead[0]:
            return None
        quotient, rest = Poly(), self
        for _ in range(64):
            for m, c in rest.terms:
                left = _without(m, lead[0])
                if left is not None:
                    q = Poly(((left, c),))
                    quotient, rest = quotient + q, rest - q * divisor
                    break
            else:
                return quotient, rest
        return None

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        parts = []
        for m, c in sorted(self.terms, key=lambda t: (-len(t[0]), t[0])):
            body = "*".join(m)
            parts.append(str(c) if not m else body if c == 1 else f"-{body}" if c == -1 else f"{c}*{body}")
        return " + ".join(parts).replace("+ -", "- ")


def _without(m: Monomial, part: Monomial) -> Monomial | None:
    rest = list(m)
    for s in part:
        if s not in rest:
            return None
        rest.remove(s)
    return tuple(rest)


def coord_symbol(axis: str) -> str:
    return "@" + axis


def from_expr(e: ir.Expr, resolve: Callable[[str], Poly | None]) -> Poly | None:
    """The polynomial of an integer expression, or None. ``resolve`` maps a variable's name to its polynomial (its
    definition, or itself as a symbol), None when it is not a known integer.

    Widening and sign casts between 32- and 64-bit integers are looked through: subscripts that are in bounds have
    their mathematical value. Comparisons are not: see :mod:`genome.facts`."""
    match e:
        case ir.IntLit(value=v):
            return Poly.const(v)
        case ir.Var(name=n):
            return resolve(n)
        case ir.Coord(axis=axis):
            return Poly.sym(coord_symbol(axis))
        case ir.Cast(type=t, operand=o) if is_integer(t) and INTEGER_BASES[t.base][0] >= 32:
            return from_expr(o, resolve)
        case ir.Un(op="-", operand=o):
            p = from_expr(o, resolve)
            return None if p is None else -p
        case ir.Un(op="+", operand=o):
            return from_expr(o, resolve)
        case ir.Bin(op=op, left=left, right=right) if op in ("+", "-", "*", "<<"):
            a, b = from_expr(left, resolve), from_expr(right, resolve)
            if a is None or b is None:
                return None
            if op == "+":
                return a + b
            if op == "-":
                return a - b
            if op == "*":
                return a * b
            return a * Poly.const(1 << b.constant) if b.is_constant and 0 <= b.constant < 31 else None
        case ir.Bin(op=op, left=left, right=right) if op in ("/", "%"):
            a, b = from_expr(left, resolve), from_expr(right, resolve)
            if a is not None and b is not None and a.is_constant and b.is_constant and b.constant > 0 <= a.constant:
                return Poly.const(a.constant // b.constant if op == "/" else a.constant % b.constant)
            return None
    return None
