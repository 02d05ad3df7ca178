"""VectorizeLoads: fill a stage with 64- or 128-bit loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from genome.errors import Refusal
from genome.footprint import stage_plan
from genome.gene import ParamValue
from genome.schedule import Stage
from genome.scheduled import Scheduled
from genome.workload import Exactness
from mutators.base import Direction, Parameter, Site
from mutators.checks import choice

WIDTHS = (2, 4)


def staged(state: Scheduled, site: str) -> Stage:
    for s in state.schedule.stages:
        if s.array == site:
            return s
    raise Refusal("not-staged", f"{site} is not in shared memory")


class VectorizeLoads:
    """``A_s[i] = A[i]`` four times → ``*(float4*)&A_s[i] = *(float4*)&A[i]``, where the rows of A are aligned (tested
    once a launch by the kernel itself; otherwise it loads element by element). A transposed copy is scattered from the
    vector's components."""

    name = "VectorizeLoads"
    direction = Direction.MEMORY_TRAFFIC
    exactness = Exactness.EXACT
    summary = "four loads of A into A_s → one 128-bit load, where rows are aligned"
    parameters: tuple[Parameter, ...] = (Parameter("width", "int", WIDTHS, "elements per load"),)

    def sites(self, state: Scheduled) -> Sequence[Site]:
        return [Site(s.array) for s in state.schedule.stages]

    def domain(self, state: Scheduled, site: str) -> Mapping[str, Sequence[ParamValue]]:
        return {"width": WIDTHS}

    def _stage(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> Stage:
        width = choice(params, "width", WIDTHS)
        assert isinstance(width, int)
        return replace(staged(state, site), vector=width)

    def check(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> tuple[str, ...]:
        stage = self._stage(state, site, params)
        if staged(state, site) == stage:
            raise Refusal("no-change", f"{site} is loaded in vectors of {stage.vector} already")
        stage_plan(state.logical, state.schedule, stage)
        return ()

    def apply(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> Scheduled:
        new = self._stage(state, site, params)
        stages = tuple(new if s.array == site else s for s in state.schedule.stages)
        return state.with_schedule(replace(state.schedule, stages=stages))
