"""Starts of compressed rows, at most three elements a row."""

from __future__ import annotations

from typing import Any

import numpy as np


def starts(count: int, dtype: Any, scalars: dict[str, Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """``count`` starts, the last one the number of elements; some rows are empty."""
    lengths = rng.integers(0, 4, count - 1)
    return np.concatenate([[0], np.cumsum(lengths)]).astype(dtype)
