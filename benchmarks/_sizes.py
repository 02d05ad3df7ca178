"""Awkward sizes for a candidate: one, primes, smaller than a tile, two blocks and a tail along each axis."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from genome import expressions, ir
from genome.expressions import ExpressionError
from genome.program import Program
from genome.scheduled import Scheduled
from genome.walk import variables
from genome.workload import Size, block_values
from gpu.sizes import admissible

ROWS = ((1,), (5, 3, 7), (19, 37, 11))
WORK = 1.5e7  # elements of arithmetic that a size may cost
STATEMENT = 2500.0  # elements that the overhead of one interpreted statement is worth


def varied(state: Scheduled) -> list[str]:
    """The size's own integer scalars on which shapes or the grid depend."""
    workload = state.workload
    used: set[str] = set()
    for a in workload.arguments:
        if a.shape is not None:
            used |= expressions.names(a.shape)
    for text in state.launch.grid:
        used |= expressions.names(str(text))
    values = {a.name: a.value for a in workload.arguments if a.value is not None}
    for _ in range(3):
        used |= {n for name in used & values.keys() for n in expressions.names(values[name])}
    return [n for n, v in workload.tune[0].values if n in used and isinstance(v, int)]


def sizes(base: Scheduled, state: Scheduled) -> list[Size]:
    """At most five sizes, the declared small ones included, at which both programs may run."""
    names = varied(base)
    fixed = dict(base.workload.tune[0].values)
    out: list[Size] = []

    def add(values: dict[str, int]) -> bool:
        size = Size(tuple({**fixed, **values}.items()))
        if size not in out and runs(base, size) and cost(state, size) <= WORK:
            out.append(size)
            return True
        return False

    for size in base.workload.check:
        if cost(state, size) <= WORK / 4 and runs(base, size) and len(out) < 2:
            out.append(size)
    if names:
        for row in ROWS:
            add(dict(zip(names, itertools.cycle(row), strict=False)))
        for values in _geometric(state, names):
            if add(values):
                break
    if not out:
        smallest = min((*base.workload.tune, *base.workload.check), key=lambda s: cost(state, s))
        out.append(smallest)
    return out


def runs(state: Scheduled, size: Size) -> bool:
    """Whether the baseline may run there: declared assumptions, positive shapes and grid."""
    return admissible(state.workload, Program("", (state.launch,)), size)


def applicable(state: Scheduled, size: Size) -> bool:
    """Whether the launcher would choose the candidate there: its preconditions hold and no grid is empty."""
    scalars = state.workload.scalars(size)
    return all(bool(expressions.evaluate(p, scalars)) for p in state.preconditions if not p.startswith("disjoint("))


def cost(state: Scheduled, size: Size) -> float:
    """A bound for the arithmetic of a launch: points that the grid covers times the trips of all loop nests."""
    scalars = state.workload.scalars(size)
    total = 1.0
    grid = state.grid
    block = state.launch.block if state.same_mapping else state.schedule.block
    values = {**scalars, **block_values(state.launch.block)}
    for text, threads in zip(grid, block, strict=True):
        try:
            total *= max(1, int(expressions.evaluate(str(text), values))) * threads
        except ExpressionError:
            return float("inf")
    items = 1.0
    for _, m in state.schedule.axes:
        items *= m.items
    trips = 1.0
    for label, info in state.logical.loops.items():
        n = 1.0
        for name in (*info.parents, label):
            n *= _trips(state, name, scalars)
        trips = max(trips, n)
    return items * trips * (8 * total + STATEMENT)


def _trips(state: Scheduled, label: str, scalars: dict[str, int | float]) -> float:
    node = state.logical.loops[label].node
    known = [abs(float(scalars[v])) for v in variables(node.hi) | variables(node.lo) if v in scalars]
    if isinstance(node.hi, ir.IntLit):
        known.append(float(node.hi.value))
    for v in variables(node.hi):
        if v in state.logical.coordinates:
            axis = state.logical.axis(state.logical.coordinates[v][0])
            known.append(float(expressions.evaluate(axis.text, scalars)) + state.schedule.axis(axis.name).extent)
    return max(1.0, max(known, default=8.0))


def _geometric(state: Scheduled, names: list[str]) -> Iterator[dict[str, int]]:
    """Sizes from the block's extents and tiles, the largest first."""
    axes = []
    for axis in state.logical.axes:
        own = [n for n in names if n in _size_names(state, axis.text)]
        if own:
            axes.append((own[0], state.schedule.axis(axis.name).extent))
    reductions: dict[str, int] = {}
    for label, info in state.logical.loops.items():
        tile = state.schedule.tile_of(label)
        unroll = state.schedule.unroll_of(label)
        step = tile.sizes[tile.loops.index(label)] if tile else max(unroll.factor, 2) if unroll else 2
        for v in variables(info.node.hi):
            for n in _size_names(state, v):
                if n in names and n not in dict(axes):
                    reductions[n] = max(reductions.get(n, 0), step)
    for span, tiles in itertools.product(("wide", "middle", "narrow", "least"), (2, 1, 0)):
        values = {n: 5 + 2 * i for i, n in enumerate(names)}
        for i, (n, extent) in enumerate(axes):
            wide = span == "wide" or (span == "middle" and i == 0) or (span == "narrow" and i == len(axes) - 1)
            values[n] = 2 * extent + 3 - 2 * (i % 2) if wide else extent + 1 if span != "least" else extent // 2 + 1
        for n, step in reductions.items():
            values[n] = tiles * step + 3 if tiles else max(1, step - 1)
        yield values


def _size_names(state: Scheduled, text: str) -> set[str]:
    """The size's scalars behind an expression over the kernel's parameters."""
    values = {a.name: a.value for a in state.workload.arguments if a.value is not None}
    found: set[str] = set()
    try:
        names = expressions.names(text)
    except ExpressionError:
        return set()
    for n in names:
        found |= expressions.names(values[n]) if n in values else {n}
    return found
