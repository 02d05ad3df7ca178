"""UseSharedMemory: hold the footprint of an array's reads in shared memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations

from genome.errors import Refusal
from genome.footprint import group_named, groups, stage_plan
from genome.gene import ParamValue
from genome.schedule import Stage
from genome.scheduled import Scheduled
from genome.workload import Exactness
from mutators.base import Direction, Parameter, Site
from mutators.checks import integer

PADS = (0, 1, 2, 4, 8)
BLOCK = "block"


class UseSharedMemory:
    """``A[row*K + k]`` in a loop over ``k`` → the block loads the box of A that a tile of ``k`` needs, together and
    coalesced, zero where the box leaves the array; barrier; ``A_s[row_local][k_local]``; barrier. ``scope`` "block"
    loads once for the whole body (halo included), ``X.o`` once per tile of loop X."""

    name = "UseSharedMemory"
    direction = Direction.MEMORY_TRAFFIC
    exactness = Exactness.EXACT
    summary = "A[row*K + k] read by every thread → A_s[row][k] loaded once by the block"
    parameters: tuple[Parameter, ...] = (
        Parameter("scope", "choice", (BLOCK, "<loop>.o"), "what the box covers: the block's whole body, or a tile"),
        Parameter("order", "choice", tuple("".join(map(str, p)) for n in (1, 2, 3) for p in permutations(range(n))),
                  "dimensions of the array in storage, slowest first ('10': transposed)"),
        Parameter("pad", "int", PADS, "elements added to the fastest dimension (against bank conflicts)"),
    )

    def sites(self, state: Scheduled) -> Sequence[Site]:
        return [Site(g.name, g.accesses[0].loc) for g in groups(state.logical)]

    def domain(self, state: Scheduled, site: str) -> Mapping[str, Sequence[ParamValue]]:
        group = group_named(state.logical, site)
        scopes: list[ParamValue] = [BLOCK]
        for tile in state.schedule.tiles:
            if any(tile.loops[-1] in a.loops for a in group.accesses):
                scopes.append(tile.loops[-1] + ".o")
        rank = len(group.accesses[0].dims)
        orders = tuple("".join(map(str, p)) for p in permutations(range(rank))) if rank <= 3 else (
            "".join(map(str, range(rank))),)
        return {"scope": tuple(scopes), "order": orders, "pad": PADS}

    def _stage(self, site: str, params: Mapping[str, ParamValue]) -> Stage:
        scope, order = params.get("scope"), params.get("order")
        if not isinstance(scope, str) or not isinstance(order, str) or not (order.isascii() and order.isdigit()):
            raise Refusal("bad-parameter", f"scope {scope!r} or order {order!r} is malformed")
        return Stage(site, "" if scope == BLOCK else scope, tuple(int(c) for c in order), integer(params, "pad", 0, 32))

    def check(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> tuple[str, ...]:
        state.require_free_mapping()
        stage = self._stage(site, params)
        if any(s.array == site for s in state.schedule.stages):
            raise Refusal("stage-already", f"{site} is in shared memory already")
        stage_plan(state.logical, state.schedule, stage)
        return state.disjoint()

    def apply(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> Scheduled:
        return state.with_schedule(replace(state.schedule, stages=(*state.schedule.stages, self._stage(site, params))))
