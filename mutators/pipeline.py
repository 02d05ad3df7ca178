"""PipelineStages: fill the stages of a tiled loop ahead of their use, by asynchronous copies into several buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from genome.errors import Refusal
from genome.footprint import scope_loop
from genome.gene import ParamValue
from genome.schedule import Pipeline
from genome.scheduled import Scheduled
from genome.workload import Exactness
from mutators.base import Direction, Parameter, Site
from mutators.checks import integer

DEPTHS = (2, 3, 4, 5)


class PipelineStages:
    """``for k.o { load; barrier; use; barrier }`` → ``load 0 … load d-2; for k.o { wait; barrier; start load of tile
    + d-1; use }`` with ``depth`` buffers in shared memory, filled by ``cp.async`` (sm_80 and later), whose zero fill is
    the guard. Past 48 KiB the buffers go to dynamic shared memory, where the device allows it."""

    name = "PipelineStages"
    direction = Direction.LATENCY
    exactness = Exactness.EXACT
    summary = "load a tile, wait, use it → use a tile while the next ones are being copied"
    parameters: tuple[Parameter, ...] = (
        Parameter("depth", "int", DEPTHS, "buffers; copies run depth - 1 tiles ahead"),)

    def sites(self, state: Scheduled) -> Sequence[Site]:
        scopes = dict.fromkeys(s.scope for s in state.schedule.stages if s.scope)
        return [Site(s) for s in scopes]

    def domain(self, state: Scheduled, site: str) -> Mapping[str, Sequence[ParamValue]]:
        return {"depth": DEPTHS}

    def check(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> tuple[str, ...]:
        depth = integer(params, "depth", 2, 8)
        if not any(s.scope == site and s.scope for s in state.schedule.stages):
            raise Refusal("pipeline-nothing-staged", f"nothing is staged at {site}")
        if not state.limits.async_copy:
            raise Refusal("pipeline-no-async-copy", "the device has no asynchronous copies (sm_80 and later do)")
        if state.schedule.depth_of(site) == depth:
            raise Refusal("no-change", f"{site} has {depth} buffers already")
        tile = state.schedule.tile_of(scope_loop(site))
        if tile is None or len(tile.loops) > 1:
            raise Refusal("pipeline-nest", f"{site} belongs to a tiled nest; single loops are pipelined")
        return ()

    def apply(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> Scheduled:
        depth = params["depth"]
        assert isinstance(depth, int)
        others = tuple(p for p in state.schedule.pipelines if p.scope != site)
        return state.with_schedule(replace(state.schedule, pipelines=(*others, Pipeline(site, depth))))
