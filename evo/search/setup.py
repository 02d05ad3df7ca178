"""What a run is given and what it gives back; the engine's view of display and store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from evo.search.reward import Reward, Weights, reward
from evo.search.snapshot import Snapshot
from evo.search.space import Space
from evo.search.strategies import Strategy
from genome.gene import Genome
from gpu.interface import Confirmation, Evaluator
from gpu.records import Evaluation, Verdict
from results.records import Candidate


class Display(Protocol):
    def update(self, snapshot: Snapshot) -> None: ...

    def message(self, text: str) -> None: ...


class RunStore(Protocol):
    """The part of :class:`results.store.Store` that the engine uses."""

    def add_candidate(self, c: Candidate) -> None: ...

    def set_evaluation(self, e: Evaluation) -> None: ...

    def add_confirmation(self, key: str, confirmation: Confirmation) -> None: ...

    def add_refusal(self, agent: str, gene: str, code: str, reason: str, line: int = 0) -> None: ...

    def event(self, kind: str, data: dict[str, Any]) -> None: ...

    def save_state(self, name: str, data: bytes | str) -> None: ...

    def load_state(self, name: str) -> bytes | str | None: ...

    def set_status(self, status: str) -> None: ...

    def elapsed(self) -> float: ...

    def candidates(self) -> list[Candidate]: ...

    def evaluations(self) -> list[Evaluation]: ...


@dataclass(frozen=True)
class Setup:
    """The problem as the search sees it. ``weights`` of the tune sizes in order; ``limit_seconds`` is the time of the
    device's roofline for the problem (0: unknown), weighted like the medians."""

    space: Space
    evaluator: Evaluator
    weights: tuple[float, ...] = (1.0,)
    objectives: tuple[str, ...] = ("latency", "registers")
    reward: Reward = reward
    reward_weights: Weights = field(default_factory=Weights)
    strategies: tuple[Strategy, ...] = ()  # empty: the named ones
    limit_seconds: float = 0.0
    seeds: tuple[Genome, ...] = ()  # measured first: what paid elsewhere


@dataclass(frozen=True)
class RunResult:
    """``champion`` is the confirmed one's key, None when nothing beat the baseline (``best`` is then the best that
    was measured, if any)."""

    champion: str | None
    best: str | None
    speedup: float  # the champion's, from its confirmation; 1.0 without one
    confirmation: Confirmation | None
    evaluations: int
    verdicts: dict[Verdict, int]
    seconds: float
    interrupted: bool
    reason: str  # why the search ended
