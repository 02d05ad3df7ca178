"""Shared-memory stages: declarations, cooperative loads with zero-fill guards, and reads of the copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from genome import ir
from genome.build import poly_expr
from genome.facts import integer_type
from genome.footprint import StageDim, StagePlan, scope_loop
from genome.logical import Access, LogicalKernel
from genome.lower.mapping import AxisCode, add, mul
from genome.lower.names import Names
from genome.poly import Poly, coord_symbol, from_expr
from genome.prove import implies


@dataclass(frozen=True)
class StageCode:
    plan: StagePlan
    name: str  # of the shared array


@dataclass(frozen=True)
class LoopSymbol:
    """How a loop inside a stage's scope is written: its value is ``start + local``."""

    start: ir.Expr
    local: ir.Expr


def declaration(code: StageCode) -> ir.Decl:
    dims = tuple(ir.IntLit(n) for n in code.plan.shape)
    where = f"loop {scope_loop(code.plan.stage.scope)}" if code.plan.stage.scope else "the block"
    return ir.Decl(code.plan.element, code.name, dims=dims, space="shared", align=16,
                   comment=f"UseSharedMemory: the part of {code.plan.group.array} that {where} reads")


def read(code: StageCode, access: Access, axes: Mapping[str, ir.Expr], loops: Mapping[str, ir.Expr]) -> ir.Index:
    """The staged element of an access. ``axes`` and ``loops`` give the local parts of coordinates and loops."""
    subs: list[ir.Expr] = []
    for d, dim in enumerate(code.plan.dims):
        e: ir.Expr = ir.IntLit(0)
        for symbol, c in dim.spans:
            local = axes[symbol[1:]] if symbol.startswith("@") else loops[symbol]
            e = add(e, mul(local, c))
        subs.append(add(e, ir.IntLit(access.dims[d].constant - dim.low)))
    return ir.Index(ir.Var(code.name), tuple(subs[d] for d in code.plan.order))


