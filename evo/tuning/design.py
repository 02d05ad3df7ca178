"""The first points of a search: spread out, but not pushed into the corners of the space."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evo.tuning.encode import Matrix

TRIALS = 24


def first_points(points: Matrix, count: int, rng: np.random.Generator) -> list[int]:
    """The most spread (by its smallest distance) of TRIALS random draws of ``count`` rows of ``points``, whose first is
    drawn freely. Greedy maximin would take the corners, where kernels are rarely good."""
    count = min(count, len(points))
    best: NDArray[np.int64] = rng.choice(len(points), count, replace=False)
    widest = _spread(points[best])
    for _ in range(TRIALS - 1):
        drawn = rng.choice(len(points), count, replace=False)
        width = _spread(points[drawn])
        if width > widest:
            best, widest = drawn, width
    return [int(i) for i in best]


def _spread(chosen: Matrix) -> float:
    if len(chosen) < 2:
        return 0.0
    squares = ((chosen[:, None, :] - chosen[None, :, :]) ** 2).sum(axis=2)
    return float(np.min(squares[np.triu_indices(len(chosen), 1)]))
