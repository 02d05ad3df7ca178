"""SplitReduction: more blocks for a product with few outputs and a long sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from genome.errors import Refusal
from genome.gene import ParamValue
from genome.schedule import Split
from genome.scheduled import Scheduled
from genome.split import accumulators, floating
from genome.workload import Exactness
from mutators.base import Direction, Parameter, Site
from mutators.checks import integer, loop_at, reassociation_allowed, unit_step

PARTS = (2, 3, 4, 6, 8, 12, 16)


class SplitReduction:
    """``for k { s += f(k) }; rest(s)`` → ``parts`` layers of blocks each sum every ``parts``-th tile of ``k`` into a
    workspace, and a second kernel adds the parts up and runs ``rest``. The loop must be tiled; everything before it
    runs in both kernels."""

    name = "SplitReduction"
    direction = Direction.OCCUPANCY
    exactness = Exactness.REASSOCIATES
    summary = "for k { s += f(k) } in one block → parts of k in several blocks, added up by a second kernel"
    parameters: tuple[Parameter, ...] = (Parameter("parts", "int", PARTS, "layers of blocks"),)

    def sites(self, state: Scheduled) -> Sequence[Site]:
        out = []
        for label, info in state.logical.loops.items():
            try:
                accumulators(state.logical, label)
            except Refusal:
                continue
            out.append(Site(label, info.node.loc))
        return out

    def domain(self, state: Scheduled, site: str) -> Mapping[str, Sequence[ParamValue]]:
        return {"parts": PARTS}

    def check(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> tuple[str, ...]:
        integer(params, "parts", 2, 256)
        node = loop_at(state.logical, site).node
        state.require_free_mapping()
        if not 0 < len(state.schedule.order) < 3:
            raise Refusal("split-no-free-axis", f"the grid's z axis is needed for the parts; the kernel has "
                          f"{len(state.schedule.order)} axes", node.loc)
        if state.schedule.split is not None:
            raise Refusal("split-already", f"loop {state.schedule.split.label} is split already", node.loc)
        unit_step(node, "split-loop-not-unit-step")
        found = accumulators(state.logical, site)
        if floating(found):
            reassociation_allowed(state, f"splitting the sum over {site}")
        tile = state.schedule.tile_of(site)
        if tile is None or tile.loops != (site,):
            raise Refusal("split-not-tiled", f"loop {site} is not tiled by itself: its tiles are what is dealt out",
                          node.loc)
        if any(a.name in state.logical.wide_axes for a in state.logical.axes):
            raise Refusal("split-wide-coordinates", "the kernel counts its points in more than an int, in which the "
                          "workspace's subscripts are counted", node.loc)
        return state.disjoint()

    def apply(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> Scheduled:
        parts = params["parts"]
        assert isinstance(parts, int)
        return state.with_schedule(replace(state.schedule, split=Split(site, parts)))
