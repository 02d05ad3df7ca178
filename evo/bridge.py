"""From the search's snapshots to what the display shows."""

from __future__ import annotations

from collections.abc import Mapping

from evo.display import AgentRow, Display, RefusalRow, ScreenState, Snapshot
from evo.search.snapshot import Snapshot as SearchSnapshot
from gpu.records import Resources
from results.rows import Row


class DisplayBridge:
    """A :class:`evo.engine.Display` in front of a terminal display."""

    def __init__(self, display: Display, kernel: str, seconds: float | None, evaluations: int | None,
                 objectives: tuple[str, ...]) -> None:
        self.display, self.kernel, self.objectives = display, kernel, objectives
        self.seconds, self.evaluations = seconds, evaluations

    def message(self, text: str) -> None:
        self.display.message(text)

    def close(self) -> None:
        self.display.close()

    def update(self, s: SearchSnapshot) -> None:
        found = bool(s.best_key)
        self.display.update(Snapshot(
            kernel=self.kernel, phase=s.phase, elapsed=s.seconds, budget_seconds=self.seconds,
            budget_evaluations=self.evaluations, evaluated=s.evaluations, per_second=s.per_second,
            baseline=s.baseline_seconds, best=s.best_seconds if found else None, best_key=s.best_key,
            speedup=s.speedup if found else None, speedup_low=s.low if found else None,
            agents=tuple(AgentRow(a.name, a.last, a.evaluated, a.best) for a in s.agents), verdicts=s.verdicts,
            front=tuple(_row(f.key, f.speedup, f.values, s.baseline_seconds) for f in s.front),
            objectives=self.objectives, screen=_screen(s),
            refusals=tuple(RefusalRow("", code, n) for code, n in
                           sorted(s.refusals.items(), key=lambda kv: -kv[1])[:3])))


def _row(key: str, speedup: float, values: tuple[tuple[str, float], ...], baseline: float) -> Row:
    resources: Mapping[str, float] = {k: v for k, v in values if k != "latency"}
    known = {k: (v if k == "occupancy" else int(v)) for k, v in resources.items() if k in Resources.__annotations__}
    return Row(key, latency=baseline / speedup, gain=None, resources=Resources(**known))  # type: ignore[arg-type]


def _screen(s: SearchSnapshot) -> ScreenState:
    if s.screen is None:
        return ScreenState()
    return ScreenState("active" if s.screen.active else "abstains", s.screen.last, s.screen.pool)
