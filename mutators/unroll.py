"""UnrollLoop: by pragma, by a factor, or fully."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from genome import ir
from genome.errors import Refusal
from genome.facts import integer_type
from genome.gene import ParamValue
from genome.lower.unroll import constant_trip
from genome.schedule import Unroll
from genome.scheduled import Scheduled
from genome.walk import STMTS, walk
from genome.workload import Exactness
from mutators.base import Direction, Parameter, Site
from mutators.checks import choice, integer, loop_at, not_in_opaque, simple_bounds, unit_step

MODES = ("pragma", "factor", "full")
FACTORS = (1, 2, 4, 8, 16)
MOST_STATEMENTS = 4096  # of one unrolled loop, items included: more costs minutes of compile time


class UnrollLoop:
    """``for k { S(k) }`` → ``#pragma unroll F``; or F copies of S in a main loop and a remainder loop; or all copies
    of a constant trip count. The order of iterations stays. ``X.o`` names the outer part of a tiled loop."""

    name = "UnrollLoop"
    direction = Direction.LATENCY
    exactness = Exactness.EXACT
    summary = "for k { S(k) } → for k in steps of 4 { S(k) S(k+1) S(k+2) S(k+3) } and a remainder"
    parameters: tuple[Parameter, ...] = (
        Parameter("mode", "choice", MODES, "pragma (the compiler does it), factor (copies), full (all copies)"),
        Parameter("factor", "int", FACTORS, "copies, or the pragma's argument (1 forbids unrolling)"),
    )

    def sites(self, state: Scheduled) -> Sequence[Site]:
        out = [Site(label, i.node.loc) for label, i in state.logical.loops.items()]
        return out + [Site(label + ".o") for t in state.schedule.tiles for label in t.loops]

    def domain(self, state: Scheduled, site: str) -> Mapping[str, Sequence[ParamValue]]:
        return {"mode": MODES[:1] if site.endswith(".o") else MODES, "factor": FACTORS}

    def check(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> tuple[str, ...]:
        mode = choice(params, "mode", MODES)
        factor = integer(params, "factor", 1, 64)
        label = site.removesuffix(".o")
        node = loop_at(state.logical, label).node
        tile = state.schedule.tile_of(label)
        if state.schedule.unroll_of(site) is not None:
            raise Refusal("unroll-already", f"loop {site} is unrolled already", node.loc)
        if site.endswith(".o") and tile is None:
            raise Refusal("unroll-not-tiled", f"loop {label} is not tiled, so there is no {site}", node.loc)
        if mode == "pragma":
            if site.endswith(".o") and any(isinstance(n, ir.Barrier) for n in walk(node.body)):
                raise Refusal("unroll-around-barrier", f"loop {site} holds barriers", node.loc)
            self._limit(state, node, factor)
            return ()
        if site.endswith(".o"):
            raise Refusal("unroll-outer-tile", f"{site} is unrolled by pragma only", node.loc)
        if any(isinstance(n, (ir.Continue, ir.Break, ir.Return)) for n in walk(node.body)):
            raise Refusal("unroll-jumps", f"an iteration of {label} can be left early", node.loc)
        not_in_opaque(node)
        if any(isinstance(n, ir.Loop) or (isinstance(n, ir.Opaque) and ":" in n.text) for n in walk(node.body)):
            raise Refusal("unroll-body", f"loop {label} holds a loop or label that cannot be copied", node.loc)
        declared = {n.name for n in walk(node.body) if isinstance(n, ir.Decl)}
        for n in walk(node.body):
            if isinstance(n, (ir.Opaque, ir.OpaqueExpr)) and declared & (n.reads | n.writes):
                raise Refusal("unroll-body", f"{sorted(declared & (n.reads | n.writes))[0]} of loop {label} is used in "
                              "code that is not understood, where its copies could not be told apart", n.loc)
        if node.type is None:
            raise Refusal("loop-variable-outlives-loop", f"{node.var} is declared before its loop", node.loc)
        if mode == "full":
            trips = tile.sizes[tile.loops.index(label)] if tile is not None else None
            if trips is None:
                trip = constant_trip(node)
                if trip is None:
                    raise Refusal("unroll-no-constant-trip", f"loop {label} has no constant trip count: tile it first",
                                  node.loc)
                trips = trip[2]
            self._limit(state, node, trips)
            return ()
        if factor < 2:
            raise Refusal("no-change", "a factor of one copies nothing", node.loc)
        unit_step(node, "unroll-loop-not-unit-step")
        simple_bounds(state.logical, node, "unroll-bound-not-simple")
        kind = integer_type(ir.Var(node.var), state.logical.types)
        bound = integer_type(node.hi, state.logical.types)
        if kind is None or bound is None or not (kind[1] and bound[1]):
            raise Refusal("unroll-unsigned", f"loop {label} counts in an unsigned type, where the end of the main loop "
                          "could wrap", node.loc)
        self._limit(state, node, factor)
        return ()

    def _limit(self, state: Scheduled, node: ir.For, copies: int) -> None:
        points = 1
        for _, m in state.schedule.axes:
            points *= m.items
        statements = sum(1 for n in walk(node.body) if isinstance(n, STMTS)) * copies * points
        if statements > MOST_STATEMENTS:
            raise Refusal("unroll-too-large", f"{statements} statements in the unrolled loop, {MOST_STATEMENTS} are "
                          "the most that is tried", node.loc)

    def apply(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> Scheduled:
        mode, factor = str(params["mode"]), int(params["factor"])  # type: ignore[arg-type]
        u = Unroll(site, mode, factor if mode != "full" else 0)
        return state.with_schedule(replace(state.schedule, unrolls=(*state.schedule.unrolls, u)))
