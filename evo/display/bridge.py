"""From what the engine tells to what is shown: the engine knows no display, and the displays know no engine."""

from __future__ import annotations

from collections.abc import Sequence

from evo.display.snapshot import AgentRow, Display, FrontRow, RefusalRow, ScreenState, Snapshot
from evo.search.snapshot import FrontView
from evo.search.snapshot import Snapshot as SearchSnapshot
from results.pareto import DEFAULT_OBJECTIVES
from surrogate.screen import Report


class SearchView:
    """A display for the engine, drawing on ``display``. The budgets are the run's own (None: not limited)."""

    def __init__(self, display: Display, kernel: str = "", budget_seconds: float | None = None,
                 budget_evaluations: int | None = None, objectives: Sequence[str] = DEFAULT_OBJECTIVES) -> None:
        self._display, self._kernel, self._objectives = display, kernel, tuple(objectives)
        self._seconds, self._evaluations = budget_seconds, budget_evaluations

    def update(self, snapshot: SearchSnapshot) -> None:
        self._display.update(self.shown(snapshot))

    def message(self, text: str) -> None:
        self._display.message(text)

    def close(self) -> None:
        self._display.close()

    def shown(self, s: SearchSnapshot) -> Snapshot:
        found = s.best_key != ""
        refusals = sorted(s.refusals.items(), key=lambda x: (-x[1], x[0]))[:3]
        return Snapshot(
            kernel=self._kernel, phase=s.phase, elapsed=s.seconds, budget_seconds=self._seconds,
            budget_evaluations=self._evaluations, evaluated=s.evaluations, per_second=s.per_second,
            baseline=s.baseline_seconds or None, best=s.best_seconds if found else None, best_key=s.best_key,
            speedup=s.speedup if found else None, speedup_low=s.low if found else None,
            confirmed=s.confirmed,
            agents=tuple(AgentRow(a.name, f"{a.last}: {a.summary}" if a.last else a.summary, a.evaluated,
                                  a.best if a.verified else None) for a in s.agents),
            verdicts=s.verdicts, front=tuple(self._front(f, s.baseline_seconds) for f in s.front),
            objectives=self._objectives, screen=_screen(s.screen),
            refusals=tuple(RefusalRow(code, n) for code, n in refusals))

    def _front(self, f: FrontView, baseline: float) -> FrontRow:
        values: dict[str, float | None] = {n: None if v < 0 else v for n, v in f.values}
        # The search minimises the logarithm of the time; people read the time.
        values["latency"] = baseline / f.speedup if f.speedup > 0 and baseline > 0 else None
        return FrontRow(f.key, tuple(values.get(n) for n in self._objectives), f.speedup)


def _screen(r: Report | None) -> ScreenState:
    if r is None:
        return ScreenState()
    return ScreenState("active" if r.active else "abstains", r.last, r.pool)
