"""Shared-memory stages: declarations, cooperative loads with zero-fill guards, and reads of the copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from genome import ir
from genome.build import poly_expr
from genome.facts import integer_type
from genome.footprint import ELEMENT_BYTES, VECTOR_BASES, StageDim, StagePlan, scope_loop
from genome.logical import Access, LogicalKernel
from genome.lower.mapping import AxisCode, add, mul
from genome.lower.names import Names
from genome.poly import Poly, from_expr
from genome.prove import implies


@dataclass(frozen=True)
class StageCode:
    """``name``: the shared array. ``depth`` buffers; ``slot`` is the variable that holds the current one's number, ""
    for one buffer. ``wide`` is the variable that tells whether rows are aligned for vectors, "" for scalar copies.
    ``dynamic``: the array is a pointer into dynamic shared memory, subscripted flat."""

    plan: StagePlan
    name: str
    depth: int = 1
    slot: str = ""
    wide: str = ""
    dynamic: bool = False

    @property
    def bytes(self) -> int:
        return self.plan.bytes * self.depth

    def element(self, subs: Sequence[ir.Expr], slot: ir.Expr | None) -> ir.Index:
        """An element of the stored box; ``subs`` in storage order."""
        if not self.dynamic:
            return ir.Index(ir.Var(self.name), (*([slot] if slot is not None else []), *subs))
        flat: ir.Expr = slot if slot is not None else ir.IntLit(0)
        for n, s in zip(self.plan.shape, subs, strict=True):
            flat = add(mul(flat, n), s)
        return ir.Index(ir.Var(self.name), (flat,))


def declaration(code: StageCode) -> ir.Decl:
    dims = tuple(ir.IntLit(n) for n in ((code.depth,) if code.depth > 1 else ()) + code.plan.shape)
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
    return code.element([subs[d] for d in code.plan.order], ir.Var(code.slot) if code.slot else None)


class Loader:
    """Writes the cooperative load of one stage."""

    def __init__(self, logical: LogicalKernel, axes: Mapping[str, AxisCode], names: Names, tid: ir.Expr,
                 threads: int) -> None:
        self.logical, self.axes, self.names, self.tid, self.threads = logical, axes, names, tid, threads

    def load(self, code: StageCode, starts: Mapping[str, ir.Expr], outer_facts: tuple[Poly, ...],
             rename: Callable[[ir.Expr], ir.Expr], slot: ir.Expr | None = None) -> list[ir.Stmt]:
        """``starts``: the first value of each loop inside the scope; ``outer_facts``: what is known of the loops
        around it; ``rename`` writes outer symbols (loop variables of tiled loops) as the kernel has them; ``slot``:
        the buffer to fill, asynchronously, where there are several."""
        plan, v = code.plan, code.plan.stage.vector
        if slot is not None and not plan.contiguous:
            v = 1  # an asynchronous copy cannot scatter
        values, loop = self._counters(plan, v)
        const_int = ir.CType("int", const=True)
        named = [(self.names.fresh(f"{plan.group.array}_i{d}"), x) for d, x in enumerate(values)]
        locals_: list[ir.Expr] = [ir.Var(n) for n, _ in named]
        indices = tuple(ir.Decl(const_int, n, init=x) for n, x in named)
        facts = [*self.logical.facts, *outer_facts]

        def place(lane: int) -> tuple[ir.Index, ir.Index, ir.Expr | None]:
            """Target, source and guard of one element of the vector."""
            at = [*locals_[:-1], add(locals_[-1], ir.IntLit(lane))]
            guard: ir.Expr | None = None
            elements: list[ir.Expr] = []
            for d, dim in enumerate(plan.dims):
                base, poly = self._base(dim, starts, rename)
                element = add(base, at[d])
                elements.append(element)
                for test in self._tests(dim, element, poly, d, facts):
                    guard = test if guard is None else ir.Bin("&&", guard, test)
            source = ir.Index(ir.Var(plan.group.array), (self._flat(plan, elements),))
            return code.element([at[d] for d in plan.order], slot), source, guard

        narrow = tuple(self._copy(*place(lane), width=1, element=plan.element, later=slot is not None)
                       for lane in range(v))
        if v == 1:
            return [loop((*indices, *narrow))]
        target, source, guard = place(0)
        if not plan.contiguous:
            vector = self._scatter([place(lane)[0] for lane in range(v)], source, guard, plan.element, v)
        elif slot is not None:
            vector = (self._copy(target, source, guard, v, plan.element, True),)
        else:
            vector = self._scatter([target], source, guard, plan.element, v)
        return [loop((*indices, ir.If(ir.Var(code.wide), vector, narrow)))]

    def _tests(self, dim: StageDim, element: ir.Expr, poly: Poly, d: int, facts: list[Poly]) -> list[ir.Expr]:
        """The bounds of one dimension that are not proved."""
        s = Poly.sym(f"%{d}")
        known = [*facts, s, Poly.const(dim.size - 1) - s]
        index = poly + s
        out: list[ir.Expr] = []
        if not implies(known, index):
            out.append(ir.Bin(">=", element, ir.IntLit(0)))
        if not implies(known, dim.extent - index - Poly.const(1)):
            out.append(ir.Bin("<", element, poly_expr(dim.extent)))
        return out

    def _copy(self, target: ir.Index, source: ir.Index, guard: ir.Expr | None, width: int, element: ir.CType,
              later: bool) -> ir.Stmt:
        if later:
            return ir.AsyncCopy(target, source, width * ELEMENT_BYTES[element.base], guard)
        return ir.Assign(target, "=", source if guard is None else ir.Ternary(guard, source, ir.IntLit(0)))

    def _scatter(self, targets: list[ir.Index], source: ir.Index, guard: ir.Expr | None, element: ir.CType,
                 v: int) -> tuple[ir.Stmt, ...]:
        """One vector load; one vector store, or as many scalar stores as there are targets."""
        vector = ir.CType(f"{VECTOR_BASES[element.base]}{v}")
        q = self.names.fresh("v")
        zero = ir.Call(f"make_{vector.base}", (ir.IntLit(0),) * v)
        read: ir.Stmt = ir.Assign(ir.Var(q), "=", _as_vector(source, replace(vector, const=True)))
        if guard is not None:
            read = ir.If(guard, (read,))
        stores: tuple[ir.Stmt, ...]
        if len(targets) == 1:
            stores = (ir.Assign(_as_vector(targets[0], vector), "=", ir.Var(q)),)
        else:
            stores = tuple(ir.Assign(t, "=", ir.Member(ir.Var(q), "xyzw"[i])) for i, t in enumerate(targets))
        return (ir.Decl(vector, q, init=zero), read, *stores)

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

    def _counters(self, plan: StagePlan, v: int = 1) -> tuple[list[ir.Expr], Callable[[tuple[ir.Stmt, ...]], ir.Stmt]]:
        """Local indices per dimension, last one fastest over the threads so that global reads coalesce, and the loop
        that runs them over the box in vectors of ``v``."""
        total, threads = plan.elements // v, self.threads
        sizes = [d.size for d in plan.dims]
        sizes[-1] //= v
        flat = self.names.fresh(f"{plan.group.array}_e")
        e: ir.Expr = ir.Bin("+", ir.Var(flat), self.tid)
        indices: list[ir.Expr] = []
        below = 1
        for d in range(len(plan.dims) - 1, -1, -1):
            size = sizes[d]
            part = e if below == 1 else ir.Bin("/", e, ir.IntLit(below))
            indices.append(part if d == 0 else ir.Bin("%", part, ir.IntLit(size)))
            below *= size
        indices.reverse()
        indices[-1] = mul(indices[-1], v)
        last = sizes[-1]
        trips = -(-total // threads)

        def wrap(inner: tuple[ir.Stmt, ...]) -> ir.Stmt:
            if total % threads:
                inner = (ir.If(ir.Bin("<", e, ir.IntLit(total)), inner),)
            return ir.For(flat, flat, ir.INT, ir.IntLit(0), "<", ir.IntLit(total), ir.IntLit(threads), inner,
                          unroll=0 if trips <= 32 else 4)

        if len(plan.dims) == 2 and threads % last == 0:
            # Rows of the box: row and column of a thread are fixed but for a constant step, nothing is divided.
            step = threads // last
            rows = sizes[0]
            row = ir.Bin("+", ir.Var(flat), ir.Bin("/", self.tid, ir.IntLit(last)))
            column = mul(ir.Bin("%", self.tid, ir.IntLit(last)), v)

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
        wide = kind is not None and kind != (32, True)  # unsigned subscripts reach past what an int holds
        out: ir.Expr | None = None
        for d, e in enumerate(elements):
            if d == 0 and wide and not isinstance(e, ir.IntLit):
                e = ir.Cast(ir.CType("long long"), e)
            out = e if out is None else ir.Bin("+", ir.Bin("*", out, poly_expr(plan.dims[d].extent)), e)
        assert out is not None
        return out


def _as_vector(element: ir.Index, vector: ir.CType) -> ir.Expr:
    """``*(float4*)&a[i]``."""
    return ir.Un("*", ir.Cast(replace(vector, pointer=1), ir.Un("&", element)))


def wide_test(code: StageCode) -> ir.Expr:
    """Whether all rows of the array start aligned for the stage's vectors."""
    v, plan = code.plan.stage.vector, code.plan
    extent = plan.dims[-1].extent
    pointer = ir.Cast(ir.CType("size_t"), ir.Var(plan.group.array))
    width = v * ELEMENT_BYTES[plan.element.base]
    test: ir.Expr = ir.Bin("==", ir.Bin("%", pointer, ir.IntLit(width)), ir.IntLit(0))
    if not extent.is_constant:
        test = ir.Bin("&&", ir.Bin("==", ir.Bin("%", poly_expr(extent), ir.IntLit(v)), ir.IntLit(0)), test)
    return test


def local_axes(axes: Mapping[str, AxisCode], items: Mapping[str, ir.Expr]) -> dict[str, ir.Expr]:
    return {a: code.local(items.get(a)) for a, code in axes.items()}


__all__ = ["Loader", "StageCode", "declaration", "local_axes", "read", "wide_test"]
