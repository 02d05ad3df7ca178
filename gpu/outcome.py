"""What the device worker says about a candidate."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpu.records import Timing, Verdict


@dataclass(frozen=True)
class Outcome:
    """``poisoned``: the process that said so must be replaced. ``spent``: seconds by activity, see gpu.ledger."""

    verdict: Verdict
    reason: str = ""
    timings: tuple[Timing, ...] = ()
    max_error: float = 0.0
    seconds: float = 0.0
    poisoned: bool = False
    spent: dict[str, float] = field(default_factory=dict)
