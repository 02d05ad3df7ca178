"""From samples to one number: ln(baseline time / time), weighted over the sizes, and its lower bound."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evo.search.reward import valid_times
from gpu.records import Evaluation, Timing, Verdict

TIMED = (Verdict.OK, Verdict.ABORTED_SLOW, Verdict.DUPLICATE)


def medians(e: Evaluation) -> tuple[float, ...]:
    return tuple(t.median for t in e.timings)


def timed(e: Evaluation) -> bool:
    """Verified, with a valid time at the first size at least."""
    return e.verdict in TIMED and valid_times(medians(e))


def mean_log(times: Sequence[float], weights: Sequence[float]) -> float:
    """Weighted mean of the logarithms over the sizes both have."""
    n = min(len(times), len(weights))
    return sum(w * math.log(t) for w, t in zip(weights[:n], times[:n], strict=True)) / sum(weights[:n])


def gain(base: Sequence[Timing], own: Sequence[Timing], weights: Sequence[float]) -> float:
    n = min(len(base), len(own))
    return mean_log([t.median for t in base[:n]], weights) - mean_log([t.median for t in own[:n]], weights)


def gain_low(base: Sequence[Timing], own: Sequence[Timing], weights: Sequence[float]) -> float:
    """With the upper end of each own 95 % interval in the median's place."""
    n = min(len(base), len(own))
    high = [t.high if math.isfinite(t.high) and t.high >= t.median else t.median for t in own[:n]]
    return mean_log([t.median for t in base[:n]], weights) - mean_log(high, weights)


def spread(e: Evaluation) -> float:
    """The largest robust coefficient of variation over the sizes."""
    return max((t.cv for t in e.timings), default=0.0)
