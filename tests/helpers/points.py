"""The elements that each access of a kernel touches: predicted from the access maps, and observed in a run.

Prediction: every point of the launch and every iteration of the loops around, filtered by the access's facts, through
its polynomial. It is *exact* when the facts are all conditions on the way; else it may only be too large.
Observation: the kernel with each subscript ``e`` replaced by ``(marks[site * size + e] = 1, e)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genome import ir
from genome.facts import condition_facts, conjuncts, negate
from genome.logical import Access, LogicalKernel
from genome.poly import Poly, coord_symbol, from_expr
from genome.walk import NODES, children, field_names, walk

MARKS = "evo_marks"
Columns = dict[str, NDArray[np.int64]]


@dataclass(frozen=True)
class Site:
    """Accesses that share one subscript in the text (an update reads and writes it)."""

    index: ir.Index
    accesses: tuple[Access, ...]

    @property
    def array(self) -> str:
        return self.accesses[0].array


def sites(logical: LogicalKernel) -> list[Site]:
    """Each subscript of an array parameter once, in order."""
    by: dict[int, list[Access]] = {}
    for a in logical.accesses:
        by.setdefault(id(a.index), []).append(a)
    return [Site(found[0].index, tuple(found)) for found in by.values()]


# ------------------------------------------------------------------------------------------------ prediction
@dataclass(frozen=True)
class Predicted:
    elements: frozenset[int]
    exact: bool


def predict(logical: LogicalKernel, site: Site, launched: Mapping[str, int], scalars: Mapping[str, Any]
            ) -> Predicted | None:
    """None where a subscript or a loop around it is not affine. ``launched``: threads of the grid along each axis."""
    found: set[int] = set()
    exact = True
    for a in site.accesses:
        rows = _points(logical, a, launched, scalars)
        if rows is None or a.poly is None:
            return None
        found |= set(np.unique(_value(a.poly, rows)).tolist())
        exact &= _exact(logical, a)
    return Predicted(frozenset(found), exact)


def subscripts(logical: LogicalKernel, a: Access, launched: Mapping[str, int], scalars: Mapping[str, Any]
               ) -> tuple[list[NDArray[np.int64]], list[int]] | None:
    """The values of each dimension at every point, and the extents."""
    rows = _points(logical, a, launched, scalars)
    if rows is None:
        return None
    extents = [int(_value(e, {**rows, **_constant(scalars)}).flat[0]) if rows["@count"].size else 0 for e in a.extents]
    return [_value(d, rows) for d in a.dims], extents


def _constant(scalars: Mapping[str, Any]) -> Columns:
    return {"$" + n: np.array([int(v)]) for n, v in scalars.items() if float(v) == int(v)}


def _points(logical: LogicalKernel, a: Access, launched: Mapping[str, int], scalars: Mapping[str, Any]
            ) -> Columns | None:
    rows: Columns = {"@count": np.zeros(1, np.int64)}
    for n, v in scalars.items():
        if isinstance(v, (int, np.integer)):
            rows[n] = rows["$" + n] = np.full(1, int(v))
    for axis in logical.axes:
        rows = _crossed(rows, coord_symbol(axis.name), np.arange(launched[axis.name]))
    for label in a.loops:
        node = logical.loops[label].node
        lo, hi = from_expr(node.lo, logical.resolve), from_expr(node.hi, logical.resolve)
        if lo is None or hi is None or not isinstance(node.step, ir.IntLit) or not node.step.value:
            return None
        rows = _looped(rows, node, _value(lo, rows), _value(hi, rows))
    for f in a.facts:
        if not f.symbols <= rows.keys():
            return None
        keep = _value(f, rows) >= 0
        rows = {n: v[keep] for n, v in rows.items()}
    return rows


def _crossed(rows: Columns, name: str, values: NDArray[np.int64]) -> Columns:
    n = rows["@count"].size
    return {**{k: np.repeat(v, values.size) for k, v in rows.items()}, name: np.tile(values, n)}


def _looped(rows: Columns, node: ir.For, lo: NDArray[np.int64], hi: NDArray[np.int64]) -> Columns:
    """A row for each iteration of the loop at each row."""
    assert isinstance(node.step, ir.IntLit)
    step = node.step.value
    span = hi - lo + {"<": 0, "<=": 1, ">": 0, ">=": -1}[node.cmp]
    trips = np.maximum(0, -(-span // step))
    which = np.repeat(np.arange(lo.size), trips)
    count = np.arange(which.size) - np.repeat(np.cumsum(trips) - trips, trips)
    return {**{k: v[which] for k, v in rows.items()}, node.var: lo[which] + step * count}


def _value(p: Poly, rows: Columns) -> NDArray[np.int64]:
    total = np.zeros(rows["@count"].size, np.int64)
    for monomial, c in p.terms:
        term = np.full_like(total, c)
        for s in monomial:
            term = term * rows[s]
        total = total + term
    return total


# ------------------------------------------------------------------------------------------------- exactness
def _exact(logical: LogicalKernel, a: Access) -> bool:
    """Whether each condition on the way to the access is among its facts, and nothing else decides."""
    ways = [w for w in _ways(logical.body, ()) if w[0] is a.index]
    if not ways:
        return False
    for _, conditions in ways:
        for c in conditions:
            if c is None:
                return False
            for part in _parts(c):
                facts = condition_facts(part, a.facts, logical.resolve, logical.types)
                if not facts or not set(facts) <= set(a.facts):
                    return False
    return True


def _parts(c: ir.Expr) -> Iterator[ir.Expr]:
    for part in conjuncts(c):
        if isinstance(part, ir.Un) and part.op == "!" and isinstance(part.operand, ir.Bin) and part.operand.op == "||":
            yield from _parts(negate(part.operand))
        else:
            yield part


Conditions = tuple[ir.Expr | None, ...]  # None: something that is not followed


def _ways(node: Any, under: Conditions) -> Iterator[tuple[Any, Conditions]]:
    """Every node below with the conditions under which it is evaluated."""
    if isinstance(node, tuple):
        for n in node:
            yield from _ways(n, under)
            if isinstance(n, (ir.If, ir.Loop)) and any(isinstance(x, (ir.Return, ir.Break, ir.Continue))
                                                       for x in walk(n)):
                under = (*under, None)
        return
    yield node, under
    match node:
        case ir.If(cond=c, then=t, other=o):
            yield from _ways(c, under)
            yield from _ways(t, (*under, c))
            yield from _ways(o, (*under, ir.Un("!", c)))
        case ir.Ternary(cond=c, then=t2, other=o2):
            yield from _ways(c, under)
            yield from _ways(t2, (*under, c))
            yield from _ways(o2, (*under, ir.Un("!", c)))
        case ir.Bin(op="&&", left=left, right=right):
            yield from _ways(left, under)
            yield from _ways(right, (*under, left))
        case ir.Bin(op="||", left=left, right=right):
            yield from _ways(left, under)
            yield from _ways(right, (*under, ir.Un("!", left)))
        case ir.For():
            for c in (node.lo, node.hi, node.step):  # the bound is also read once more than the body runs
                yield from _ways(c, (*under, None))
            leaves = any(isinstance(x, (ir.Return, ir.Break, ir.Continue)) for x in walk(node.body))
            yield from _ways(node.body, (*under, None) if leaves else under)
        case ir.Loop():
            for c in children(node):
                yield from _ways(c, (*under, None))
        case _:
            for c in children(node):
                yield from _ways(c, under)


# ----------------------------------------------------------------------------------------------- observation
@dataclass
class Marked:
    """The kernel whose subscripts mark themselves: ``marks`` needs ``len(sites) * size`` ints, zero before the run."""

    kernel: ir.Kernel
    sites: list[Site] = field(default_factory=list)
    size: int = 0

    def observed(self, marks: NDArray[np.int32], site: int) -> frozenset[int]:
        part = marks[site * self.size: (site + 1) * self.size]
        return frozenset(np.flatnonzero(part).tolist())


def instrument(logical: LogicalKernel, size: int) -> Marked:
    """``size``: more than any subscript."""
    found = sites(logical)
    number = {id(s.index): i for i, s in enumerate(found)}

    def rebuilt(node: Any) -> Any:
        if isinstance(node, tuple):
            return tuple(rebuilt(n) if isinstance(n, (tuple, *NODES)) else n for n in node)
        changes = {}
        for name in field_names(node):
            value = getattr(node, name)
            if isinstance(value, (tuple, *NODES)):
                changes[name] = rebuilt(value)
        if id(node) in number:
            (sub,) = changes["subs"]
            place = ir.Index(ir.Var(MARKS), (ir.Bin("+", ir.IntLit(number[id(node)] * size), sub),))
            changes["subs"] = (ir.Bin(",", ir.AssignExpr(place, "=", ir.IntLit(1)), sub),)
        return replace(node, **changes)

    coordinates = tuple(ir.Decl(t, name, (), ir.Coord(axis)) for name, (axis, t) in logical.coordinates.items())
    params = (*logical.kernel.params, ir.Param(ir.CType("int", 1), MARKS))
    kernel = replace(logical.kernel, params=params, body=coordinates + rebuilt(logical.body))
    return Marked(kernel, found, size)
