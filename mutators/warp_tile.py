"""WarpTile: which rectangle of threads forms a warp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from genome.errors import Refusal
from genome.gene import ParamValue
from genome.scheduled import Scheduled
from genome.workload import Exactness
from mutators.base import Direction, Parameter, Site
from mutators.checks import choice, only_site

LANES = (2, 4, 8, 16)


class WarpTile:
    """A warp of 32 threads in a row → a warp of 8 by 4 threads: the digits of the linear thread id are split and
    reordered, so that a warp reads fewer distinct rows and columns of what is staged. The block keeps its shape."""

    name = "WarpTile"
    direction = Direction.MEMORY_TRAFFIC
    exactness = Exactness.EXACT
    summary = "warp = 32 threads along x → warp = 8 along x by 4 along y"
    parameters: tuple[Parameter, ...] = (
        Parameter("lanes", "int", LANES, "threads of a warp along the axis that varies fastest"),)

    def sites(self, state: Scheduled) -> Sequence[Site]:
        return [Site("threads", state.logical.kernel.loc)] if len(state.schedule.order) > 1 else []

    def domain(self, state: Scheduled, site: str) -> Mapping[str, Sequence[ParamValue]]:
        x, y, _ = state.schedule.block
        return {"lanes": tuple(n for n in LANES if x % n == 0 and y % (32 // n) == 0) or LANES}

    def check(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> tuple[str, ...]:
        only_site(site, "threads")
        state.require_free_mapping()
        lanes = choice(params, "lanes", LANES)
        if len(state.schedule.order) < 2:
            raise Refusal("warp-tile-one-axis", "the kernel has one axis, so a warp is a row of threads")
        if state.schedule.lanes == lanes:
            raise Refusal("no-change", f"a warp has {lanes} threads along the first axis already")
        return state.disjoint()

    def apply(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> Scheduled:
        lanes = params["lanes"]
        assert isinstance(lanes, int)
        return state.with_schedule(replace(state.schedule, lanes=lanes))
