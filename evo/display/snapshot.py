"""What a display shows, as plain data, and what a display is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from gpu.records import Verdict
from results.pareto import DEFAULT_OBJECTIVES


@dataclass(frozen=True)
class AgentRow:
    """One agent of the arena; ``status`` is what it is doing (its direction), ``best`` the speed-up of its best."""

    name: str
    status: str = ""
    candidates: int = 0
    best: float | None = None
    alive: bool = True


@dataclass(frozen=True)
class ScreenState:
    """The cost model that chooses what is measured: "off", "abstains" (not good enough yet) or "active"."""

    state: str = "off"
    rank_correlation: float | None = None  # Spearman's, on the last batch measured
    pool: int = 0  # proposals per batch


@dataclass(frozen=True)
class FrontRow:
    """One member of the Pareto front: its figures in the order of the snapshot's objectives (None: not known)."""

    key: str
    values: tuple[float | None, ...]
    speedup: float | None = None


@dataclass(frozen=True)
class RefusalRow:
    reason: str
    count: int
    mutator: str = ""  # "" when counted over all


@dataclass(frozen=True)
class Snapshot:
    """The state of a run at one moment. Times in seconds; latencies in seconds per launch; a speed-up is the baseline's
    latency over the best one's, with the ends of its 95 % interval."""

    kernel: str = ""
    phase: str = ""  # "baseline", "search", "confirmation", ...
    elapsed: float = 0.0
    budget_seconds: float | None = None
    budget_evaluations: int | None = None
    evaluated: int = 0
    per_second: float = 0.0
    baseline: float | None = None
    best: float | None = None
    best_key: str = ""
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    confirmed: bool = False  # measured by the confirmation on fresh data, not by the search
    agents: tuple[AgentRow, ...] = ()
    verdicts: Mapping[Verdict, int] = field(default_factory=dict)
    front: tuple[FrontRow, ...] = ()
    objectives: tuple[str, ...] = DEFAULT_OBJECTIVES
    screen: ScreenState = ScreenState()
    refusals: tuple[RefusalRow, ...] = ()

    @property
    def progress(self) -> float | None:
        """Share of the budget that is used, 0 to 1: of the one that is nearer its end. None without a budget."""
        shares = []
        if self.budget_seconds:
            shares.append(self.elapsed / self.budget_seconds)
        if self.budget_evaluations:
            shares.append(self.evaluated / self.budget_evaluations)
        return min(1.0, max(0.0, *shares)) if shares else None


class Display(Protocol):
    """Where a run is shown. ``update`` may be called as often as one likes; ``message`` is a line that stays;
    ``close`` may be called twice. A display never ends a run: a terminal that goes away silences it."""

    def update(self, snapshot: Snapshot) -> None: ...

    def message(self, text: str) -> None: ...

    def close(self) -> None: ...
