"""CoarsenThreads: several points of an axis per thread, with the register tile that follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from genome.errors import Refusal
from genome.gene import ParamValue
from genome.schedule import MODES, AxisMap
from genome.scheduled import Scheduled
from genome.workload import Exactness
from mutators.base import Direction, Parameter, Site
from mutators.checks import choice, integer

ITEMS = (1, 2, 4, 8, 16)


class CoarsenThreads:
    """One point a thread → ``items`` points a thread along one axis: scalars become register arrays, loads that do not
    depend on the axis are done once, the grid shrinks. ``blocked``: neighbouring points; ``strided``: points a block's
    width apart; ``fragments``: groups of ``fragment`` neighbours, a block's width apart."""

    name = "CoarsenThreads"
    direction = Direction.COMPUTE
    exactness = Exactness.EXACT
    summary = "acc = … for one point → acc[8] = … for eight points, shared loads read once"
    parameters: tuple[Parameter, ...] = (
        Parameter("items", "int", ITEMS, "points per thread along the axis"),
        Parameter("mode", "choice", MODES, "how a thread's points lie: blocked, strided, fragments"),
        Parameter("fragment", "int", (2, 4), "neighbouring points in a fragment (mode fragments)"),
    )

    def sites(self, state: Scheduled) -> Sequence[Site]:
        return [Site(a, state.logical.kernel.loc) for a in state.schedule.order]

    def domain(self, state: Scheduled, site: str) -> Mapping[str, Sequence[ParamValue]]:
        return {"items": ITEMS, "mode": MODES, "fragment": (2, 4)}

    def check(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> tuple[str, ...]:
        state.require_free_mapping()
        if site not in state.schedule.order:
            raise Refusal("no-such-axis", f"the kernel has no axis '{site}' (axes: {', '.join(state.schedule.order)})")
        new = self._map(state, site, params)
        if new == state.schedule.axis(site):
            raise Refusal("no-change", f"axis {site} is mapped like this already")
        if new.mode == "fragments" and new.items > 1 and new.items % new.fragment:
            raise Refusal("coarsen-fragment", f"{new.items} points are no whole number of fragments of {new.fragment}")
        return state.disjoint()

    def _map(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> AxisMap:
        mode = str(choice(params, "mode", MODES))
        fragment = integer(params, "fragment", 1, 16) if mode == "fragments" else 4
        return AxisMap(state.schedule.axis(site).threads, integer(params, "items", 1, 64), mode, fragment)

    def apply(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> Scheduled:
        return state.with_schedule(state.schedule.with_axis(site, self._map(state, site, params)))
