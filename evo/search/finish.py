"""The end of a run: finalists against the baseline on fresh data, until one is accepted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from evo.search.memory import BASELINE, Memory, Record
from evo.search.space import Space
from gpu.interface import Confirmation, Evaluator
from gpu.records import Verdict


class Confirmations(Protocol):
    def add_confirmation(self, key: str, confirmation: Confirmation) -> None: ...

    def event(self, kind: str, data: dict[str, Any]) -> None: ...


@dataclass(frozen=True)
class Finish:
    champion: str | None = None
    speedup: float = 1.0
    low: float = 1.0  # its lower bound
    confirmation: Confirmation | None = None


def finalists(memory: Memory, count: int) -> list[Record]:
    """Distinct binaries in order of the lower bound of their gain; only what was faster than the baseline."""
    ranked = sorted((r for r in memory.records.values() if r.key != BASELINE and r.timed and r.low > 0
                     and r.evaluation is not None and r.evaluation.verdict is Verdict.OK), key=lambda r: -r.low)
    out: list[Record] = []
    seen: set[str] = set()
    for r in ranked:
        assert r.evaluation is not None
        name = r.evaluation.resources.binary or r.program_key or r.key
        if name not in seen:
            seen.add(name)
            out.append(r)
        if len(out) == count:
            break
    return out


def speedup(confirmation: Confirmation, weights: tuple[float, ...]) -> tuple[float, float]:
    """Weighted geometric mean over the tune sizes (the first of ``speedups``), and of the lower bounds."""
    parts = confirmation.speedups[: len(weights)]
    if not parts or any(p[1] <= 0 or p[2] <= 0 for p in parts):
        return 0.0, 0.0
    total = sum(weights[: len(parts)])
    mean = sum(w * math.log(p[1]) for w, p in zip(weights, parts, strict=False)) / total
    low = sum(w * math.log(p[2]) for w, p in zip(weights, parts, strict=False)) / total
    return math.exp(mean), math.exp(low)


def confirm_best(memory: Memory, space: Space, evaluator: Evaluator, store: Confirmations, *, count: int = 3,
                 left: Callable[[], float], message: Callable[[str], None]) -> Finish:
    """In order until one is accepted with its lower bound over 1. ``left``: seconds that remain. At least one is tried,
    however late it is; another one where it can be expected to end in time, after what the last one took."""
    took = 0.0
    for i, r in enumerate(finalists(memory, count)):
        begin = left()
        if i and begin < took:
            message("no time left to confirm another finalist")
            break
        message(f"confirming {r.key}")
        c = evaluator.confirm(r.key, space.program(space.express(r.genome)), max(0.0, begin))
        took = begin - left() if math.isfinite(begin) else 0.0
        store.add_confirmation(r.key, c)
        mean, low = speedup(c, memory.weights)
        if c.accepted and low > 1.0:
            store.event("champion", {"key": r.key, "speedup": mean, "low": low, "confirmed": True})
            return Finish(r.key, mean, low, c)
        message(f"{r.key} was not confirmed: {c.reason or f'lower bound of its speed-up {low:.3f}'}")
    return Finish()
