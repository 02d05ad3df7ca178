"""Which versions a dispatch table needs: the fewest whose best times are nearly those of all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

GAIN = 0.01  # a further version must bring this much in the weighted mean of ln(time)


def choose(times: Mapping[str, Sequence[float]], weights: Sequence[float], most: int = 8
           ) -> list[tuple[str, tuple[int, ...]]]:
    """``times`` in seconds per version and size (``inf`` where it failed). Returns the versions kept with the places of
    the sizes that each is the fastest at, in the order of those sizes. Greedy: the best single version first, then
    what improves the weighted mean most, while that is at least ``GAIN``. Raises ValueError when no version ran at
    every size."""
    total = sum(weights)

    def mean(chosen: Sequence[str]) -> float:
        each = [min(times[v][i] for v in chosen) for i in range(len(weights))]
        return sum(w * math.log(t) for w, t in zip(weights, each, strict=True)) / total if all(
            0 < t < math.inf for t in each) else math.inf

    chosen: list[str] = []
    while len(chosen) < most:
        best = min((v for v in times if v not in chosen), key=lambda v: mean([*chosen, v]), default=None)
        if best is None or (chosen and mean(chosen) - mean([*chosen, best]) < GAIN):
            break
        chosen.append(best)
    if not chosen or mean(chosen) == math.inf:
        raise ValueError("no versions that together run at every size")
    fastest = [min(chosen, key=lambda v: times[v][i]) for i in range(len(weights))]
    return [(v, tuple(i for i, f in enumerate(fastest) if f == v)) for v in dict.fromkeys(fastest)]
