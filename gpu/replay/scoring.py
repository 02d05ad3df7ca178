"""How a search on a recorded space is scored against calculated random search.

The calculation and the cut are those of Willemsen et al., "A Methodology for Comparing Auto-Tuning Optimization
Algorithms", with n counted in distinct evaluations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

HORIZON = 200  # evaluations that count at most
CUT = 0.95  # of the way from the median to the optimum


class Scorer:
    """For the valid times of one space, in any unit and order."""

    def __init__(self, times: Sequence[float]) -> None:
        self.worst_first = np.sort(np.asarray(times, dtype=np.float64))[::-1]
        self.optimum, self.worst = float(self.worst_first[-1]), float(self.worst_first[0])
        self.cut = self._cut()

    def random(self, n: int) -> float:
        """Expected best after n evaluations of calculated random search: the time of rank n(N+1)/(n+1), from 1."""
        total = len(self.worst_first)
        rank = round(n * (total + 1) / (n + 1))
        return float(self.worst_first[min(max(rank, 1), total) - 1])

    def _cut(self) -> int:
        """The first n at which random search is 95 % of the way from the median to the optimum."""
        median = float(np.median(self.worst_first))
        goal = median - CUT * (median - self.optimum)
        n = 1
        while self.random(n) > goal and n < len(self.worst_first):
            n += 1
        return n

    @property
    def length(self) -> int:
        """Evaluations that a curve must have."""
        return min(self.cut, HORIZON)

    def best_so_far(self, times: Sequence[float | None], length: int = HORIZON) -> Vector:
        """Shape (length,): best valid time after each evaluation, the worst of the space before the first valid one
        (None: failed). A search that ended early keeps its best."""
        out, best = np.empty(length), self.worst
        found = False
        for i in range(length):
            t = times[i] if i < len(times) else None
            if t is not None and math.isfinite(t):
                best, found = (min(best, t) if found else t), True
            out[i] = best
        return out

    def score(self, curves: Sequence[Vector]) -> float:
        """Mean of P(n) for n = 1 … ``length``; ``curves`` are one seed's :meth:`best_so_far` each. 0 is random search,
        1 is knowing the answer."""
        mean = np.mean(np.stack(curves)[:, : self.length], axis=0)
        points = []
        for n, value in enumerate(mean, 1):
            random = self.random(n)
            gap = random - self.optimum
            points.append((random - float(value)) / gap if gap > 0 else 1.0)
        return float(np.mean(points))

    def fraction(self, curves: Sequence[Vector], n: int) -> float:
        """Median over the seeds of optimum / best after n evaluations, 0 … 1."""
        return float(np.median([self.optimum / c[min(n, len(c)) - 1] for c in curves]))
