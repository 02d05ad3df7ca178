"""Lowering: the logical body in, loops over items, cooperative loads, guards and barriers out.

Structure first: a loop whose bounds are uniform over the items is written once, with the items inside (jamming);
everything else is a leaf and runs once per item. Jamming is legal in any order because distinct points are
independent (condition 4 of the mapping), which :mod:`genome.independence` has proved before a gene gets here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from genome import ir
from genome.errors import Refusal
from genome.facts import conjuncts, loop_facts
from genome.footprint import StagePlan, scope_loop, stage_plan, uniform
from genome.logical import LogicalKernel
from genome.lower.deps import NONE, Axes, Dependences, private_dependences
from genome.lower.leaves import LeafWriter
from genome.lower.mapping import AxisCode, add, axis_codes, keeps_launch, swizzle
from genome.lower.masked import bounded_trips, speculable, takes_zeros
from genome.lower.names import Names
from genome.lower.stages import Loader, StageCode, declaration, wide_test
from genome.lower.unroll import unroll_loop
from genome.poly import Poly, from_expr
from genome.schedule import Schedule, Tile
from genome.walk import root, walk

STATIC_BYTES = 49152  # of shared memory a block may use without opting in (CUDA programming guide, K.1)


@dataclass(frozen=True)
class Lowered:
    """``kernel`` is plain IR; ``same_mapping`` tells that the launch geometry is the baseline's; ``dynamic_bytes`` of
    shared memory the launch must provide."""

    kernel: ir.Kernel
    same_mapping: bool
    dynamic_bytes: int


@dataclass(frozen=True)
class Context:
    """``guards``: sunk conditions, as in the logical body; ``region``: private names declared under all of
    them; ``loops``: code of tiled loops' variables; ``facts``: of the enclosing loops, without guards."""

    guards: tuple[ir.Expr, ...] = ()
    region: frozenset[str] = frozenset()
    staged: tuple[StageCode, ...] = ()
    starts: Mapping[str, ir.Expr] | None = None  # tiled loops: first value of the current tile
    locals: Mapping[str, ir.Expr] | None = None  # tiled loops: offset in the tile
    facts: tuple[Poly, ...] = ()
    inside: tuple[str, ...] = ()  # enclosing loops


def lower(logical: LogicalKernel, schedule: Schedule, baseline: Schedule, *,
          static_bytes: int = STATIC_BYTES, layer: str = "") -> Lowered:
    """Expects a schedule that passed all checks; a :class:`Refusal` from here is a defect of a check. Stages of more
    than ``static_bytes`` together go to dynamic shared memory. ``layer`` is the variable that holds the number of
    this block's part of a split reduction."""
    return _Lowering(logical, schedule, baseline, static_bytes, layer).run()


