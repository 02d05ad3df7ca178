"""The rank test behind eliminations. Written out, because importing ``scipy.stats`` takes longer than most tests."""

from __future__ import annotations

import math
from collections.abc import Sequence

from surrogate.rank import ranks


def mann_whitney_less(a: Sequence[float], b: Sequence[float]) -> float:
    """One-sided p value that ``a`` tends to be smaller than ``b`` (Mann-Whitney U, normal approximation with
    continuity and tie correction). 1.0 when either is empty or all values are equal."""
    n, m = len(a), len(b)
    if not n or not m:
        return 1.0
    both = list(a) + list(b)
    r = ranks(both) + 1.0
    u = float(r[:n].sum()) - n * (n + 1) / 2
    counts: dict[float, int] = {}
    for v in both:
        counts[v] = counts.get(v, 0) + 1
    total = n + m
    ties = sum(c**3 - c for c in counts.values())
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    z = (u - n * m / 2 + 0.5) / math.sqrt(variance)
    return 0.5 * math.erfc(-z / math.sqrt(2))
