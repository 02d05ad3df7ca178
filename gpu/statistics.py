"""Medians with confidence intervals, and ratios of medians."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from statistics import median

import numpy as np

from gpu.records import Timing


def valid(sample: float) -> bool:
    """A time that can be one (evaluator.md T18)."""
    return math.isfinite(sample) and sample > 0.0


@cache
def _rank(n: int) -> int:
    """The largest k such that the k-th smallest and k-th largest of n enclose the median with 95 % confidence; 1 when
    n is too small for that (fewer than six), where the interval is the range and its confidence lower."""
    below, k = 0.5**n, 1
    total = below
    while k < n // 2:
        total += math.comb(n, k) * 0.5**n
        if 2 * total > 0.05:
            break
        k += 1
    return k


def timing(size: str, samples: Sequence[float], champion: Sequence[float] = ()) -> Timing:
    """Seconds per launch summarised: median and its interval by order statistics (David and Nagaraja, Order
    Statistics, §7.1). Invalid samples are left out; none left gives NaN, never zero."""
    good = sorted(s for s in samples if valid(s))
    if not good:
        return Timing(size, (), math.nan, math.nan, math.nan)
    k = _rank(len(good))
    return Timing(size, tuple(s for s in samples if valid(s)), median(good), good[k - 1], good[-k],
                  tuple(s for s in champion if valid(s)))


def ratio(before: Sequence[float], after: Sequence[float], seed: int, draws: int = 1000,
          tail: float = 2.5) -> tuple[float, float, float]:
    """``median(before) / median(after)`` with its bootstrap interval (percentiles of resampled medians); ``tail``
    percent lie on either side, so it is the 95 % interval."""
    a, b = np.asarray(before), np.asarray(after)
    rng = np.random.default_rng(seed)
    ratios = (np.median(rng.choice(a, (draws, a.size)), axis=1) / np.median(rng.choice(b, (draws, b.size)), axis=1))
    low, high = np.percentile(ratios, [tail, 100.0 - tail])
    return float(np.median(a) / np.median(b)), float(low), float(high)


def log_mean(weighted: Sequence[tuple[float, float]]) -> float:
    """Weighted geometric mean of positive ratios given as (weight, ratio); 1 when there is none."""
    total = sum(w for w, _ in weighted)
    return math.exp(sum(w * math.log(r) for w, r in weighted) / total) if total > 0 else 1.0
