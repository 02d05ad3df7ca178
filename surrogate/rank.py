"""Spearman's rank correlation, ties averaged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Average ranks from 0, of shape (values,)."""
    _, inverse, counts = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray(((ends - counts + ends - 1) / 2.0)[inverse], dtype=np.float64)


def spearman(a: Sequence[float], b: Sequence[float]) -> float | None:
    """None with fewer than three pairs or where one side is constant."""
    if len(a) != len(b):
        raise ValueError("sequences of different length")
    if len(a) < 3:
        return None
    x, y = ranks(a), ranks(b)
    sx, sy = float(x.std()), float(y.std())
    if sx == 0.0 or sy == 0.0:
        return None
    return float(((x - x.mean()) * (y - y.mean())).mean() / (sx * sy))
