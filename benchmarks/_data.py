"""Inputs of three kinds: signed normal numbers, small integers (sums exact in any order), and numbers among which
infinities, NaN, zeros of both signs and large values are strewn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from genome.workload import Size, Workload
from gpu.data import dtype_of, host_arrays, scalar

KINDS = ("signed", "integers", "special")


def arrays(workload: Workload, size: Size, kind: str, seed: int) -> dict[str, NDArray[Any]]:
    """The initial content of every array, ``out`` arrays zero (their content does not count)."""
    out: dict[str, NDArray[Any]] = {}
    counts = {a.name: workload.elements(a.name, size) for a in workload.arguments if a.is_array}
    drawn = host_arrays(workload, size, seed, "integers" if kind == "integers" else "given") if all(
        n > 0 for n in counts.values()) else None
    rng = np.random.default_rng(seed)
    for a in workload.arguments:
        if not a.is_array:
            continue
        dtype, n = dtype_of(a), counts[a.name]
        if a.role == "out":
            out[a.name] = np.zeros(n, dtype)
        elif drawn is not None:
            out[a.name] = np.array(drawn[a.name])
        else:
            out[a.name] = rng.integers(0, 5, n).astype(dtype)
        if kind == "special" and dtype.kind == "f" and a.role != "out" and n:
            which = rng.random(n) < 0.08
            values = rng.choice(np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e30, -1e30, 1e-40]), n)
            out[a.name] = np.where(which, values, out[a.name]).astype(dtype)
    return out


def scalars(workload: Workload, size: Size) -> dict[str, np.generic]:
    values = workload.scalars(size)
    return {a.name: scalar(a, values[a.name]) for a in workload.arguments if not a.is_array}


def equal(got: NDArray[Any], want: NDArray[Any]) -> NDArray[np.bool_]:
    """Equal values: NaN equals NaN, zeros of either sign are equal."""
    same: NDArray[np.bool_] = got == want
    return same | ((got != got) & (want != want))


def close(got: NDArray[Any], want: NDArray[Any]) -> NDArray[np.bool_]:
    """Equal up to the order of summation; quotients of small sums amplify that. The exact check is on integers."""
    if got.dtype.kind != "f":
        return equal(got, want)
    with np.errstate(all="ignore"):
        finite = want[np.isfinite(want)].astype(np.float64)
        scale = float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0
        near = np.abs(got.astype(np.float64) - want) <= 1e-3 * np.abs(want) + 1e-4 * scale + 1e-30
    return near | equal(got, want)
