"""A serial kernel of integers, run in Python: what a transform of its loops must not change."""

from __future__ import annotations

from collections.abc import Mapping

from genome import ir
from tests.helpers.cmodel import WIDTHS, evaluate, wrap

STEPS = 2_000


class Endless(Exception):
    """More steps than any test's loops have."""


class Machine:
    """``arrays`` are lists of ints; ``trace`` collects (array, index) of every store, in order."""

    def __init__(self, scalars: Mapping[str, int], arrays: dict[str, list[int]], types: Mapping[str, ir.CType]) -> None:
        self.env, self.arrays, self.types = dict(scalars), arrays, dict(types)
        self.trace: list[tuple[str, int]] = []
        self.steps = 0

    def run(self, body: tuple[ir.Stmt, ...]) -> None:
        for s in body:
            self.steps += 1
            if self.steps > STEPS:
                raise Endless
            match s:
                case ir.Decl(name=n, type=t, init=i, dims=()):
                    self.types[n] = ir.CType(t.base)
                    self.env[n] = wrap(self.value(i), WIDTHS[t.base]) if i is not None else 0
                case ir.Assign(target=target, op=op, value=v):
                    new = self.value(v if op == "=" else ir.Bin(op[:-1], target, v))
                    self.store(target, new)
                case ir.For(var=var, type=t, lo=lo, cmp=cmp, hi=hi, step=step, body=inner):
                    self.types[var] = t or self.types[var]
                    self.store(ir.Var(var), self.value(lo))
                    while self.value(ir.Bin(cmp, ir.Var(var), hi)):
                        self.run(inner)
                        self.store(ir.Var(var), self.value(ir.Bin("+", ir.Var(var), step)))
                case ir.If(cond=c, then=then, other=other):
                    self.run(then if self.value(c) else other)
                case ir.Block(body=inner):
                    self.run(inner)
                case ir.Comment():
                    pass
                case _:
                    raise AssertionError(f"no model of {s}")

    def store(self, target: ir.Expr, value: int) -> None:
        match target:
            case ir.Var(name=n):
                self.env[n] = wrap(value, WIDTHS[self.types[n].base])
            case ir.Index(base=ir.Var(name=n), subs=(sub,)):
                at = self.value(sub)
                assert at >= 0
                self.arrays[n][at] = value
                self.trace.append((n, at))
            case _:
                raise AssertionError(target)

    def value(self, e: ir.Expr) -> int:
        match e:
            case ir.Ternary(cond=c, then=t, other=o):
                return self.value(t) if self.value(c) else self.value(o)
            case ir.Index(base=ir.Var(name=n), subs=(sub,)):
                at = self.value(sub)
                assert at >= 0
                return self.arrays[n][at]
            case ir.Bin(op=op, left=a, right=b) if any(isinstance(x, (ir.Index, ir.Ternary)) for x in _below(e)):
                return evaluate(ir.Bin(op, self.literal(a), self.literal(b)), self.env, self.types)[0]
            case ir.Cast(type=t, operand=o):
                return wrap(self.value(o), WIDTHS[t.base])
        return evaluate(e, self.env, self.types)[0]

    def literal(self, e: ir.Expr) -> ir.Expr:
        """An operand whose value is already known; plain operands keep their type."""
        if any(isinstance(x, (ir.Index, ir.Ternary)) for x in _below(e)):
            return ir.IntLit(self.value(e))
        return e


def _below(e: ir.Expr) -> list[object]:
    from genome.walk import walk

    return list(walk(e))