class _Lowering:
    def __init__(self, logical: LogicalKernel, schedule: Schedule, baseline: Schedule, static_bytes: int,
                 layer: str = "") -> None:
        self.logical, self.schedule, self.layer = logical, schedule, layer
        self.dealt = not layer  # a layer that took every tile would count each of them several times
        self.same = keeps_launch(schedule, baseline)
        self.mapped = not self.same or bool(schedule.stages) or schedule.swizzle > 1 or schedule.lanes > 0
        self.names = Names(logical.kernel)
        self.tid = self.names.fresh("tid") if schedule.stages or schedule.lanes else ""
        self.axes: dict[str, AxisCode] = axis_codes(logical, schedule, self.names, self.tid) if self.mapped else {}
        self.items: Axes = frozenset(a for a, m in schedule.axes if m.items > 1)
        self.slots: dict[str, str] = {}  # loop → variable that holds the number of its current buffer
        self.plans: list[StagePlan] = [stage_plan(logical, schedule, s) for s in schedule.stages]
        total = sum(p.bytes * schedule.depth_of(p.stage.scope) for p in self.plans)
        self.dynamic = total > static_bytes
        self.codes = [self._code(p) for p in self.plans]
        self.deps = private_dependences(logical, self.items, {})
        self.leaves = LeafWriter(logical, schedule, self.axes, self.deps, self.names)
        self._settle()

    def _settle(self) -> None:
        """Fixpoint: a load whose guard cannot be narrowed hangs on all of the guard's axes, and what a leaf writes has
        a copy for every repetition of the leaf. Both can only grow, and decide together which statements are leaves."""
        while True:
            leaves = list(self._leaf_statements(self.logical.body, Context(facts=self.logical.facts)))
            loads = dict(self.deps.load_axes)
            for e, axes in self.leaves.load_axes(self._sunk_loads(leaves)).items():
                loads[e] = loads.get(e, NONE) | axes
            more: dict[str, Axes] = {}
            for s, ctx in leaves:
                for name, axes in self.leaves.missing(s, ctx).items():
                    more[name] = more.get(name, NONE) | axes
            if not more and loads == self.deps.load_axes:
                return
            seeds = {n: self.deps.of.get(n, NONE) | more.get(n, NONE) for n in (*self.deps.of, *more)}
            self.deps = private_dependences(self.logical, self.items, loads, seeds)
            self.leaves.deps = self.deps

    def _leaf_statements(self, stmts: tuple[ir.Stmt, ...], ctx: Context) -> Iterator[tuple[ir.Stmt, Context]]:
        """Every leaf with the guards that are sunk to it, as :meth:`_block` will find them."""
        for s in stmts:
            if not self._structural(s, bool(ctx.guards)):
                yield s, ctx
                continue
            match s:
                case ir.For(body=body):
                    facts = ctx.facts + loop_facts(s, ctx.facts, self.logical.resolve, self.logical.types)
                    yield from self._leaf_statements(body, replace(ctx, facts=facts))
                case ir.Block(body=body):
                    yield from self._leaf_statements(body, ctx)
                case ir.If(then=then, other=other):
                    yield from self._leaf_statements(then, self._sunk(s, ctx) if self._sink(s) else ctx)
                    yield from self._leaf_statements(other, ctx)

    def _sunk(self, s: ir.If, ctx: Context) -> Context:
        names = frozenset(n.name for n in walk(s.then) if isinstance(n, ir.Decl))
        return replace(ctx, guards=ctx.guards + conjuncts(s.cond), region=names)

    def _code(self, p: StagePlan) -> StageCode:
        depth = self.schedule.depth_of(p.stage.scope)
        loop = scope_loop(p.stage.scope)
        if depth > 1 and loop not in self.slots:
            self.slots[loop] = self.names.fresh(f"{self.logical.loops[loop].node.var}_slot")
        vectors = p.stage.vector > 1 and (depth == 1 or p.contiguous)
        return StageCode(p, self.names.fresh(f"{p.group.array}_s"), depth, self.slots[loop] if depth > 1 else "",
                         self.names.fresh(f"{p.group.array}_wide") if vectors else "", self.dynamic)

    # ----------------------------------------------------------------------------------------- entry
    def run(self) -> Lowered:
        top: list[ir.Stmt] = []
        if self.tid:
            top.append(self._thread_id())
        if self.mapped:
            top += swizzle(self.schedule, self.axes, self.names)
            for a in self.schedule.order:
                top += self.axes[a].declarations()
        top += self._coordinates()
        ctx = Context(facts=self.logical.facts, starts={}, locals={})
        shared = self._dynamic_shared() if self.dynamic else [declaration(c) for c in self.codes]
        top += [ir.Decl(ir.CType("bool", const=True), c.wide, init=wide_test(c)) for c in self.codes if c.wide]
        stage_stmts: list[ir.Stmt] = []
        block_scope = tuple(c for c in self.codes if not c.plan.stage.scope)
        if block_scope:
            for c in block_scope:
                stage_stmts += self._load(c, ctx)
            stage_stmts.append(ir.Barrier())
            ctx = replace(ctx, staged=block_scope)
        body = self._block(self.logical.body, ctx)
        if not self.dealt:
            raise Refusal("split-loop-differs", "the tiles of the split loop cannot be dealt out")
        stmts: tuple[ir.Stmt, ...] = (*shared, *top, *stage_stmts, *body)
        if self.same:
            for _, head in reversed(self.logical.walks):
                stmts = (replace(head, body=stmts),)
        kernel = self.logical.kernel.with_body(tuple(stmts))
        if not self.same:
            # The launcher fixes the block, so the compiler may keep to the registers that such a block can have; a
            # bound of the user's own was about another block.
            kernel = replace(kernel, launch_bounds=(self.schedule.threads, self.schedule.min_blocks))
        return Lowered(kernel, self.same, sum(_rounded(c.bytes) for c in self.codes) if self.dynamic else 0)

    def _dynamic_shared(self) -> list[ir.Stmt]:
        """One block of dynamic shared memory, cut into the stages' arrays."""
        pool = self.names.fresh("shared_pool")
        out: list[ir.Stmt] = [ir.Decl(ir.CType("char"), pool, dims=(None,), space="extern shared", align=16)]
        at = 0
        for c in self.codes:
            pointer = replace(c.plan.element, pointer=1)
            out.append(ir.Decl(pointer, c.name, init=ir.Cast(pointer, ir.Bin("+", ir.Var(pool), ir.IntLit(at))),
                               comment=declaration(c).comment))
            at += _rounded(c.bytes)
        return out

    def _thread_id(self) -> ir.Stmt:
        """Linear id of the thread in its block."""
        x, y, z = self.schedule.block
        tid: ir.Expr = ir.Cast(ir.INT, ir.Builtin("threadIdx.x"))
        if y > 1:
            tid = ir.Bin("+", tid, ir.Bin("*", ir.Cast(ir.INT, ir.Builtin("threadIdx.y")), ir.IntLit(x)))
        if z > 1:
            tid = ir.Bin("+", tid, ir.Bin("*", ir.Cast(ir.INT, ir.Builtin("threadIdx.z")), ir.IntLit(x * y)))
        return ir.Decl(ir.CType("int", const=True), self.tid, init=tid)

    def _coordinates(self) -> list[ir.Stmt]:
        """The user's own coordinate variables, where an axis has one item a thread."""
        out: list[ir.Stmt] = []
        walked = {head.var for _, head in self.logical.walks} if self.same else set()
        for name, (axis, t) in self.logical.coordinates.items():
            if axis in self.items or name in walked:
                continue
            value: ir.Expr = self.axes[axis].coordinate(None) if self.mapped else ir.Coord(axis)
            out.append(ir.Decl(replace(t, const=True), name, init=value))
        return out

    # ------------------------------------------------------------------------------------- structure
    def _block(self, stmts: tuple[ir.Stmt, ...], ctx: Context) -> tuple[ir.Stmt, ...]:
        out: list[ir.Stmt] = []
        run: list[ir.Stmt] = []

        def flush() -> None:
            if run:
                out.extend(self.leaves.write(tuple(run), ctx, self._plain))
                run.clear()

        for s in stmts:
            structural = self._structural(s, bool(ctx.guards))
            if not structural:
                run.append(s)
                continue
            flush()
            match s:
                case ir.For():
                    out.extend(self._for(s, ctx))
                case ir.Block(body=body):
                    out.extend(self._block(body, ctx))
                case ir.If(cond=c, then=then, other=other):
                    if self._sink(s):
                        out.extend(self._block(then, self._sunk(s, ctx)))
                    else:
                        cond = self.leaves.expr(c, {}, ctx)
                        out.append(ir.If(cond, self._block(then, ctx), self._block(other, ctx), s.loc))
        flush()
        return tuple(out)

    def _structural(self, s: ir.Stmt, sunk: bool) -> bool:
        """``sunk``: masked points come here too."""
        match s:
            case ir.For():
                return _loop_is_structural(self.logical, self.deps, s, sunk)
            case ir.Block(body=body):
                return any(self._structural(b, sunk) for b in body)
            case ir.If(then=then, other=other):
                return self._sink(s) or (_condition_is_structural(self.logical, self.deps, s, sunk) and any(
                    self._structural(b, sunk) for b in (*then, *other)))
        return False

    def _sink(self, s: ir.If) -> bool:
        """A guard goes to the leaves when a loop inside must be reached by all threads, or jammed over items."""
        if s.other or not all(_pure_guard(self.logical, c) for c in conjuncts(s.cond)):
            return False
        scopes = {scope_loop(p.stage.scope) for p in self.plans if p.stage.scope}
        loops = [n for n in walk(s.then) if isinstance(n, ir.For)]
        if any(n.label in scopes for n in loops) and not uniform(self.logical, s.cond):
            return True
        if self.items and {root(n.target) for n in walk(s.then) if isinstance(n, ir.Assign)} & set(
                self.schedule.loads_first):
            return True
        return bool(self.deps.expr(s.cond)) and any(self._structural(b, True) for b in s.then)

    def _sunk_loads(self, leaves: list[tuple[ir.Stmt, Context]]
                    ) -> Iterator[tuple[ir.Index, tuple[ir.Expr, ...], tuple[Poly, ...]]]:
        """Each array load under sunk guards, with those guards and the facts of the loops around it."""
        for s, ctx in leaves:
            if ctx.guards:
                for n in walk(s):
                    if isinstance(n, ir.Index) and isinstance(n.base, ir.Var) and n.base.name in self.logical.arrays:
                        yield n, ctx.guards, ctx.facts

    # ----------------------------------------------------------------------------------------- loops
    def _for(self, s: ir.For, ctx: Context) -> tuple[ir.Stmt, ...]:
        tile = self.schedule.tile_of(s.label)
        if tile is not None and tile.loops[0] == s.label:
            return self._tiled(s, tile, ctx)
        facts = ctx.facts + loop_facts(s, ctx.facts, self.logical.resolve, self.logical.types)
        body = self._block(s.body, replace(ctx, facts=facts, inside=(*ctx.inside, s.label)))
        lo, hi, step = (self._bound(e, ctx) for e in (s.lo, s.hi, s.step))
        loop = replace(s, body=body, lo=lo, hi=hi, step=step)
        return self._unrolled(loop, s.label)

    def _bound(self, e: ir.Expr, ctx: Context) -> ir.Expr:
        out: ir.Expr = self.leaves.expr(e, {}, ctx)
        return out

    def _unrolled(self, loop: ir.For, label: str) -> tuple[ir.Stmt, ...]:
        u = self.schedule.unroll_of(label)
        if u is None:
            return (loop,)
        return unroll_loop(loop, u, self.names, loads_first=label in self.schedule.loads_first,
                           arrays=self.logical.arrays, types=self.logical.types)

    def _tiled(self, s: ir.For, tile: Tile, ctx: Context) -> tuple[ir.Stmt, ...]:
        nest = [s]
        while len(nest) < len(tile.loops):
            nest.append(next(b for b in nest[-1].body if isinstance(b, ir.For)))
        inner_stmts = nest[-1].body
        starts, offsets = dict(ctx.starts or {}), dict(ctx.locals or {})
        outer_names = [self.names.fresh(f"{n.var}_o") for n in nest]
        inner_names = [self.names.fresh(f"{n.var}_i") for n in nest]
        facts = ctx.facts
        for n, o, i in zip(nest, outer_names, inner_names, strict=True):
            facts = facts + loop_facts(n, facts, self.logical.resolve, self.logical.types)
            starts[n.label], offsets[n.label] = ir.Var(o), ir.Var(i)
        here = [c for c in self.codes if c.plan.stage.scope == tile.loops[-1] + ".o"]
        inner_ctx = replace(ctx, staged=ctx.staged + tuple(here), starts=starts, locals=offsets, facts=facts,
                            inside=ctx.inside + tile.loops)
        dropped = [self._tail_dropped(n, size, here, inner_stmts, ctx)
                   for n, size in zip(nest, tile.sizes, strict=True)]
        body = self._block(inner_stmts, inner_ctx)
        parts = list(zip(nest, inner_names, outer_names, tile.sizes, dropped, strict=True))
        for n, i, o, size, drop in reversed(parts):
            t = n.type or ir.INT
            inner = ir.For(n.label, i, t, ir.IntLit(0), "<", ir.IntLit(size), ir.IntLit(1), body, n.unroll, loc=n.loc)
            if not drop:
                left: ir.Expr = ir.Bin("-", self._bound(n.hi, ctx), ir.Var(o))
                if n.cmp == "<=":
                    left = add(left, ir.IntLit(1))
                inner = replace(inner, hi=ir.Ternary(ir.Bin("<", left, ir.IntLit(size)), left, ir.IntLit(size)))
            body = self._unrolled(inner, n.label)
        depth = self.schedule.depth_of(tile.loops[-1] + ".o") if here else 1
        if depth > 1:
            return self._pipelined(s, tile, here, body, inner_ctx, ctx)
        if here:
            loads: list[ir.Stmt] = []
            for c in here:
                loads += self._load(c, inner_ctx)
            body = (*loads, ir.Barrier(), *body, ir.Barrier())
        for n, o, size in reversed(list(zip(nest, outer_names, tile.sizes, strict=True))):
            lo, step = self._dealt(n, size, ctx)
            outer = ir.For(n.label + ".o", o, n.type or ir.INT, lo, n.cmp, self._bound(n.hi, ctx),
                           ir.IntLit(step), body, loc=n.loc, comment=f"TileLoops: {n.var} in steps of {size}")
            u = self.schedule.unroll_of(n.label + ".o")
            body = (replace(outer, unroll=u.factor) if u is not None else outer,)
        return body

    def _pipelined(self, n: ir.For, tile: Tile, here: list[StageCode], body: tuple[ir.Stmt, ...], inner: Context,
                   outer: Context) -> tuple[ir.Stmt, ...]:
        """Tiles are copied ``depth - 1`` ahead of their use. One barrier a tile suffices: the buffer that is filled is
        the one that all threads had left before the barrier."""
        label, size, depth = tile.loops[0], tile.sizes[0], here[0].depth
        slot = self.slots[label]
        start = (inner.starts or {})[label]
        assert isinstance(start, ir.Var)
        lo, apart = self._dealt(n, size, outer)
        ahead = Poly.sym(n.var) - (from_expr(n.lo, self.logical.resolve) or Poly.sym(n.var))

        def fill(first: ir.Expr, buffer: ir.Expr) -> tuple[ir.Stmt, ...]:
            ctx = replace(inner, starts={**(inner.starts or {}), label: first}, facts=(*outer.facts, ahead))
            out: list[ir.Stmt] = []
            for c in here:
                out += self._load(c, ctx, buffer)
            return (*out, ir.AsyncCommit())

        stmts: list[ir.Stmt] = []
        for i in range(depth - 1):
            stmts += fill(add(lo, ir.IntLit(i * apart)), ir.IntLit(i))
        stmts.append(ir.Decl(ir.INT, slot, init=ir.IntLit(0)))
        # The buffer after the current one's predecessor: (slot + depth - 1) % depth.
        target = ir.Ternary(ir.Bin("==", ir.Var(slot), ir.IntLit(0)), ir.IntLit(depth - 1),
                            ir.Bin("-", ir.Var(slot), ir.IntLit(1)))
        filled = self.names.fresh(f"{n.var}_fill")
        step = ir.Assign(ir.Var(slot), "=", ir.Ternary(ir.Bin("==", ir.Var(slot), ir.IntLit(depth - 1)), ir.IntLit(0),
                                                       ir.Bin("+", ir.Var(slot), ir.IntLit(1))))
        loop_body = (ir.AsyncWait(depth - 2), ir.Barrier(), ir.Decl(ir.CType("int", const=True), filled, init=target),
                     *fill(add(start, ir.IntLit((depth - 1) * apart)), ir.Var(filled)), *body, step)
        stmts.append(ir.For(label + ".o", start.name, n.type or ir.INT, lo, n.cmp, self._bound(n.hi, outer),
                            ir.IntLit(apart), loop_body, loc=n.loc,
                            comment=f"PipelineStages: tiles of {size} in {depth} buffers, copied ahead"))
        # Nothing may be under way, and no thread still reading, when the buffers are filled again.
        return (*stmts, ir.AsyncWait(0), ir.Barrier())

    def _dealt(self, n: ir.For, size: int, ctx: Context) -> tuple[ir.Expr, int]:
        """First value and step of a tiled loop: a layer of a split reduction takes every ``parts``-th tile."""
        lo, split = self._bound(n.lo, ctx), self.schedule.split
        if split is None or split.label != n.label or not self.layer:
            return lo, size
        self.dealt = True
        return add(lo, ir.Bin("*", ir.Var(self.layer), ir.IntLit(size))), size * split.parts

    def _tail_dropped(self, n: ir.For, size: int, here: list[StageCode], body: tuple[ir.Stmt, ...],
                      ctx: Context) -> bool:
        """Iterations past the loop's end may run when they add zero: a constant trip count that the tile divides, or
        sums whose every factor is a staged element that is zero there (one factor alone gives 0 * Inf)."""
        lo, hi = from_expr(n.lo, self.logical.resolve), from_expr(n.hi, self.logical.resolve)
        if lo is None or hi is None:
            return False
        span = hi - lo if n.cmp == "<" else hi - lo + Poly.const(1)
        if span.is_constant and span.constant % size == 0:
            return True
        zero: set[str] = set()  # scalars of this iteration that are zero past the end
        for s in body:
            match s:
                case ir.Decl(init=ir.Index() as load, name=name) if not s.dims and self._zero_past(load, n, here):
                    zero.add(name)
                case ir.Assign(target=target, op="+=", value=v) if self._private(target) and self._is_zero(
                        v, n, here, zero):
                    continue
                case ir.Assign(target=t2, op="=", value=ir.Bin(op="+", left=left, right=v)) if left == t2 and \
                        self._private(t2) and self._is_zero(v, n, here, zero):
                    continue
                case ir.Assign(target=t3, op="=", value=ir.Call(func=f, args=(a, b, c))) if f in ("fmaf", "fma") and \
                        c == t3 and self._private(t3) and self._is_zero(ir.Bin("*", a, b), n, here, zero):
                    continue
                case ir.Comment():
                    continue
                case _:
                    return False
        return True

    def _private(self, target: ir.Expr) -> bool:
        return isinstance(target, ir.Var) and target.name not in self.logical.arrays and takes_zeros(
            self.logical, target.name)

    def _is_zero(self, v: ir.Expr, n: ir.For, here: list[StageCode], zero: set[str]) -> bool:
        match v:
            case ir.Bin(op="*", left=a, right=b):
                return self._is_zero(a, n, here, zero) and self._is_zero(b, n, here, zero)
            case ir.Bin(op="+" | "-", left=a, right=b):
                return self._is_zero(a, n, here, zero) and self._is_zero(b, n, here, zero)
            case ir.Index():
                return self._zero_past(v, n, here)
            case ir.Var(name=name):
                return name in zero
        return False

    def _zero_past(self, load: ir.Index, n: ir.For, here: list[StageCode]) -> bool:
        """The staged copy holds zero wherever the loop's variable is at or past its end."""
        found = self.leaves.staged(load, tuple(here))
        if found is None:
            return False
        _, access = found
        end = from_expr(n.hi, self.logical.resolve)
        if end is None:
            return False
        past = Poly.sym(n.var) - end - Poly.const(0 if n.cmp == "<" else 1)
        from genome.prove import implies

        others = list(self.logical.facts)
        for name in access.loops:
            if name != n.label:
                others += loop_facts(self.logical.loops[name].node, tuple(others), self.logical.resolve,
                                     self.logical.types)
        return any(implies([*others, past], sub - extent)
                   for sub, extent in zip(access.dims, access.extents, strict=True))

    # ---------------------------------------------------------------------------------------- stages
    def _load(self, code: StageCode, ctx: Context, slot: ir.Expr | None = None) -> list[ir.Stmt]:
        starts: dict[str, ir.Expr] = {}
        for dim in code.plan.dims:
            for symbol, _ in dim.spans:
                if symbol.startswith("@"):
                    continue
                inside = (ctx.starts or {}).get(symbol)
                starts[symbol] = inside if inside is not None else self._bound(self.logical.loops[symbol].node.lo, ctx)
        x, y, z = self.schedule.block
        loader = Loader(self.logical, self.axes, self.names, ir.Var(self.tid), x * y * z)
        return loader.load(code, starts, ctx.facts, lambda e: self._bound(e, ctx), slot)

    # ---------------------------------------------------------------------------------------- leaves
    def _plain(self, stmts: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        """Loops inside a leaf, after its items are bound: unrolling still applies (tiling is structural)."""
        out: list[ir.Stmt] = []
        for s in stmts:
            match s:
                case ir.For(body=body):
                    out.extend(self._unrolled(replace(s, body=self._plain(body)), s.label))
                case ir.Loop(body=body) | ir.Block(body=body):
                    out.append(replace(s, body=self._plain(body)))
                case ir.If(then=then, other=other):
                    out.append(replace(s, then=self._plain(then), other=self._plain(other)))
                case _:
                    out.append(s)
        return tuple(out)


def _rounded(size: int) -> int:
    return -(-size // 16) * 16


def _pure_guard(logical: LogicalKernel, c: ir.Expr) -> bool:
    from genome.footprint import sinkable

    return sinkable(logical, c)


def _evaluable(e: object, sunk: bool) -> bool:
    """Whether it may be evaluated once a thread, outside the loops over its items: without effects, and, where masked
    points come too, without loads that could be out of bounds. Otherwise it stays a leaf, under its guard."""
    return not any(isinstance(n, (ir.OpaqueExpr, ir.AssignExpr, ir.IncDec)) or (
        isinstance(n, ir.Un) and n.op in ("*", "&")) or (sunk and isinstance(n, ir.Index)) for n in walk(e))


def _loop_is_structural(logical: LogicalKernel, deps: Dependences, s: ir.For, sunk: bool) -> bool:
    """Written once around the items: bounds equal for all and safe to evaluate anywhere, no iteration skipped."""
    bounds = (s.lo, s.hi, s.step)
    return s.type is not None and not deps.expr(bounds) and _evaluable(bounds, sunk) and not any(
        isinstance(n, (ir.Continue, ir.Return)) for n in walk(s.body)) and (not sunk or bounded_trips(logical, s))


def _condition_is_structural(logical: LogicalKernel, deps: Dependences, s: ir.If, sunk: bool) -> bool:
    return not deps.expr(s.cond) and _evaluable(s.cond, sunk) and (not sunk or speculable(logical, s.cond))


def tiled_loop_is_structural(logical: LogicalKernel, schedule: Schedule, label: str) -> bool:
    """Whether a tile of this loop can be written: its bounds do not differ between a thread's items, no statement
    skips iterations, and every enclosing statement is structural too."""
    items: Axes = frozenset(a for a, m in schedule.axes if m.items > 1)
    deps = private_dependences(logical, items, {})

    def find(stmts: tuple[ir.Stmt, ...], sunk: bool) -> bool | None:
        for s in stmts:
            inside = [n for n in walk(s) if isinstance(n, ir.For) and n.label == label]
            if not inside:
                continue
            if isinstance(s, ir.For):
                ok = _loop_is_structural(logical, deps, s, sunk)
                return ok if s.label == label or not ok else find(s.body, sunk)
            if isinstance(s, ir.Block):
                return find(s.body, sunk)
            if isinstance(s, ir.If):
                sinks = bool(deps.expr(s.cond)) and not s.other and all(
                    _pure_guard(logical, c) for c in conjuncts(s.cond))
                if not sinks and not _condition_is_structural(logical, deps, s, sunk):
                    return False
                branch = s.then if any(n is inside[0] for n in walk(s.then)) else s.other
                return find(branch, sunk or sinks)
            return False
        return None

    return bool(find(logical.body, False))


__all__ = ["Context", "Lowered", "lower", "tiled_loop_is_structural"]
