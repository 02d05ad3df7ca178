"""Configurations as points for a distance-based model: each coordinate in 0 … 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evo.tuning.parameters import Parameters, number
from genome.gene import ParamValue

Matrix = NDArray[np.float64]


def encode(parameters: Parameters, rows: NDArray[np.int16], block_names: Sequence[str] = ()) -> Matrix:
    """Shape (rows, coordinates). A parameter of numbers is one coordinate, one of texts a coordinate per value
    (one-hot); parameters that never vary within ``rows`` have none. Where two or more of the block's sizes vary, the
    logarithm of the threads in a block is one more: occupancy goes by the product, not by either side."""
    parts = []
    for j, domain in enumerate(parameters.values.values()):
        used = np.unique(rows[:, j])
        if len(used) < 2:
            continue
        scale = _ordered([domain[i] for i in used])
        table = np.zeros((len(domain), len(used) if scale is None else 1))
        table[used] = np.eye(len(used)) if scale is None else scale[:, None]
        parts.append(table[rows[:, j]])
    threads = _threads(parameters, rows, block_names)
    if threads is not None:
        parts.append(threads[:, None])
    return np.column_stack(parts) if parts else np.zeros((len(rows), 1))


def _threads(parameters: Parameters, rows: NDArray[np.int16], block_names: Sequence[str]) -> NDArray[np.float64] | None:
    columns = parameters.columns(rows, [n for n in block_names if n in parameters.names])
    sides = [np.asarray(c, dtype=np.float64) for c in columns.values() if c.dtype != object and len(np.unique(c)) > 1]
    if len(sides) < 2 or any(float(np.min(s)) <= 0 for s in sides):
        return None
    log = np.log(np.prod(sides, axis=0))
    low, high = float(np.min(log)), float(np.max(log))
    return np.asarray((log - low) / (high - low), dtype=np.float64) if high > low else None


def _ordered(values: list[ParamValue]) -> NDArray[np.float64] | None:
    """Positions 0 … 1 of numbers; None for texts. Positive numbers stand half way between their rank and their
    logarithm: powers of two are equidistant in both, and an evenly spaced list is not distorted much."""
    numbers = [number(v) for v in values]
    if any(n is None for n in numbers):
        return None
    x = np.asarray(numbers, dtype=np.float64)
    rank = np.argsort(np.argsort(x)) / (len(x) - 1)
    low, high = float(np.min(x)), float(np.max(x))
    if low <= 0:
        return np.asarray(rank, dtype=np.float64)
    log = np.log(x / low) / np.log(high / low)
    return np.asarray(0.5 * (rank + log), dtype=np.float64)
