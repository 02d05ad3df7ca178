"""TileLoops: strip-mine a loop, or tile a perfect nest of two or three."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

from genome import ir
from genome.errors import Refusal
from genome.gene import ParamValue
from genome.independence import same_element
from genome.logical import LogicalKernel
from genome.lower.lowering import tiled_loop_is_structural
from genome.poly import INTEGER_BASES, Poly, coord_symbol
from genome.prove import empty
from genome.schedule import Tile
from genome.scheduled import Scheduled
from genome.walk import root, variables, walk
from genome.workload import Exactness
from mutators.base import Direction, Parameter, Site
from mutators.checks import integer, loop_at, not_in_opaque, reassociation_allowed, simple_bounds, unit_step

SIZES = (4, 8, 16, 32, 64)


class TileLoops:
    """``for k in [0, K)`` → ``for k.o in steps of T: for k in [k.o, min(k.o + T, K))``; a nest ``i, j`` →
    ``i.o, j.o, i, j``. The tile of one loop keeps the order of iterations and is exact; a nest must be fully
    permutable, where sums may be reassociated if the problem allows it."""

    name = "TileLoops"
    direction = Direction.MEMORY_TRAFFIC
    exactness = Exactness.REASSOCIATES  # a nest of sums; one loop alone is EXACT
    summary = "for k → for k.o in steps of T { for k in the tile }; perfect nests in 2-D and 3-D"
    parameters: tuple[Parameter, ...] = (
        Parameter("size", "int", SIZES, "iterations of the (outermost) loop in a tile"),
        Parameter("size2", "int", SIZES, "iterations of the second loop of a nest"),
        Parameter("size3", "int", SIZES, "iterations of the third loop of a nest"),
    )

    def sites(self, state: Scheduled) -> Sequence[Site]:
        """Every canonical loop, and every perfect nest as ``i,j``."""
        out = []
        for label, info in state.logical.loops.items():
            nest = [label]
            out.append(Site(label, info.node.loc))
            node = info.node
            while len(nest) < 3 and len(node.body) == 1 and isinstance(node.body[0], ir.For):
                node = node.body[0]
                nest.append(node.label)
                out.append(Site(",".join(nest), info.node.loc))
        return out

    def domain(self, state: Scheduled, site: str) -> Mapping[str, Sequence[ParamValue]]:
        names = ("size", "size2", "size3")[: site.count(",") + 1]
        return dict.fromkeys(names, SIZES)

    def _sizes(self, site: str, params: Mapping[str, ParamValue]) -> tuple[tuple[str, ...], tuple[int, ...]]:
        labels = tuple(site.split(","))
        if len(labels) > 3:
            raise Refusal("tile-too-deep", "nests of up to three loops are tiled")
        return labels, tuple(integer(params, n, 2, 4096) for n, _ in zip(("size", "size2", "size3"), labels,
                                                                         strict=False))

    def check(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> tuple[str, ...]:
        labels, _ = self._sizes(site, params)
        logical = state.logical
        for label in labels:
            node = loop_at(logical, label).node
            if state.schedule.tile_of(label) is not None:
                raise Refusal("tile-already-tiled", f"loop {label} is tiled already", node.loc)
            unit_step(node, "tile-loop-not-unit-step")
            simple_bounds(logical, node, "tile-bound-not-simple")
            not_in_opaque(node)
            kind = node.type.base if node.type is not None else ""
            if INTEGER_BASES.get(kind, (0, False))[0] < 32:
                raise Refusal("tile-loop-type", f"{node.var} is of type {kind}: counting in steps of a tile could "
                              "overflow it", node.loc)
            if not tiled_loop_is_structural(logical, state.schedule, label):
                raise Refusal("tile-loop-varies", f"loop {label} runs a different number of times for the points of "
                              "one thread, skips iterations, or sits inside code that does", node.loc)
        if len(labels) > 1:
            check_permutable(state, labels)
            if any(a.write and labels[-1] in a.loops for a in logical.accesses):
                return state.disjoint()  # a store must not meet a load that now comes before it
        return ()

    def apply(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> Scheduled:
        labels, sizes = self._sizes(site, params)
        return state.with_schedule(replace(state.schedule, tiles=(*state.schedule.tiles, Tile(labels, sizes))))


def check_permutable(state: Scheduled, labels: tuple[str, ...]) -> None:
    """Raises unless the loops form a perfect nest whose dependences are non-negative in every loop."""
    logical = state.logical
    nodes = [loop_at(logical, label).node for label in labels]
    for outer, inner in zip(nodes, nodes[1:], strict=False):
        if outer.body != (inner,):
            raise Refusal("tile-not-perfect-nest", f"loop {outer.label} holds more than loop {inner.label}", outer.loc)
        if {n.var for n in nodes} & (variables(inner.lo) | variables(inner.hi)):
            raise Refusal("tile-bounds-depend", f"the bounds of loop {inner.label} depend on the loops around it",
                          inner.loc)
    for label in labels:
        if state.schedule.unroll_of(label) is not None and state.schedule.unroll_of(label).mode != "pragma":  # type: ignore[union-attr]
            raise Refusal("tile-after-unroll", f"loop {label} is unrolled into copies already", nodes[0].loc)
    _private_dependences(state, nodes)
    _array_dependences(logical, labels)


def _private_dependences(state: Scheduled, nodes: list[ir.For]) -> None:
    """Private variables that live across iterations must be sums or extrema."""
    body = nodes[-1].body
    declared = {n.name for n in walk(body) if isinstance(n, ir.Decl)} | {
        n.var for n in walk(body) if isinstance(n, ir.For) and n.type is not None}
    for n in walk(body):
        if isinstance(n, (ir.Opaque, ir.OpaqueExpr, ir.Barrier, ir.IncDec, ir.AssignExpr)):
            raise Refusal("tile-order-matters", "the nest holds code whose order cannot be changed", n.loc)
        if isinstance(n, ir.Call) and n.func not in state.logical.pure:
            raise Refusal("tile-order-matters", f"{n.func} may have effects whose order matters", n.loc)
        if not isinstance(n, ir.Assign):
            continue
        name = root(n.target)
        if name is None or name in declared or name in state.logical.arrays:
            continue
        reads = sum(1 for m in walk(body) if isinstance(m, ir.Var) and m.name == name)
        if n.op == "+=" and isinstance(n.target, ir.Var) and reads == 1:
            t = state.logical.types.get(name)
            if t is not None and t.base in ("float", "double", "half"):
                reassociation_allowed(state, f"tiling the nest around the sum {name}")
            continue
        if n.op == "=" and isinstance(n.value, ir.Call) and n.value.func in ("fmaxf", "fminf", "max", "min", "fmax",
                                                                             "fmin"):
            if reads == 2 and ir.Var(name) in n.value.args:
                continue
        raise Refusal("tile-carries-dependence", f"{name} carries a value from one iteration to the next, so the "
                      "iterations cannot be reordered", n.loc)


def _array_dependences(logical: LogicalKernel, labels: tuple[str, ...]) -> None:
    names = logical.axis_symbols | frozenset(logical.loops)
    inside = [a for a in logical.accesses if labels[-1] in a.loops]
    for w in inside:
        if not w.write:
            continue
        for x in inside:
            if x.array != w.array:
                continue
            equal = same_element(w, x, names)
            if equal is None:
                raise Refusal("tile-dependence-unknown", f"the subscripts of {w.array} are not understood", w.loc)
            system = [f.substitute({n: Poly.sym(n + "'1") for n in names}) for f in (*logical.facts, *w.facts)]
            system += [f.substitute({n: Poly.sym(n + "'2") for n in names}) for f in (*logical.facts, *x.facts)]
            same = [Poly.sym(coord_symbol(a.name) + "'1") - Poly.sym(coord_symbol(a.name) + "'2") for a in logical.axes]
            # Loops around the nest run in order anyway: the same iteration of them.
            same += [Poly.sym(n + "'1") - Poly.sym(n + "'2") for n in logical.loops[labels[0]].parents]
            for i, j in product(range(len(labels)), repeat=2):
                if i == j:
                    continue
                # One iteration is earlier in loop i and later in loop j: tiling could swap the two.
                a1, a2 = Poly.sym(labels[i] + "'1"), Poly.sym(labels[i] + "'2")
                b1, b2 = Poly.sym(labels[j] + "'1"), Poly.sym(labels[j] + "'2")
                one = Poly.const(1)
                if not empty([*system, a2 - a1 - one, b1 - b2 - one], [*equal, *same]):
                    raise Refusal("tile-carries-dependence", f"{w.array} carries a dependence that is forward in loop "
                                  f"{labels[i]} and backward in loop {labels[j]} (line {x.loc.line})", w.loc)


__all__ = ["TileLoops", "check_permutable"]
