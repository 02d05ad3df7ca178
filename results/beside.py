"""What is said beside a speed-up, so that it cannot mislead: the mean over sizes with its losses, the baseline with its
best block, the work that was removed, and what the champion uses that the baseline did not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from genome.gene import from_json
from gpu.interface import Confirmation
from gpu.records import Evaluation
from results import units
from results.records import Candidate

if TYPE_CHECKING:
    from results.report import SizeLine
    from results.store import Store


def over_sizes(sizes: Sequence[SizeLine]) -> list[str]:
    """Geometric mean, median, worst size and number of losses: a mean alone hides them (evaluator.md T22)."""
    known = sorted((s.speedup, s.size) for s in sizes if s.speedup > 0 and math.isfinite(s.speedup))
    if len(known) < 2:
        return []
    ratios = [r for r, _ in known]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    middle = (ratios[(len(ratios) - 1) // 2] + ratios[len(ratios) // 2]) / 2
    losses = sum(s.loses for s in sizes)
    return [f"Over all {len(known)} sizes: geometric mean {units.factor(mean)}, median {units.factor(middle)}, worst "
            f"{units.factor(known[0][0])} at {known[0][1]}, slower than the baseline at {losses}."]


def best_block(store: Store, champion: Candidate, sizes: Sequence[SizeLine]) -> list[str]:
    """The champion against the baseline with its best block size (evaluator.md T21), from the run's "blocks" event."""
    events = store.events("blocks")
    tuned = [s for s in sizes if s.kind == "tune" and s.champion > 0 and s.baseline > 0]
    if not events or not tuned:
        return []
    data = events[-1].data
    if not data["genome"]:
        return [f"The baseline's own block is the best of the {data['measured'] + 1} that were timed."]
    gain = data["baseline"] / data["seconds"]
    whole = math.exp(sum(math.log(s.baseline / s.champion) for s in tuned) / len(tuned))
    genes = ", ".join(map(str, from_json(data["genome"])))
    return [f"Against the baseline with its best block ({genes}, {units.factor(gain)} by itself, best of "
            f"{data['measured'] + 1}): {units.factor(whole / gain)}."]


def work(store: Store) -> list[str]:
    """Operations and bytes before and after (evaluator.md C23), from the run's "work" event."""
    events = store.events("work")
    if not events:
        return []
    data = events[-1].data
    parts = []
    for name, unit, text in (("flops", "floating-point operations", units.count), ("bytes", "compulsory traffic",
                                                                                  units.size)):
        before, after = data["before"][name], data["after"][name]
        if before > 0:
            change = "unchanged" if abs(after - before) < 0.005 * before else \
                f"{text(after)} after, {100 * (before - after) / before:.0f} % removed"
            parts.append(f"{text(before)} of {unit}, {change}" if unit.endswith("traffic") else
                         f"{text(before)} {unit}, {change}")
    return [f"Work of a launch at {data['size']}: {'; '.join(parts)}."] if parts else []


def resources(base: Evaluation | None, mine: Evaluation) -> list[str]:
    """Registers, shared memory, spills and device memory before and after: memory is not traded for time in silence
    (evaluator.md C25)."""
    def change(name: str) -> str:
        before = None if base is None else getattr(base.resources, name)
        after = getattr(mine.resources, name)
        text = units.size if name.endswith("bytes") else units.count
        known = [units.UNKNOWN if v is None or v < 0 else text(v) for v in (before, after)]
        return " -> ".join(known) if known[0] != known[1] else known[0]

    memory = [units.size(e.memory_bytes) if e is not None and e.memory_bytes else units.UNKNOWN for e in (base, mine)]
    return [f"Uses: registers {change('registers')}, shared memory {change('shared_bytes')}, spills "
            f"{change('spill_bytes')}, stack {change('stack_bytes')}, device memory "
            f"{' -> '.join(memory) if memory[0] != memory[1] else memory[0]}."]


def remarks(final: Confirmation | None, exactness: str) -> list[str]:
    """What a reader must know of the figures: approximations, warm caches, what could not be watched."""
    lines = []
    if exactness == "approximates":
        lines.append("APPROXIMATES: arithmetic of lower precision was allowed; judged by the tolerance alone.")
    if final is not None:
        if final.warm:
            lines.append("With a warm cache: " + ", ".join(f"{units.factor(r)} at {s}" for s, r in final.warm)
                         + " (the figures above are for a cold one).")
        lines += [f"Note: {n}" for n in final.notes]
    return lines


def all_lines(store: Store, champion: Candidate, sizes: Sequence[SizeLine]) -> list[str]:
    final = store.confirmation(champion.key)
    return [*over_sizes(sizes), *best_block(store, champion, sizes), *work(store),
            *resources(store.baseline(), store.evaluation(champion.key)),
            *remarks(final, str(store.problem.get("exactness", "")))]
