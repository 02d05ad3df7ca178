"""Early-return guards become guarded regions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome import ir
from genome.normal.typing import declared_types, is_integer, type_of

INVERSE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def negation(e: ir.Expr, types: Mapping[str, ir.CType]) -> ir.Expr:
    """``!e`` with the negation pushed through ``&&``, ``||``, ``!`` and comparisons of integers; comparisons of
    floating-point numbers keep the ``!``, for NaN."""
    match e:
        case ir.Bin(op="||", left=a, right=b):
            return ir.Bin("&&", negation(a, types), negation(b, types), e.loc)
        case ir.Bin(op="&&", left=a, right=b):
            return ir.Bin("||", negation(a, types), negation(b, types), e.loc)
        case ir.Un(op="!", operand=o):  # in a condition, !!x is x
            return o
        case ir.Bin(op=op, left=a, right=b) if op in INVERSE:
            if is_integer(type_of(a, types)) and is_integer(type_of(b, types)):
                return ir.Bin(INVERSE[op], a, b, e.loc)
    return ir.Un("!", e, e.loc)


def _is_guard(s: ir.Stmt) -> bool:
    if not isinstance(s, ir.If) or s.other:
        return False
    then = s.then
    while len(then) == 1 and isinstance(then[0], ir.Block):
        then = then[0].body
    return len(then) == 1 and isinstance(then[0], ir.Return) and then[0].value is None


def guard_regions(kernel: ir.Kernel) -> ir.Kernel:
    """``if (c) return; rest`` at the top level of the body becomes ``if (!c) { rest }``, guards in a row one region.

    A barrier in the rest stays where it is: threads that had returned do not reach it in either form.
    """
    types = declared_types(kernel)

    def region(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        for i, s in enumerate(body):
            if isinstance(s, ir.If) and _is_guard(s):
                rest = region(body[i + 1:])
                if not rest:
                    return body[:i]
                cond = negation(s.cond, types)
                if len(rest) == 1 and isinstance(rest[0], ir.If) and not rest[0].other:
                    inner = rest[0]
                    return (*body[:i], replace(inner, cond=ir.Bin("&&", cond, inner.cond, s.loc), loc=s.loc))
                return (*body[:i], ir.If(cond, rest, (), s.loc))
        return body

    body = region(kernel.body)
    while body and isinstance(body[-1], ir.Return):
        body = body[:-1]
    return kernel.with_body(body)
