"""A scheduled kernel as numbers: what the policy and the cost model see before anything is compiled."""

from __future__ import annotations

import math

from genome.counts import compulsory_bytes, executions, flops_per_point, points
from genome.expressions import evaluate
from genome.footprint import ELEMENT_BYTES, StagePlan, scope_loop, signature
from genome.logical import Access
from genome.memory_cost import WARP, sectors, wavefronts
from genome.scheduled import Scheduled


def summarise(state: Scheduled) -> dict[str, float]:
    """Static features at the first tune size. Per-point figures count a warp's work divided by 32.

    Units: bytes, FLOP, sectors of 32 bytes, wavefronts of shared memory, threads; ``log2_`` prefixes say so."""
    logical, schedule, workload = state.logical, state.schedule, state.workload
    size = workload.tune[0]
    scalars = workload.scalars(size)
    plans = state.plans()
    out: dict[str, float] = {"axes": float(len(schedule.order)), "threads": float(schedule.threads if schedule.order
                                                                                 else math.prod(state.launch.block))}
    items = 1
    for i, axis in enumerate(schedule.order):
        m = schedule.axis(axis)
        items *= m.items
        out[f"block_{i}"], out[f"items_{i}"] = float(m.threads), float(m.items)
    out["points_per_thread"] = float(items)
    traffic = _Traffic(state, plans)
    out.update(traffic.totals())
    flop = flops_per_point(logical, scalars)
    out["flops_per_point"] = flop
    n = points(logical, scalars) if logical.axes else 1.0
    out["log2_points"] = math.log2(max(n, 1.0))
    moved = compulsory_bytes(logical, workload, size)
    out["log2_compulsory_bytes"] = math.log2(max(moved, 1.0))
    out["intensity"] = flop * n / max(moved, 1.0)
    out["issue_intensity"] = flop / max(out["global_requests"] + out["shared_wavefronts"], 1e-3)
    out["shared_bytes"] = float(sum(p.bytes * schedule.depth_of(p.stage.scope) for p in plans))
    out["stages"] = float(len(plans))
    out["pipeline_depth"] = float(max((p.depth for p in schedule.pipelines), default=1))
    out["vector_width"] = float(max((p.stage.vector for p in plans), default=1))
    out["lanes"] = float(schedule.lanes)
    out["swizzle"] = float(schedule.swizzle)
    out["min_blocks"] = float(schedule.min_blocks)
    out["split"] = float(schedule.split.parts if schedule.split is not None else 1)
    out["padding"] = float(sum(p.stage.pad for p in plans))
    out["tiles"] = float(sum(len(t.loops) for t in schedule.tiles))
    out["tile_size"] = float(max((s for t in schedule.tiles for s in t.sizes), default=0))
    out["unrolls"] = float(len(schedule.unrolls))
    out["unroll_factor"] = float(max((u.factor for u in schedule.unrolls), default=0))
    out["copies"] = float(sum(1 for u in schedule.unrolls if u.mode != "pragma"))
    out["loads_first"] = float(len(schedule.loads_first))
    out["loop_depth"] = float(max((len(i.parents) + 1 for i in logical.loops.values()), default=0))
    out["register_tile"] = float(items * sum(1 for a in logical.accesses if a.write) + traffic.cached)
    blocks = 1.0
    for text in state.grid:
        blocks *= float(evaluate(text, {**scalars, **{f"block_{a}": b for a, b in zip("xyz", state.launch.block,
                                                                                     strict=True)}}))
    out["log2_blocks"] = math.log2(max(blocks, 1.0))
    return out


class _Traffic:
    """Memory work per point under the schedule."""

    def __init__(self, state: Scheduled, plans: tuple[StagePlan, ...]) -> None:
        self.state, self.plans = state, plans
        self.scalars = state.workload.scalars(state.workload.tune[0])
        self.cached = 0.0  # register-array elements that hold loads

    def totals(self) -> dict[str, float]:
        schedule = self.state.schedule
        requests = global_sectors = waves = worst = uncoalesced = 0.0
        seen: set[tuple[str, object, tuple[str, ...]]] = set()
        for a in self.state.logical.accesses:
            width = ELEMENT_BYTES.get(self.state.logical.arrays[a.array].element.base, 16)
            key = (a.array, a.poly, a.loops)
            if a.read and not a.write and key in seen:
                continue  # the compiler reads it once
            seen.add(key)
            runs = executions(self.state.logical, a.loops, self.scalars) * self._share(a)
            plan = None if a.write else self._plan(a)
            if plan is not None:
                w = wavefronts(a, plan, schedule, width)
                waves += runs * w / WARP
                worst = max(worst, w)
                continue
            s = sectors(a, schedule, self.scalars, width) if schedule.order else float(WARP)
            ideal = max(1.0, min(WARP, max(schedule.threads, 1)) * width / 32)
            requests += runs / WARP
            global_sectors += runs * s / WARP
            uncoalesced = max(uncoalesced, s / ideal)
        for plan in self.plans:
            loads = plan.elements * self._rounds(plan) / max(self._block_points(), 1)
            width = ELEMENT_BYTES[plan.element.base]
            requests += loads / WARP
            global_sectors += loads * width / 32
            waves += loads / WARP
        return {"global_requests": requests, "global_sectors": global_sectors, "shared_wavefronts": waves,
                "bank_conflicts": worst, "uncoalesced": uncoalesced}

    def _share(self, a: Access) -> float:
        """Loads per point after register caching: once per value of the coarsened axes that index it."""
        if a.write or a.poly is None:
            return 1.0
        share, own = 1.0, 1.0
        for axis in self.state.schedule.order:
            n = self.state.schedule.axis(axis).items
            if "@" + axis not in a.poly.symbols:
                share /= n
            else:
                own *= n
        if share < 1.0:
            self.cached += own
        return share

    def _plan(self, a: Access) -> StagePlan | None:
        for plan in self.plans:
            first = plan.group.accesses[0]
            inside = not plan.stage.scope or scope_loop(plan.stage.scope) in a.loops
            if plan.group.array == a.array and a.extents == first.extents and a.dims and inside \
                    and signature(a) == signature(first):
                return plan
        return None

    def _rounds(self, plan: StagePlan) -> float:
        """How often a block fills the stage."""
        if not plan.stage.scope:
            return 1.0
        label = scope_loop(plan.stage.scope)
        tile = self.state.schedule.tile_of(label)
        assert tile is not None
        n = executions(self.state.logical, self.state.logical.loops[tile.loops[0]].parents, self.scalars)
        for loop, size in zip(tile.loops, tile.sizes, strict=True):
            n *= math.ceil(executions(self.state.logical, (loop,), self.scalars) / size)
        return n

    def _block_points(self) -> float:
        n = 1.0
        for _, m in self.state.schedule.axes:
            n *= m.extent
        return n
