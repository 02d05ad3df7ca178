"""What a display is told about the running search. Plain data, made anew for each update."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpu.records import Verdict
from surrogate.screen import Report


@dataclass(frozen=True)
class AgentView:
    name: str
    summary: str
    last: str  # latest operation
    share: float
    evaluated: int  # in this round
    verified: int
    best: float  # its best speed-up


@dataclass(frozen=True)
class FrontView:
    key: str
    speedup: float
    values: tuple[tuple[str, float], ...]  # objective, value


@dataclass(frozen=True)
class Snapshot:
    """``budget`` 0..1 is the spent part; times in seconds; ``low`` is the lower bound of the best speed-up."""

    phase: str  # "gate", "search", "confirm", "done"
    seconds: float
    budget: float
    evaluations: int
    per_second: float
    pending: int
    baseline_seconds: float
    best_key: str
    best_seconds: float
    speedup: float
    low: float
    round: int
    agents: tuple[AgentView, ...]
    verdicts: Mapping[Verdict, int]
    refusals: Mapping[str, int]  # code -> count
    front: tuple[FrontView, ...]
    screen: Report | None
    confirmed: bool = False  # the best's figures are those of its confirmation on fresh data
