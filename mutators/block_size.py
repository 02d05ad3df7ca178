"""AdjustBlockSize: another shape and size of the thread block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from genome.errors import Refusal
from genome.gene import ParamValue
from genome.scheduled import Scheduled
from genome.workload import Exactness
from mutators.base import Direction, Parameter, Site
from mutators.checks import integer, only_site

THREADS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class AdjustBlockSize:
    """``<<<(N/16, M/16), (16, 16)>>>`` → ``<<<(N/64, M/4), (64, 4)>>>``: threads per logical axis; the grid follows.
    Points past the launch's own extent stay masked by the kernel's guard, or get a guard."""

    name = "AdjustBlockSize"
    direction = Direction.OCCUPANCY
    exactness = Exactness.EXACT
    summary = "block (16, 16) → block (64, 4), the grid following"
    parameters: tuple[Parameter, ...] = tuple(
        Parameter(a, "int", THREADS, f"threads along the logical axis {a}") for a in "xyz")

    def sites(self, state: Scheduled) -> Sequence[Site]:
        return [Site("block", state.logical.kernel.loc)] if state.schedule.order else []

    def domain(self, state: Scheduled, site: str) -> Mapping[str, Sequence[ParamValue]]:
        if len(state.schedule.order) == 1:
            return {state.schedule.order[0]: (32, 64, 96, 128, 192, 256, 384, 512, 1024)}
        return {a: THREADS if a != "z" else THREADS[:7] for a in sorted(state.schedule.order)}

    def check(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> tuple[str, ...]:
        only_site(site, "block")
        state.require_free_mapping()
        sizes = {a: integer(params, a, 1, 1024) for a in state.schedule.order}
        if all(state.schedule.axis(a).threads == n for a, n in sizes.items()):
            raise Refusal("no-change", "the block has this shape already")
        threads = 1
        for n in sizes.values():
            threads *= n
        if threads < min(32, state.baseline.threads):
            raise Refusal("block-under-a-warp", f"{threads} threads leave most of a warp idle")
        return state.disjoint()

    def apply(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> Scheduled:
        schedule = state.schedule
        for a in schedule.order:
            schedule = schedule.with_axis(a, replace(schedule.axis(a), threads=int(params[a])))  # type: ignore[arg-type]
        return state.with_schedule(schedule)
