"""What ``evo show`` says of a run."""

from __future__ import annotations

import math
import time

from gpu.records import Verdict
from results import beside, pareto, report, units
from results.rows import Row
from results.store import Store

_WIDTH = 100


def show(store: Store) -> list[str]:
    """The run in lines of plain text: problem, device, verdicts, agents, champion, front, refusals."""
    rows = store.rows()
    objectives, constraints = pareto.asked(store)
    lines = [*_heading(store), *_verdicts(store)]
    lines += _agents(rows)
    champion = store.champion()
    if champion is not None:
        sizes = report.size_lines(store, champion.key)
        lines += ["", report.headline(champion, sizes, store.confirmation(champion.key))]
        lines += report.genes(champion, report.stored_ladder(store, champion))
        lines += report.speedups(sizes)
        lines += beside.all_lines(store, champion, sizes)
    else:
        lines += ["", "No champion" + (" yet." if store.status() == "running" else ": nothing beat the baseline.")]
    front = pareto.front(rows, objectives, constraints)
    if front:
        lines += ["", f"Pareto front ({', '.join(objectives)}):", *aligned(pareto.table(front, objectives))]
    blocked = report.blocking(store.refusal_counts())
    return lines + (["", *blocked] if blocked else [])


def aligned(table: list[list[str]]) -> list[str]:
    """Columns of equal width: texts to the left in the first, everything else to the right."""
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    return ["  " + "  ".join(c.ljust(w) if i == 0 else c.rjust(w)
                             for i, (c, w) in enumerate(zip(line, widths, strict=True))) for line in table]


def _heading(store: Store) -> list[str]:
    kernel = store.problem.get("kernel", "?")
    name = kernel.get("name", "?") if isinstance(kernel, dict) else kernel
    device = store.environment.get("device") or {}
    began = time.strftime("%Y-%m-%d %H:%M", time.localtime(store.created()))
    lines = [f"{store.folder}: {name}, {store.status()}, begun {began}, ran {units.duration(store.elapsed())}"]
    if device:
        lines.append(f"device: {device.get('name', '?')} ({device.get('backend', '?')})")
    return lines


def _verdicts(store: Store) -> list[str]:
    counts = store.verdict_counts()
    total = sum(counts.values())
    parts = [f"{units.count(n)} {v.value}" for v, n in sorted(counts.items(), key=lambda x: (-x[1], x[0].value))]
    base = store.baseline()
    lines = [f"candidates: {units.count(total)}" + (f" ({', '.join(parts)})" if parts else "")]
    if base is not None and base.timings:
        lines.append("baseline: " + ", ".join(f"{units.seconds(t.median)} at {t.size}" for t in base.timings))
    elif base is not None:
        lines.append(f"baseline: {base.verdict.value}: {base.reason}"[:_WIDTH])
    return lines


def _agents(rows: list[Row]) -> list[str]:
    found: dict[str, tuple[int, int, float]] = {}
    for r in rows:
        if r.agent:
            n, ok, best = found.get(r.agent, (0, 0, -math.inf))
            good = r.verdict is Verdict.OK
            speedup = r.speedup[0] if good else None
            found[r.agent] = n + 1, ok + good, max(best, speedup or -math.inf)
    if not found:
        return []
    table = [["agent", "candidates", "verified", "best"]]
    for agent, (n, ok, best) in sorted(found.items(), key=lambda x: -x[1][2]):
        table.append([agent, str(n), str(ok), units.factor(best) if best > -math.inf else units.UNKNOWN])
    return ["", *aligned(table)]
