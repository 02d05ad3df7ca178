"""Configurations as points for a distance-based model: each coordinate in 0 … 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evo.tuning.parameters import Parameters, number
from genome.gene import ParamValue

Matrix = NDArray[np.float64]


def encode(parameters: Parameters, rows: NDArray[np.int16]) -> Matrix:
    """Shape (rows, coordinates). A parameter of numbers is one coordinate, one of texts a coordinate per value (one-hot);
    parameters that never vary within ``rows`` have none."""
    parts = []
    for j, domain in enumerate(parameters.values.values()):
        used = np.unique(rows[:, j])
        if len(used) < 2:
            continue
        scale = _ordered([domain[i] for i in used])
        table = np.zeros((len(domain), len(used) if scale is None else 1))
        table[used] = np.eye(len(used)) if scale is None else scale[:, None]
        parts.append(table[rows[:, j]])
    return np.column_stack(parts) if parts else np.zeros((len(rows), 1))


def _ordered(values: list[ParamValue]) -> NDArray[np.float64] | None:
    """Positions 0 … 1 of numbers; None for texts. Positive numbers stand half way between their rank and their
    logarithm: powers of two are equidistant in both, and neither an evenly spaced nor an uneven list is distorted much."""
    numbers = [number(v) for v in values]
    if any(n is None for n in numbers):
        return None
    x = np.asarray(numbers, dtype=np.float64)
    rank = np.argsort(np.argsort(x)) / (len(x) - 1)
    if x.min() <= 0:
        return np.asarray(rank, dtype=np.float64)
    log = np.log(x / x.min()) / np.log(x.max() / x.min())
    return np.asarray(0.5 * (rank + log), dtype=np.float64)
