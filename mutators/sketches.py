"""Sketches: rules over the access maps that compose primitive genes into skeletons.

A sketch names no kernel and fixes no value: it draws its parameters, expands to ordinary genes that search edits like
any others, and may take effect in part. Ansor's sketch rules are the model (Zheng et al., OSDI 2020).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from genome.errors import Refusal
from genome.expressions import evaluate
from genome.footprint import Group, groups
from genome.gene import Gene, Genome
from genome.poly import coord_symbol
from genome.schedule import Tile
from genome.scheduled import Scheduled
from mutators.shared_memory import BLOCK
from mutators.split_reduction import PARTS, SplitReduction


@dataclass(frozen=True)
class Sketch:
    """``expand`` draws one genome; every call draws anew."""

    name: str
    summary: str
    expand: Callable[[Random], Genome]


def sketches(state: Scheduled) -> tuple[Sketch, ...]:
    """The sketches whose pattern the kernel shows; none for a kernel whose mapping is fixed."""
    if state.logical.mapping_refusal is not None or not state.schedule.order:
        return ()
    out: list[Sketch] = []
    for label in state.logical.loops:
        reused = _reused_in_loop(state, label)
        if reused:
            out.append(Sketch(f"register-tile:{label}",
                              f"coarsen every axis, tile {label}, stage what its tile reads again and again",
                              partial(_register_tile, state, label=label, reused=tuple(reused))))
    staged = [g for g in groups(state.logical) if _block_footprint(state, g)]
    if staged:
        out.append(Sketch("block-stage", "stage the block's footprint, threads along either side, coarsen",
                          lambda rng: _block_stage(state, rng, tuple(staged))))
    out.append(Sketch("spread", "block shape, coarsening and loads first", lambda rng: _spread(state, rng)))
    return tuple(out)


def _reused_in_loop(state: Scheduled, label: str) -> list[Group]:
    """Read groups inside a loop that some axis does not index: threads along that axis read the same elements."""
    axes = state.logical.axis_symbols
    out = []
    for g in groups(state.logical):
        a = g.accesses[0]
        symbols = frozenset[str]().union(*(d.symbols for d in a.dims)) if a.dims else frozenset()
        if label in a.loops and label in symbols and (axes - symbols) and (axes & symbols) \
                and not state.logical.arrays[g.array].written:
            out.append(g)
    return out


def _block_footprint(state: Scheduled, g: Group) -> bool:
    """Whether the group may be staged for the whole block: every symbol is a coordinate or a constant loop's."""
    from genome.footprint import stage_plan
    from genome.schedule import Stage

    try:
        stage_plan(state.logical, state.baseline, Stage(g.name, ""))
    except Refusal:
        return False
    return True


def _order(state: Scheduled, rng: Random) -> Genome:
    """Mostly the axis that stores walk along with stride one on the fast side, sometimes another."""
    now = state.schedule.order
    if len(now) < 2:
        return ()
    fast = next((a.name for w in state.logical.accesses if w.write and w.dims for a in state.logical.axes
                 if w.dims[-1].coefficient(coord_symbol(a.name)) == 1), now[0])
    if rng.random() < 0.2:
        fast = rng.choice(now)
    order = (fast, *(a for a in now if a != fast))
    return () if order == now else (Gene.make("CoalesceMemoryAccess", "threads", order="".join(order)),)


def _block(state: Scheduled, rng: Random, fast: str, low: int = 64, high: int = 512) -> Gene:
    """A block of a power of two threads, at least a quarter warp along the fast axis."""
    axes = sorted(state.schedule.order)
    total = rng.choice([t for t in (32, 64, 128, 256, 512, 1024) if low <= t <= high])
    shape = dict.fromkeys(axes, 1)
    if len(axes) == 1:
        shape[axes[0]] = total
    else:
        shape[fast] = rng.choice([t for t in (8, 16, 32, 64, 128) if t <= total])
        rest, others = total // shape[fast], [a for a in axes if a != fast]
        for a in others[:-1]:
            shape[a] = rng.choice([t for t in (1, 2, 4, 8, 16, 32) if t <= rest])
            rest //= shape[a]
        shape[others[-1]] = min(rest, 64)
    return Gene.make("AdjustBlockSize", "block", **shape)


def _coarsen(state: Scheduled, rng: Random, most: int, choices: tuple[int, ...]) -> Genome:
    out: list[Gene] = []
    points = 1
    axes = list(state.schedule.order)
    rng.shuffle(axes)
    for a in axes:
        items = rng.choice([c for c in choices if points * c <= most])
        points *= items
        if items > 1:
            mode = rng.choice(("fragments", "fragments", "strided", "blocked"))
            fragment = rng.choice([f for f in (2, 4) if items % f == 0]) if mode == "fragments" else 4
            out.append(Gene.make("CoarsenThreads", a, items=items, mode=mode, fragment=fragment))
    return tuple(out)


