"""Grid-stride loops: a logical axis whose blocks are walked by a loop.

``for (i = <coordinate x>; i < n; i += blockDim.x * gridDim.x) S(i)`` runs ``S`` once for each ``i`` in ``[0, n)``,
whatever the grid: the coordinates of a launch are 0 to T - 1, the stride is T, and every number is one coordinate plus
a multiple of T. So ``i`` is a logical axis with the guard ``i < n``. That holds where ``i`` cannot overflow
(:func:`genome.build.build_logical` asks for ``n + T <= 2^31 - 1`` at every size), where nothing lives from one ``i`` to
the next, and where a thread does nothing else than to walk: what it computes before the loop must be the same for all
its numbers, and is computed for each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from genome import ir, walk
from genome.frontend.coords import AXES
from genome.frontend.effects import has_effects, written
from genome.frontend.types import width
from genome.normal.counting import continues
from genome.normal.guards import negation
from genome.normal.scalars import write_counts
from genome.normal.typing import declared_types, is_integer


@dataclass(frozen=True)
class Walked:
    """``kernel``: the same for one number along each walked axis. ``loops``: the loops' heads, outermost first, with
    ``lo`` the bare coordinate and an empty body."""

    kernel: ir.Kernel
    loops: tuple[tuple[str, ir.For], ...]  # axis, head


def walked(kernel: ir.Kernel, block: tuple[int, int, int]) -> Walked | None:
    """The grid-stride loops of a normalised kernel taken off, or None where it has none of this form. ``block`` is the
    launch's: its literal extents may stand in the stride."""
    body = kernel.body
    while body and isinstance(body[-1], ir.Return):
        body = body[:-1]
    found = _Search(kernel, block)
    inner = found.level(body)
    if inner is None or not found.loops:
        return None
    heads = tuple(ir.Decl(f.type or ir.INT, f.var, init=ir.Coord(axis), loc=f.loc) for axis, f in found.loops)
    return Walked(kernel.with_body((*heads, *inner)), tuple(found.loops))


class _Search:
    def __init__(self, kernel: ir.Kernel, block: tuple[int, int, int]) -> None:
        self.block = block
        self.params = {p.name for p in kernel.params}
        self.types = declared_types(kernel)
        self.counts = write_counts(kernel)
        self.names = [n.name for n in walk.walk(kernel.body) if isinstance(n, ir.Var)]
        self.opaque = {x for n in walk.walk(kernel.body) if isinstance(n, (ir.Opaque, ir.OpaqueExpr))
                       for x in n.reads | n.writes}
        self.coords = [n.axis for n in walk.walk(kernel.body) if isinstance(n, ir.Coord)]
        self.loops: list[tuple[str, ir.For]] = []
        self.scope: list[ir.Stmt] = []  # what is declared around the loop that is looked at
        self.origins: set[str] = set()  # declarations of coordinates that only start a walk

    def level(self, stmts: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...] | None:
        """What one number does of ``stmts``: declarations and then a grid-stride loop, or the innermost body; None
        where a loop is one, but what is around it does not fit."""
        if not stmts or not isinstance(stmts[-1], ir.For):
            return stmts
        loop, before = stmts[-1], stmts[:-1]
        start = self._start(loop, (*self.scope, *before))
        if start is None:
            return stmts
        axis, origin = start
        if not self._stands_alone(loop, axis, origin) or not all(self._repeatable(s) for s in before):
            return None
        self.scope += before
        if origin is not None:
            self.origins.add(origin.name)
        self.loops.append((axis, replace(loop, lo=ir.Coord(axis), body=())))
        once = _without_continue(loop.body, self.types)
        inner = None if once is None else self.level(once)
        if inner is None:
            return None
        before = tuple(s for s in before if not (isinstance(s, ir.Decl) and s.name in self.origins))
        return (*before, ir.If(ir.Bin(loop.cmp, ir.Var(loop.var), loop.hi), inner, (), loop.loc))

    def _start(self, loop: ir.For, before: tuple[ir.Stmt, ...]) -> tuple[str, ir.Decl | None] | None:
        """The axis that the loop walks, and the declaration that holds the coordinate it starts from."""
        origin: ir.Decl | None = None
        lo = _plain(loop.lo)
        if isinstance(lo, ir.Var):
            origin = next((s for s in before if isinstance(s, ir.Decl) and s.name == lo.name), None)
            if origin is None or origin.init is None or not _wide(origin.type) or origin.dims or origin.space:
                return None
            lo = _plain(origin.init)
        if not isinstance(lo, ir.Coord) or loop.cmp not in ("<", "<=") or loop.type is None or not _wide(loop.type):
            return None
        return (lo.axis, origin) if self._is_stride(loop.step, lo.axis) else None

    def _is_stride(self, e: ir.Expr, axis: str) -> bool:
        e = _plain(e)
        if not isinstance(e, ir.Bin) or e.op != "*":
            return False
        for a, b in ((_plain(e.left), _plain(e.right)), (_plain(e.right), _plain(e.left))):
            if b == ir.Builtin(f"gridDim.{axis}") and (a == ir.Builtin(f"blockDim.{axis}") or (
                    isinstance(a, ir.IntLit) and a.value == self.block[AXES.index(axis)])):
                return True
        return False

    def _stands_alone(self, loop: ir.For, axis: str, origin: ir.Decl | None) -> bool:
        """The coordinate is where the walk starts and nothing else, the bound is of parameters, and nothing lives from
        one number to the next: the body writes no variable from outside of it."""
        if self.coords.count(axis) != 1 or any(axis == a for a, _ in self.loops):
            return False
        if origin is not None and (self.names.count(origin.name) != 1 or self.counts[origin.name] != 1
                                   or origin.name in self.opaque):
            return False
        if not walk.variables(loop.hi) <= self.params or walk.variables(loop.step):
            return False
        own = {n.name for n in walk.walk(loop.body) if isinstance(n, ir.Decl) and not n.space} | {
            n.var for n in walk.walk(loop.body) if isinstance(n, ir.For) and n.type is not None}
        return not any(name in self.counts and name not in own for name in written(loop.body))

    def _repeatable(self, s: ir.Stmt) -> bool:
        """A declaration that has the same value however often it is made. (What it loads is written by no other
        number, or the independence of points refuses the kernel.)"""
        return isinstance(s, ir.Decl) and not s.dims and not s.space and s.init is not None and not s.type.volatile \
            and s.name not in self.opaque and self.counts[s.name] == 1 and not has_effects(s.init) \
            and not any(isinstance(n, (ir.OpaqueExpr, ir.InitList)) for n in walk.walk(s.init))


def _plain(e: ir.Expr) -> ir.Expr:
    """``e`` without casts to integers of 32 bits or more."""
    while isinstance(e, ir.Cast) and _wide(e.type):
        e = e.operand
    return e


def _wide(t: ir.CType) -> bool:
    return is_integer(t) and t.base != "bool" and width(t.base) >= 4


def _without_continue(body: tuple[ir.Stmt, ...], types: dict[str, ir.CType]) -> tuple[ir.Stmt, ...] | None:
    """``if (c) continue; rest`` as ``if (!c) { rest }``; None where a ``continue`` stands elsewhere."""
    for i, s in enumerate(body):
        if isinstance(s, ir.If) and not s.other and len(s.then) == 1 and isinstance(s.then[0], ir.Continue):
            rest = _without_continue(body[i + 1:], types)
            if rest is None or continues(body[:i]):
                return None
            return (*body[:i], ir.If(negation(s.cond, types), rest, (), s.loc)) if rest else body[:i]
    return None if continues(body) else body
