"""Leaves: straight-line code run once per item, with loads cached in registers and guards put where they belong.

A sunk guard goes around a leaf, unless the leaf only sets a private variable whose every reader is under the same
guard: then the guard moves to the *loads* (``in bounds ? load : 0``), each with the conjuncts that its own subscript
needs, and the arithmetic is left free of branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from genome import ir
from genome.facts import condition_facts
from genome.footprint import signature
from genome.initialiser import elements
from genome.logical import Access, LogicalKernel
from genome.lower.deps import NONE, Axes, Dependences, assigned
from genome.lower.mapping import AxisCode
from genome.lower.masked import assignment_is_speculable, loads_have_zeros, speculable, zero_of
from genome.lower.names import Names
from genome.lower.stages import StageCode, local_axes, read
from genome.poly import INTEGER_BASES, Poly, from_expr
from genome.prove import implies
from genome.schedule import Schedule
from genome.walk import NODES, children, root, walk

if TYPE_CHECKING:
    from genome.lower.lowering import Context

FLOATING = {"float": 32, "double": 64}
Items = Mapping[str, ir.Expr]  # axis → item index
Plain = Callable[[tuple[ir.Stmt, ...]], tuple[ir.Stmt, ...]]


@dataclass(frozen=True)
class _Cached:
    """A load kept in a register array over the axes that it depends on."""

    load: ir.Index
    name: str
    axes: tuple[str, ...]


class LeafWriter:
    def __init__(self, logical: LogicalKernel, schedule: Schedule, axes: Mapping[str, AxisCode], deps: Dependences,
                 names: Names) -> None:
        self.logical, self.schedule, self.axes, self.deps, self.names = logical, schedule, axes, deps, names
        self.uses: dict[str, int] = {}
        for n in walk(logical.body):
            if isinstance(n, ir.Var):
                self.uses[n.name] = self.uses.get(n.name, 0) + 1
            elif isinstance(n, (ir.Opaque, ir.OpaqueExpr)):
                for v in n.reads | n.writes:
                    self.uses[v] = self.uses.get(v, 0) + 1
        self.single: set[str] = set()  # variables that live inside one run and are not expanded

    # -------------------------------------------------------------------------------- expressions
    def axes_of(self, name: str) -> tuple[str, ...]:
        """Axes over which a private variable is expanded, outermost (slowest) first."""
        if name in self.single:
            return ()
        d = self.deps.of.get(name, NONE)
        return tuple(a for a in reversed(self.schedule.order) if a in d)

    def expr(self, e: Any, items: Items, ctx: Context, cached: Mapping[ir.Index, _Cached] | None = None,
             guarded: bool = False) -> Any:
        """An expression (or subtree) of the logical body as the emitted kernel has it. ``guarded``: global loads get
        the guard that they need."""
        def go(n: Any) -> Any:
            return self.expr(n, items, ctx, cached, guarded)

        match e:
            case ir.Coord(axis=a):
                return ir.Cast(ir.UINT, self._coordinate(a, items)) if self.axes else e
            case ir.Var(name=n):
                return self._variable(n, e, items, ctx)
            case ir.Index() if cached and e in cached:
                c = cached[e]
                return ir.Index(ir.Var(c.name), tuple(items[a] for a in c.axes)) if c.axes else ir.Var(c.name)
            case ir.Index(base=ir.Var(name=n), subs=subs) if n in self.logical.arrays:
                found = self.staged(e, ctx.staged)
                if found is not None:
                    code, access = found
                    return read(code, access, local_axes(self.axes, items), self._loop_locals(code, ctx))
                new = ir.Index(e.base, tuple(go(s) for s in subs), e.loc)
                if guarded and ctx.guards:
                    cond: ir.Expr | None = None
                    for g in self.load_guard(e, ctx.guards, ctx.facts):
                        g2 = self.expr(g, items, ctx)
                        cond = g2 if cond is None else ir.Bin("&&", cond, g2)
                    if cond is not None:
                        zero = zero_of(self.logical.arrays[n].element)
                        assert zero is not None  # such loads stay under the guard itself
                        return ir.Ternary(cond, new, zero)
                return new
            case ir.For(label=lb, var=v, type=None) if self.axes_of(v):
                # Its variable is declared outside and has a copy per item: no plain name to count in.
                return go(ir.Loop("for", lb, (ir.Assign(ir.Var(v), "=", e.lo),), ir.Bin(e.cmp, ir.Var(v), e.hi),
                                  ir.AssignExpr(ir.Var(v), "+=", e.step), e.body, e.unroll, e.loc))
            case ir.Index(base=ir.Var(name=n), subs=subs) if self.axes_of(n):
                return ir.Index(ir.Var(n), tuple(items[a] for a in self.axes_of(n)) + tuple(go(s) for s in subs), e.loc)
        changes: dict[str, Any] = {}
        for f in fields(e):
            value = getattr(e, f.name)
            if isinstance(value, NODES):
                changes[f.name] = go(value)
            elif isinstance(value, tuple) and any(isinstance(v, NODES) for v in value):
                changes[f.name] = tuple(go(v) if isinstance(v, NODES) else v for v in value)
        return replace(e, **changes) if changes else e

    def _coordinate(self, axis: str, items: Items) -> ir.Expr:
        code = self.axes[axis]
        return code.coordinate(items.get(axis) if code.map.items > 1 else None)

    def _variable(self, name: str, e: ir.Var, items: Items, ctx: Context) -> ir.Expr:
        if name in self.logical.coordinates:
            axis, t = self.logical.coordinates[name]
            if axis not in self.deps.items:
                return e  # declared at the top under the user's own name
            c = self._coordinate(axis, items)
            return c if t.base == "int" else ir.Cast(t, c)
        start = (ctx.starts or {}).get(name)
        if start is not None:
            return ir.Bin("+", start, (ctx.locals or {})[name])
        axes = self.axes_of(name)
        return ir.Index(e, tuple(items[a] for a in axes)) if axes else e

    def _loop_locals(self, code: StageCode, ctx: Context) -> dict[str, ir.Expr]:
        out: dict[str, ir.Expr] = {}
        for dim in code.plan.dims:
            for symbol, _ in dim.spans:
                if symbol.startswith("@"):
                    continue
                tiled = (ctx.locals or {}).get(symbol)
                if tiled is not None and code.plan.stage.scope and symbol in self._partial(code):
                    out[symbol] = tiled
                    continue
                value = self._variable(symbol, ir.Var(symbol), {}, ctx)
                lo = self.logical.loops[symbol].node.lo
                zero = isinstance(lo, ir.IntLit) and lo.value == 0
                out[symbol] = value if zero else ir.Bin("-", value, self.expr(lo, {}, ctx))
        return out

    def _partial(self, code: StageCode) -> tuple[str, ...]:
        from genome.footprint import scope_loop

        tile = self.schedule.tile_of(scope_loop(code.plan.stage.scope))
        return tile.loops if tile is not None else ()

    def staged(self, e: ir.Index, codes: Iterable[StageCode]) -> tuple[StageCode, Access] | None:
        """The stage that holds a load's element, with the access that it is."""
        if not isinstance(e.base, ir.Var) or len(e.subs) != 1:
            return None
        poly = from_expr(e.subs[0], self.logical.resolve)
        if poly is None:
            return None
        access = self.logical.delinearised.get((e.base.name, poly))
        if access is None:
            return None
        for code in codes:
            first = code.plan.group.accesses[0]
            if code.plan.group.array == access.array and access.extents == first.extents and signature(
                    access) == signature(first) and any(access.dims == a.dims for a in code.plan.group.accesses):
                return code, access
        return None

    # ------------------------------------------------------------------------------------- guards
    def load_guard(self, e: ir.Index, guards: tuple[ir.Expr, ...], facts: tuple[Poly, ...]) -> tuple[ir.Expr, ...]:
        """The conjuncts that this load needs: those about its own subscript, when they prove it in bounds; else all."""
        access = None
        if len(e.subs) == 1 and isinstance(e.base, ir.Var):
            poly = from_expr(e.subs[0], self.logical.resolve)
            access = None if poly is None else self.logical.delinearised.get((e.base.name, poly))
        if access is None or not access.dims:
            return guards
        symbols = frozenset[str]().union(*(d.symbols for d in access.dims)) & self.logical.axis_symbols
        chosen: list[ir.Expr] = []
        known = facts
        for g in guards:
            more = condition_facts(g, known, self.logical.resolve, self.logical.types)
            about = frozenset[str]().union(*(f.symbols for f in more)) & self.logical.axis_symbols
            if about and about <= symbols:
                chosen.append(g)
                known = known + more
        one = Poly.const(1)
        if all(implies(known, d) and implies(known, x - d - one)
               for d, x in zip(access.dims, access.extents, strict=True)):
            return tuple(chosen)
        return guards

    def load_axes(self, loads: Iterable[tuple[ir.Index, tuple[ir.Expr, ...], tuple[Poly, ...]]]
                  ) -> dict[ir.Index, Axes]:
        """For loads under sunk guards: the axes that their guards add."""
        out: dict[ir.Index, Axes] = {}
        for e, guards, facts in loads:
            out[e] = out.get(e, NONE).union(*(self.deps.expr(g) for g in self.load_guard(e, guards, facts)))
        return {e: a for e, a in out.items() if a}

    def _droppable(self, s: ir.Stmt, ctx: Context) -> bool:
        """Whether a leaf may run for masked points: it sets a private variable of the region, its loads can be
        guarded, and nothing in it traps."""
        if isinstance(s, ir.Decl):
            name, value = s.name, s.init
        elif isinstance(s, ir.Assign):
            name, value = root(s.target) or "", s.value
            if not isinstance(s.target, ir.Var):
                return False
        else:
            return False
        if name not in ctx.region or (value is not None and not loads_have_zeros(self.logical, value)):
            return False
        if isinstance(s, ir.Assign):
            return assignment_is_speculable(self.logical, s)
        return value is None or speculable(self.logical, value)

    # --------------------------------------------------------------------------------------- runs
    def write(self, run: tuple[ir.Stmt, ...], ctx: Context, plain: Plain) -> list[ir.Stmt]:
        """A run of leaves: split by the axes that they need, each part under its own item loops."""
        out: list[ir.Stmt] = []
        part: list[ir.Stmt] = []
        axes: Axes | None = None
        for s in run:
            d = self.needs(s, ctx)
            if part and d != axes:
                out.extend(self._part(tuple(part), axes or NONE, ctx, plain))
                part = []
            axes = d
            part.append(s)
        if part:
            out.extend(self._part(tuple(part), axes or NONE, ctx, plain))
        return out

    def needs(self, s: ir.Stmt, ctx: Context) -> Axes:
        """The coarsened axes over which a leaf must be repeated."""
        match s:
            case ir.Comment():
                return NONE
            case ir.Decl(name=n):
                own = self.deps.of.get(n, NONE) | self._of_assigned(s)
                return own if not ctx.guards or self._droppable(s, ctx) else own | self._guard_axes(ctx)
            case ir.Assign(target=t) if (root(t) or "") not in self.logical.arrays and root(t) is not None:
                own = self.deps.of.get(str(root(t)), NONE) | self._of_assigned(s)
                return own if not ctx.guards or self._droppable(s, ctx) else own | self._guard_axes(ctx)
        return self.deps.items

    def _of_assigned(self, s: ir.Stmt) -> Axes:
        """Axes of the private variables that a statement writes, side effects included."""
        return NONE.union(*(self.deps.of.get(v, NONE) for v in assigned(s)))

    def missing(self, s: ir.Stmt, ctx: Context) -> dict[str, Axes]:
        """Private variables that a leaf writes more often than they have copies: repeated over an axis on which it
        does not depend, ``n++`` would count that axis' items. They need a copy per item."""
        axes = self.needs(s, ctx)
        inside = {n.name for n in walk(s) if isinstance(n, ir.Decl) and n is not s} | {
            n.var for n in walk(s) if isinstance(n, ir.For) and n.type is not None}
        names = assigned(s) | ({s.name} if isinstance(s, ir.Decl) else set())
        return {v: axes for v in names - inside - set(self.logical.arrays)
                if v and axes - self.deps.of.get(v, NONE)}

    def _guard_axes(self, ctx: Context) -> Axes:
        return NONE.union(*(self.deps.expr(g) for g in ctx.guards))

    def _part(self, part: tuple[ir.Stmt, ...], axes: Axes, ctx: Context, plain: Plain) -> list[ir.Stmt]:
        order = tuple(a for a in reversed(self.schedule.order) if a in axes)
        items: dict[str, ir.Expr] = {a: ir.Var(self.axes[a].item) for a in order}
        declarations: list[ir.Stmt] = []
        inside: list[ir.Stmt] = []
        local = self._local_names(part) if order else set()
        for s in part:
            if not isinstance(s, ir.Decl):  # what a statement declares inside lives in one of its runs
                local |= {n.name for n in walk(s) if isinstance(n, ir.Decl)} | {
                    n.var for n in walk(s) if isinstance(n, ir.For) and n.type is not None}
        self.single |= local
        cached = self._cache_loads(part, order, ctx, local)
        pre = self._write_cached(cached, ctx)
        lookup = {c.load: c for c in cached}
        for s in part:
            free = not ctx.guards or self._droppable(s, ctx)
            for one in self._pieces(s, declarations, bool(order), free, bool(ctx.guards)):
                new = self.expr(one, items, ctx, lookup, guarded=free)
                if not free:
                    new = self._guarded(new, ctx, items, inside)
                    if new is None:
                        continue
                inside.append(new)
        body = plain(tuple(inside))
        for a in reversed(order):
            if body:
                body = (ir.For(f"{self.axes[a].item}", self.axes[a].item, ir.INT, ir.IntLit(0), "<",
                               ir.IntLit(self.axes[a].map.items), ir.IntLit(1), body, unroll=0),)
        return [*declarations, *pre, *body]

    def _pieces(self, s: ir.Stmt, declarations: list[ir.Stmt], looped: bool, free: bool, masked: bool) -> list[ir.Stmt]:
        """Moves an expanded declaration in front of the item loops; what is left is its initialisation. A name that
        lives inside this part is declared in place. What masked points may read before they would have set it is
        zero: no value is no value to compute with."""
        if not isinstance(s, ir.Decl):
            return [s]
        moved = looped and s.name not in self.single
        zero: ir.Expr | None = None
        if masked and (s.init is None or not free) and not s.type.pointer and s.type.base in INTEGER_BASES | FLOATING:
            zero = ir.InitList((ir.IntLit(0),)) if s.dims else ir.IntLit(0)
        if not moved and s.init is not None and free:
            return [s]
        bare = replace(s, init=zero, type=replace(s.type, const=False))
        first: list[ir.Stmt] = [] if moved else [bare]
        if moved:
            dims = tuple(ir.IntLit(self.axes[a].map.items) for a in self.axes_of(s.name)) + s.dims
            if dims and zero is not None:
                bare = replace(bare, init=ir.InitList((ir.IntLit(0),)))
            declarations.append(replace(bare, dims=dims))
        if s.init is None:
            return first
        if not s.dims:
            return [*first, ir.Assign(ir.Var(s.name), "=", s.init, s.loc)]
        values = elements(s)
        assert values is not None  # genome.build blocks what it cannot take apart
        return first + [ir.Assign(ir.Index(ir.Var(s.name), tuple(map(ir.IntLit, at))), "=", v, s.loc)
                        for at, v in values]

    def _local_names(self, part: tuple[ir.Stmt, ...]) -> set[str]:
        counts: dict[str, int] = {}
        for n in walk(part):
            if isinstance(n, ir.Var):
                counts[n.name] = counts.get(n.name, 0) + 1
        return {n.name for n in part if isinstance(n, ir.Decl) and self.uses.get(n.name, 0) == counts.get(n.name, 0)}

    def _guarded(self, new: ir.Stmt, ctx: Context, items: Items, inside: list[ir.Stmt]) -> ir.Stmt | None:
        cond: ir.Expr | None = None
        for g in ctx.guards:
            g2 = self.expr(g, items, ctx)
            cond = g2 if cond is None else ir.Bin("&&", cond, g2)
        assert cond is not None
        last = inside[-1] if inside else None
        if isinstance(new, ir.Decl):
            # A declaration must stay visible to what follows it; what sets it is a statement of its own by now.
            inside.append(new)
            return None
        if isinstance(last, ir.If) and last.cond == cond and not last.other:
            inside[-1] = replace(last, then=(*last.then, new))
            return None
        return ir.If(cond, (new,), ())

    # ------------------------------------------------------------------------------ register caching
    def _cache_loads(self, part: tuple[ir.Stmt, ...], order: tuple[str, ...], ctx: Context,
                     local: set[str]) -> list[_Cached]:
        """Loads that fewer axes than the part's decide are read once per value; all loads where the schedule wants
        loads first (they then stand before every store of the part, which the independence of points allows)."""
        if not order:
            return []
        changed = {root(n.target) or "" for n in walk(part) if isinstance(n, (ir.Assign, ir.AssignExpr, ir.IncDec))}
        changed |= {n.name for n in walk(part) if isinstance(n, ir.Decl)} | local
        first = bool({root(n.target) for n in part if isinstance(n, ir.Assign)} & set(self.schedule.loads_first))
        found: dict[ir.Index, _Cached] = {}

        def visit(e: Any) -> None:
            if isinstance(e, ir.Ternary) or (isinstance(e, ir.Bin) and e.op in ("&&", "||")):
                visit(e.cond if isinstance(e, ir.Ternary) else e.left)
                return
            if isinstance(e, ir.Index) and isinstance(e.base, ir.Var) and e.base.name in self.logical.arrays:
                for s in e.subs:
                    visit(s)
                if e in found or any(isinstance(n, ir.Var) and n.name in changed for n in walk(e)):
                    return
                axes = tuple(a for a in order if a in self.deps.expr(e))
                if (len(axes) < len(order) or first) and not self.logical.arrays[e.base.name].element.pointer and (
                        not ctx.guards or loads_have_zeros(self.logical, e)):
                    found[e] = _Cached(e, self.names.fresh(f"{e.base.name}_v"), axes)
                return
            for child in children(e):
                visit(child)

        for s in part:
            if ctx.guards and not self._droppable(s, ctx) and not self._speculative(s, ctx):
                continue
            if isinstance(s, (ir.Assign, ir.Decl)):
                value = s.value if isinstance(s, ir.Assign) else s.init
                if value is not None:
                    visit(value)
        return list(found.values())

    def _speculative(self, s: ir.Stmt, ctx: Context) -> bool:
        """A guarded store's loads may be cached too: each gets its own guard."""
        return isinstance(s, ir.Assign)

    def _write_cached(self, cached: list[_Cached], ctx: Context) -> list[ir.Stmt]:
        out: list[ir.Stmt] = []
        for c in cached:
            assert isinstance(c.load.base, ir.Var)
            element = self.logical.arrays[c.load.base.name].element
            items: dict[str, ir.Expr] = {a: ir.Var(self.axes[a].item) for a in c.axes}
            value = self.expr(c.load, items, ctx, guarded=True)
            if not c.axes:
                out.append(ir.Decl(replace(element, const=True), c.name, init=value))
                continue
            dims = tuple(ir.IntLit(self.axes[a].map.items) for a in c.axes)
            out.append(ir.Decl(replace(element, const=False), c.name, dims=dims))
            body: tuple[ir.Stmt, ...] = (ir.Assign(ir.Index(ir.Var(c.name), tuple(items.values())), "=", value),)
            for a in reversed(c.axes):
                body = (ir.For(self.axes[a].item, self.axes[a].item, ir.INT, ir.IntLit(0), "<",
                               ir.IntLit(self.axes[a].map.items), ir.IntLit(1), body, unroll=0),)
            out.extend(body)
        return out
