"""SwizzleBlocks: walk the grid in groups of rows, for reuse in L2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from genome.errors import Refusal
from genome.gene import ParamValue
from genome.scheduled import Scheduled
from genome.workload import Exactness
from mutators.base import Direction, Parameter, Site
from mutators.checks import integer, only_site

GROUPS = (2, 4, 8, 16)


class SwizzleBlocks:
    """Blocks dealt row by row → groups of ``rows`` rows of the grid, walked column by column inside a group: blocks
    that run at the same time share more of their operands' rows and columns."""

    name = "SwizzleBlocks"
    direction = Direction.MEMORY_TRAFFIC
    exactness = Exactness.EXACT
    summary = "block (x, y) → the same blocks in groups of 8 rows, column by column"
    parameters: tuple[Parameter, ...] = (Parameter("rows", "int", GROUPS, "rows of the grid in a group"),)

    def sites(self, state: Scheduled) -> Sequence[Site]:
        return [Site("grid")] if len(state.schedule.order) > 1 else []

    def domain(self, state: Scheduled, site: str) -> Mapping[str, Sequence[ParamValue]]:
        return {"rows": GROUPS}

    def check(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> tuple[str, ...]:
        only_site(site, "grid")
        state.require_free_mapping()
        rows = integer(params, "rows", 2, 256)
        if len(state.schedule.order) < 2:
            raise Refusal("swizzle-one-axis", "the grid has one axis, so there are no rows to group")
        if state.schedule.swizzle == rows:
            raise Refusal("no-change", f"blocks are walked in groups of {rows} rows already")
        return state.disjoint()

    def apply(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> Scheduled:
        rows = params["rows"]
        assert isinstance(rows, int)
        return state.with_schedule(replace(state.schedule, swizzle=rows))