def _storage(g: Group, rng: Random, axes: frozenset[str]) -> str:
    """Storage order: mostly with a dimension that an axis indexes fastest, so that neighbours read neighbours."""
    rank = len(g.accesses[0].dims)
    order = list(range(rank))
    indexed = [d for d, p in enumerate(g.accesses[0].dims) if p.symbols & axes]
    if indexed and rng.random() < 0.7:
        last = rng.choice(indexed)
        order.remove(last)
        order.append(last)
    return "".join(map(str, order))


def _register_tile(state: Scheduled, rng: Random, label: str, reused: tuple[Group, ...]) -> Genome:
    order = _order(state, rng)
    fast = str(order[0].as_dict()["order"])[0] if order else state.schedule.order[0]
    genes = [*order, _block(state, rng, fast), *_coarsen(state, rng, 128, (2, 4, 8, 16))]
    genes.append(Gene.make("TileLoops", label, size=rng.choice((8, 16, 32))))
    axes = state.logical.axis_symbols
    for g in reused:
        if rng.random() < 0.9:
            genes.append(Gene.make("UseSharedMemory", g.name, scope=label + ".o", order=_storage(g, rng, axes),
                                   pad=rng.choice((0, 0, 1, 4))))
            if rng.random() < 0.7:
                genes.append(Gene.make("VectorizeLoads", g.name, width=rng.choice((2, 4, 4, 4))))
    genes += _split(state, rng, label, tuple(genes))
    if rng.random() < 0.7:
        genes.append(Gene.make("PipelineStages", label + ".o", depth=rng.choice((2, 3, 3, 4))))
    if len(state.schedule.order) > 1 and rng.random() < 0.5:
        genes.append(Gene.make("WarpTile", "threads", lanes=rng.choice((4, 8, 16))))
    if len(state.schedule.order) > 1 and rng.random() < 0.6:
        genes.append(Gene.make("SwizzleBlocks", "grid", rows=rng.choice((4, 8, 8, 16))))
    if rng.random() < 0.7:
        genes.append(Gene.make("UnrollLoop", label, mode="pragma", factor=rng.choice((2, 4, 8, 16))))
    return tuple(genes)


def _split(state: Scheduled, rng: Random, label: str, genes: Genome) -> Genome:
    """Layers of blocks for the sum, mostly where the tiles of the output leave multiprocessors without work."""
    try:
        SplitReduction().check(state.with_schedule(replace(state.schedule, tiles=(Tile((label,), (8,)),))), label,
                               {"parts": 2})
    except Refusal:
        return ()
    covered = {a: state.schedule.axis(a).threads for a in state.schedule.order}
    for g in genes:
        params = g.as_dict()
        if g.mutator == "AdjustBlockSize":
            covered.update({a: int(n) for a, n in params.items()})  # type: ignore[arg-type]
    for g in genes:
        if g.mutator == "CoarsenThreads":
            covered[g.site] *= int(g.as_dict()["items"])  # type: ignore[arg-type]
    scalars = state.workload.scalars(rng.choice(state.workload.tune))
    blocks = 1.0
    for a in state.logical.axes:
        blocks *= max(1.0, -(-float(evaluate(a.text, scalars)) // covered[a.name]))
    room = 2 * state.limits.multiprocessors / blocks
    if rng.random() >= (0.7 if room >= 1.5 else 0.05):
        return ()
    near = [p for p in PARTS if p <= max(2.0, 2 * room)]
    return (Gene.make("SplitReduction", label, parts=rng.choice(near[-3:])),)


def _block_stage(state: Scheduled, rng: Random, staged: tuple[Group, ...]) -> Genome:
    order = _order(state, rng)
    fast = str(order[0].as_dict()["order"])[0] if order else state.schedule.order[0]
    genes = [*order, _block(state, rng, fast), *_coarsen(state, rng, 32, (1, 2, 4, 8))]
    for g in staged:
        if len(staged) == 1 or rng.random() < 0.7:
            order_ = "".join(map(str, range(len(g.accesses[0].dims))))
            genes.append(Gene.make("UseSharedMemory", g.name, scope=BLOCK, order=order_, pad=rng.choice((0, 1, 1, 2))))
            if rng.random() < 0.4:
                genes.append(Gene.make("VectorizeLoads", g.name, width=rng.choice((2, 4))))
    return (*genes, *_loads_first(state, rng))


def _spread(state: Scheduled, rng: Random) -> Genome:
    order = _order(state, rng)
    fast = str(order[0].as_dict()["order"])[0] if order else state.schedule.order[0]
    return (*order, _block(state, rng, fast, 32, 1024), *_coarsen(state, rng, 32, (1, 2, 4, 8)),
            *_loads_first(state, rng))


def _loads_first(state: Scheduled, rng: Random) -> Genome:
    return tuple(Gene.make("ReorderInstructions", a, order="loads-first")
                 for a in sorted(state.logical.written) if rng.random() < 0.5)
