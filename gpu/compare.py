"""Comparison on the host, element by element, in double precision."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gpu.data import Array
from gpu.session import Comparison

CHUNK = 1 << 20


def compare_arrays(got: Array, want: Array, rtol: float, atol: float) -> Comparison:
    """Every element must satisfy ``|got - want| <= atol + rtol * |want|``, written so that NaN fails; where the
    reference is not finite, the kind must match (NaN to NaN, infinity to the same infinity). Integers compare exactly.
    """
    if got.dtype != want.dtype or got.size != want.size:
        raise ValueError(f"comparing {got.size} x {got.dtype} with {want.size} x {want.dtype}")
    if got.dtype.kind == "c":  # real and imaginary parts are judged on their own
        part = np.dtype(f"f{got.dtype.itemsize // 2}")
        result = compare_arrays(got.view(part), want.view(part), rtol, atol)
        return Comparison(result.bad, result.first // 2 if result.first >= 0 else -1, result.max_error)
    bad, first, worst = 0, -1, 0.0
    for start in range(0, got.size, CHUNK):
        g, w = got[start:start + CHUNK], want[start:start + CHUNK]
        wrong, error = _floats(g, w, rtol, atol) if got.dtype.kind == "f" else (g != w, np.inf)
        count = int(np.count_nonzero(wrong))
        if count and first < 0:
            first = start + int(np.argmax(wrong))
        bad += count
        worst = max(worst, error if got.dtype.kind == "f" or count else 0.0)
    return Comparison(bad, first, worst)


def _floats(got: Array, want: Array, rtol: float, atol: float) -> tuple[NDArray[np.bool_], float]:
    g, w = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        finite = np.isfinite(w)
        error = np.abs(g - w)
        allowed = atol + rtol * np.abs(w)
        right = np.where(finite, error <= allowed, np.where(np.isnan(w), np.isnan(g), g == w))
        scaled = np.where(error == 0, 0.0, error / allowed)
        scaled = np.where(finite, np.where(np.isnan(scaled), np.inf, scaled), np.where(right, 0.0, np.inf))
    return ~right, float(scaled.max(initial=0.0))


def root_mean_square(array: Array) -> float:
    """Of the finite elements, in double precision; 0 when there is none. Squares are taken of elements divided by the
    largest, so that neither 1e200 nor 1e-200 is lost."""
    if array.dtype.kind == "c":
        array = array.view(np.dtype(f"f{array.dtype.itemsize // 2}"))
    largest = 0.0
    for start in range(0, array.size, CHUNK):
        part = np.abs(array[start:start + CHUNK].astype(np.float64))
        largest = max(largest, float(part[np.isfinite(part)].max(initial=0.0)))
    if largest == 0.0:
        return 0.0
    scale = 2.0 ** min(max(math.floor(math.log2(largest)), -1000), 1000)  # a power of two: division rounds nothing
    total, count = 0.0, 0
    for start in range(0, array.size, CHUNK):
        part = array[start:start + CHUNK].astype(np.float64)
        part = part[np.isfinite(part)] / scale
        total += float(np.dot(part, part))
        count += part.size
    return scale * math.sqrt(total / count)
