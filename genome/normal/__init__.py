"""Normal forms: each function takes a kernel and returns an equivalent one that is easier to reason about."""

from __future__ import annotations

import itertools
from typing import Any

from genome import ir, walk
from genome.frontend.coords import AXES, coordinate
from genome.frontend.loops import label_loops
from genome.frontend.types import INTEGERS, width
from genome.normal.counting import counting_loops
from genome.normal.guards import guard_regions
from genome.normal.pointers import row_pointers
from genome.normal.rename import alpha_rename
from genome.normal.scalars import inline_scalars, localise_loops, merge_declarations
from genome.normal.typing import declared_types, is_integer, type_of


def plain_coordinates(kernel: ir.Kernel) -> ir.Kernel:
    """``(T)blockIdx.x * blockDim.x + threadIdx.x`` with casts to integers inside is ``(T)`` of the coordinate.

    A launch has fewer than 2^32 threads along an axis (the launcher's limits), so the 32-bit sum is exact."""

    def strip(e: ir.Expr, found: list[ir.CType]) -> ir.Expr:
        if isinstance(e, ir.Cast) and e.type.pointer == 0 and e.type.base in INTEGERS:
            inner = strip(e.operand, found)
            if isinstance(inner, ir.Builtin):
                found.append(e.type)
                return inner
        elif isinstance(e, ir.Bin) and e.op in ("+", "*"):
            return ir.Bin(e.op, strip(e.left, found), strip(e.right, found), e.loc)
        return e

    def one(n: Any) -> Any:
        if isinstance(n, ir.Bin) and n.op == "+":
            casts: list[ir.CType] = []
            axis = coordinate(strip(n, casts), None)
            if axis is not None and casts and axis in AXES and len({c.base for c in casts}) == 1 \
                    and casts[0].base in ("int", "unsigned int", "size_t", "long", "long long", "unsigned long",
                                          "unsigned long long", "int64_t", "uint64_t"):
                base = casts[0].base
                if base == "int" and not _all_cast(n):
                    base = "unsigned int"  # int and unsigned int meet in unsigned int
                coord = ir.Coord(axis, n.loc)
                return coord if base == "unsigned int" else ir.Cast(ir.CType(base), coord, "c", n.loc)
        return n

    def _all_cast(e: ir.Expr) -> bool:
        if isinstance(e, ir.Bin):
            return _all_cast(e.left) and _all_cast(e.right)
        return isinstance(e, ir.Cast)

    return kernel.with_body(walk.rewrite(kernel.body, one))


def gathered_coordinates(kernel: ir.Kernel) -> ir.Kernel:
    """``1 + blockIdx.x * blockDim.x + threadIdx.x``, in any order of its terms, is the coordinate plus 1: all terms
    are 32-bit integers, one of them unsigned, so that C adds them modulo 2^32 in any order."""
    types = declared_types(kernel)

    def terms(e: ir.Expr) -> list[ir.Expr]:
        return [*terms(e.left), *terms(e.right)] if isinstance(e, ir.Bin) and e.op == "+" else [e]

    def one(n: Any) -> Any:
        if not isinstance(n, ir.Bin) or n.op != "+":
            return n
        parts = terms(n)
        if len(parts) < 3 or any(t is None or not is_integer(t) or width(t.base) > 4
                                 for t in (type_of(p, types) for p in parts)):
            return n
        for i, j in itertools.permutations(range(len(parts)), 2):
            axis = coordinate(ir.Bin("+", parts[i], parts[j]), None)
            if axis is not None:
                out: ir.Expr = ir.Coord(axis, n.loc)
                for k, p in enumerate(parts):
                    if k not in (i, j):
                        out = ir.Bin("+", out, p, n.loc)
                return out
        return n

    return kernel.with_body(walk.rewrite(kernel.body, one))


def without_unused_marks(kernel: ir.Kernel) -> ir.Kernel:
    """``(void)x;`` says to the compiler that ``x`` is not used, and does nothing."""

    def one(n: Any) -> Any:
        mark = isinstance(n, ir.Eval) and isinstance(n.expr, ir.Cast) and n.expr.type == ir.CType("void") \
            and isinstance(n.expr.operand, ir.Var)
        return () if mark else n

    return kernel.with_body(walk.rewrite(kernel.body, one))


def normalise(kernel: ir.Kernel) -> ir.Kernel:
    """All normal forms in order; the result has unique names and labels again."""
    kernel = without_unused_marks(alpha_rename(kernel))
    kernel = counting_loops(localise_loops(merge_declarations(kernel)))
    kernel = gathered_coordinates(plain_coordinates(alpha_rename(kernel)))
    kernel = guard_regions(kernel)
    kernel = row_pointers(kernel)
    kernel = inline_scalars(kernel)
    kernel = row_pointers(kernel)
    return label_loops(alpha_rename(kernel))


__all__ = ["alpha_rename", "guard_regions", "inline_scalars", "localise_loops", "merge_declarations", "normalise",
           "plain_coordinates", "row_pointers"]