class Loader:
    """Writes the cooperative load of one stage."""

    def __init__(self, logical: LogicalKernel, axes: Mapping[str, AxisCode], names: Names, tid: ir.Expr,
                 threads: int) -> None:
        self.logical, self.axes, self.names, self.tid, self.threads = logical, axes, names, tid, threads

    def load(self, code: StageCode, starts: Mapping[str, ir.Expr], outer_facts: tuple[Poly, ...],
             rename: Callable[[ir.Expr], ir.Expr]) -> list[ir.Stmt]:
        """``starts``: the first value of each loop inside the scope; ``outer_facts``: what is known of the loops
        around it; ``rename`` writes outer symbols (loop variables of tiled loops) as the kernel has them."""
        plan = code.plan
        values, loop = self._counters(plan)
        const_int = ir.CType("int", const=True)
        named = [(self.names.fresh(f"{plan.group.array}_i{d}"), v) for d, v in enumerate(values)]
        locals_: list[ir.Expr] = [ir.Var(n) for n, _ in named]
        indices = tuple(ir.Decl(const_int, n, init=v) for n, v in named)
        guards: list[ir.Expr] = []
        facts = list(self.logical.facts) + list(outer_facts)
        elements: list[ir.Expr] = []
        for d, dim in enumerate(plan.dims):
            base, poly = self._base(dim, starts, rename)
            element = add(base, locals_[d])
            s = Poly.sym(f"%{d}")
            inside = [s, Poly.const(dim.size - 1) - s]
            index = poly + s
            if not implies([*facts, *inside], index):
                guards.append(ir.Bin(">=", element, ir.IntLit(0)))
            if not implies([*facts, *inside], dim.extent - index - Poly.const(1)):
                guards.append(ir.Bin("<", element, poly_expr(dim.extent)))
            elements.append(element)
        flat = self._flat(plan, elements)
        value: ir.Expr = ir.Index(ir.Var(plan.group.array), (flat,))
        if guards:
            cond = guards[0]
            for g in guards[1:]:
                cond = ir.Bin("&&", cond, g)
            value = ir.Ternary(cond, value, ir.IntLit(0))
        target = ir.Index(ir.Var(code.name), tuple(locals_[d] for d in plan.order))
        return [loop((*indices, ir.Assign(target, "=", value)))]

    def _base(self, dim: StageDim, starts: Mapping[str, ir.Expr],
              rename: Callable[[ir.Expr], ir.Expr]) -> tuple[ir.Expr, Poly]:
        """First element of the box along one dimension, as code and as a polynomial of non-negative symbols."""
        code: ir.Expr = ir.IntLit(0)
        poly = dim.outer + Poly.const(dim.low)
        if dim.outer.terms:
            code = add(code, rename(poly_expr(dim.outer)))
        for symbol, c in dim.spans:
            if symbol.startswith("@"):
                code = add(code, mul(ir.Var(self.axes[symbol[1:]].block), c))
                poly = poly + Poly.of({(symbol,): c})  # the block's first point is a point of the axis or past it
            else:
                start = starts[symbol]
                code = add(code, mul(start, c))
                known = from_expr(start, self.logical.resolve)
                poly = poly + (known if known is not None else Poly.sym(symbol)) * Poly.const(c)
        return add(code, ir.IntLit(dim.low)), poly

    def _counters(self, plan: StagePlan) -> tuple[list[ir.Expr], Callable[[tuple[ir.Stmt, ...]], ir.Stmt]]:
        """Local indices per dimension, last one fastest over the threads so that global reads coalesce, and the loop
        that runs them over the box."""
        total, threads = plan.elements, self.threads
        flat = self.names.fresh(f"{plan.group.array}_e")
        e: ir.Expr = ir.Bin("+", ir.Var(flat), self.tid)
        indices: list[ir.Expr] = []
        below = 1
        for d in range(len(plan.dims) - 1, -1, -1):
            size = plan.dims[d].size
            part = e if below == 1 else ir.Bin("/", e, ir.IntLit(below))
            indices.append(part if d == 0 else ir.Bin("%", part, ir.IntLit(size)))
            below *= size
        indices.reverse()
        last = plan.dims[-1].size
        trips = -(-total // threads)

        def wrap(inner: tuple[ir.Stmt, ...]) -> ir.Stmt:
            if total % threads:
                inner = (ir.If(ir.Bin("<", e, ir.IntLit(total)), inner),)
            return ir.For(flat, flat, ir.INT, ir.IntLit(0), "<", ir.IntLit(total), ir.IntLit(threads), inner,
                          unroll=0 if trips <= 32 else 4)

        if len(plan.dims) == 2 and threads % last == 0:
            # Rows of the box: row and column of a thread are fixed but for a constant step, nothing is divided.
            step = threads // last
            rows = plan.dims[0].size
            row = ir.Bin("+", ir.Var(flat), ir.Bin("/", self.tid, ir.IntLit(last)))
            column = ir.Bin("%", self.tid, ir.IntLit(last))

            def wrap_rows(inner: tuple[ir.Stmt, ...]) -> ir.Stmt:
                if rows % step:
                    inner = (ir.If(ir.Bin("<", row, ir.IntLit(rows)), inner),)
                return ir.For(flat, flat, ir.INT, ir.IntLit(0), "<", ir.IntLit(rows), ir.IntLit(step), inner,
                              unroll=0 if -(-rows // step) <= 32 else 4)

            return [row, column], wrap_rows
        return indices, wrap

    def _flat(self, plan: StagePlan, elements: list[ir.Expr]) -> ir.Expr:
        """Row-major address of an element, in 64 bits where the user's own subscript was."""
        first = plan.group.accesses[0]
        kind = integer_type(first.index.subs[0], self.logical.types)
        wide = kind is not None and kind[0] == 64
        out: ir.Expr | None = None
        for d, e in enumerate(elements):
            if d == 0 and wide and not isinstance(e, ir.IntLit):
                e = ir.Cast(ir.CType("long long"), e)
            out = e if out is None else ir.Bin("+", ir.Bin("*", out, poly_expr(plan.dims[d].extent)), e)
        assert out is not None
        return out


def local_axes(axes: Mapping[str, AxisCode], items: Mapping[str, ir.Expr]) -> dict[str, ir.Expr]:
    return {a: code.local(items.get(a)) for a, code in axes.items()}


__all__ = ["Loader", "LoopSymbol", "StageCode", "coord_symbol", "declaration", "local_axes", "read"]
