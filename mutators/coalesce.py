"""CoalesceMemoryAccess: choose which logical axis neighbouring threads walk along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations

from genome.errors import Refusal
from genome.gene import ParamValue
from genome.scheduled import Scheduled
from genome.workload import Exactness
from mutators.base import Direction, Parameter, Site
from mutators.checks import only_site


class CoalesceMemoryAccess:
    """``row = blockIdx.x * … + threadIdx.x`` → ``row = blockIdx.y * … + threadIdx.y`` and the other axis on x: the
    order of the logical axes in the linear thread id, fastest first. Threads per axis stay what they are."""

    name = "CoalesceMemoryAccess"
    direction = Direction.MEMORY_TRAFFIC
    exactness = Exactness.EXACT
    summary = "row on threadIdx.x, column on threadIdx.y → column on threadIdx.x, row on threadIdx.y"
    parameters: tuple[Parameter, ...] = (
        Parameter("order", "choice", tuple("".join(p) for n in (2, 3) for p in permutations("xyz"[:n])),
                  "logical axes, the one that neighbouring threads walk along first"),
    )

    def sites(self, state: Scheduled) -> Sequence[Site]:
        return [Site("threads", state.logical.kernel.loc)] if len(state.schedule.order) > 1 else []

    def domain(self, state: Scheduled, site: str) -> Mapping[str, Sequence[ParamValue]]:
        now = "".join(state.schedule.order)
        return {"order": tuple(p for p in ("".join(q) for q in permutations(sorted(now))) if p != now)}

    def check(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> tuple[str, ...]:
        only_site(site, "threads")
        state.require_free_mapping()
        order = params.get("order")
        if not isinstance(order, str) or sorted(order) != sorted(state.schedule.order):
            raise Refusal("coalesce-not-a-permutation", f"order {order!r} does not name the kernel's axes "
                          f"{', '.join(state.schedule.order)} once each")
        if tuple(order) == state.schedule.order:
            raise Refusal("no-change", f"threads are in the order {order} already")
        return state.disjoint()

    def apply(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> Scheduled:
        return state.with_schedule(replace(state.schedule, order=tuple(str(params["order"]))))
