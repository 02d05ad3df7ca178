"""Comparison, tolerances and statistics: what counts as right and as fast."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from genome.workload import Argument, Exactness, Tolerance, Workload
from gpu import statistics, timing
from gpu.compare import compare_arrays, root_mean_square
from gpu.verify import tolerances

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(("got", "want", "right"), [
    (1.0, 1.0, True), (1.00009, 1.0, True), (1.0002, 1.0, False), (NAN, 1.0, False), (1.0, NAN, False),
    (NAN, NAN, True), (INF, INF, True), (-INF, INF, False), (3e38, INF, False), (INF, 1.0, False), (-0.0, 0.0, True),
    (1e-9, 0.0, True), (1e-3, 0.0, False)])
def test_one_element(got: float, want: float, right: bool) -> None:
    result = compare_arrays(np.array([1, got, 1], np.float32), np.array([1, want, 1], np.float32), 1e-4, 1e-6)
    assert (result.bad == 0) == right and result.first == (-1 if right else 1)
    assert (result.max_error <= 1.0) == right


def test_every_element_counts_and_types_are_kept() -> None:
    want = np.arange(3_000_000, dtype=np.float32)
    got = want.copy()
    got[2_999_999] += 100000
    assert compare_arrays(got, want, 1e-4, 0.0).first == 2_999_999
    assert compare_arrays(np.array([1, 2, 4]), np.array([1, 2, 3]), 1.0, 1.0).bad == 1  # integers: exactly
    z = np.array([1 + 1j, 2 + 2j], np.complex64)
    assert compare_arrays(z + np.array([0, 1j], np.complex64), z, 1e-4, 0.0).first == 1
    with pytest.raises(ValueError, match="float64 with"):
        compare_arrays(got.astype(np.float64), want, 0, 0)
    assert root_mean_square(np.array([3, -4, NAN, INF], np.float32)) == pytest.approx(math.sqrt(12.5))


def outputs(exactness: Exactness = Exactness.REASSOCIATES, tolerance: Tolerance | None = None) -> Workload:
    return Workload(tuple(Argument(t, t, "n", "out") for t in ("float32", "float64", "float16", "int32")), (), (), (),
                    exactness, tolerance or Tolerance())


def test_default_tolerances() -> None:
    found = tolerances(outputs(), {"float32": 4096.0})
    assert found["float32"] == (1e-4, pytest.approx(1e-5 + 4 * 2**-24 * 64))
    assert found["float64"][0] == 1e-11 and found["float64"][1] < 2e-12
    assert found["float16"][0] == pytest.approx(4 * 2**-10) and found["int32"] == (0.0, 0.0)
    assert set(tolerances(outputs(Exactness.EXACT), {}).values()) == {(0.0, 0.0)}
    assert tolerances(outputs(tolerance=Tolerance(1e-2, 1e-3)), {})["float64"] == (1e-2, pytest.approx(1e-3))
    assert tolerances(outputs(tolerance=Tolerance(0, 0)), {"float32": 9.0})["float32"] == (0.0, 0.0)


def test_honest_orders_pass_and_lower_precision_does_not() -> None:
    """A 64x64 piece of a product with K = 4096: float32 summed in blocks against one after the other passes,
    inputs rounded to TF32 or bfloat16 do not."""
    rng = np.random.default_rng(1)
    k = 4096
    a, b = rng.standard_normal((64, k), np.float32), rng.standard_normal((k, 64), np.float32)

    def sequential(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        s = np.zeros((64, 64), np.float32)
        for i in range(k):
            s += np.outer(a[:, i], b[i])
        return s.ravel()

    def blocked() -> np.ndarray:
        return sum((a[:, i:i + 64] @ b[i:i + 64] for i in range(0, k, 64)), np.zeros((64, 64), np.float32)).ravel()

    def truncated(x: np.ndarray, bits: int) -> np.ndarray:
        return (x.view(np.uint32) & np.uint32(0xFFFFFFFF << bits & 0xFFFFFFFF)).view(np.float32)

    def rounded(x: np.ndarray) -> np.ndarray:  # to TF32's ten bits, to nearest
        return truncated((x.view(np.uint32) + np.uint32(1 << 12)).view(np.float32), 13)

    want = sequential(a, b)
    rtol, scale = tolerances(outputs(), {"float32": float(k)})["float32"]
    atol = scale * root_mean_square(want)
    assert compare_arrays(blocked(), want, rtol, atol).bad == 0
    assert compare_arrays(sequential(a[:, ::-1], b[::-1]), want, rtol, atol).bad == 0
    tf32 = compare_arrays(sequential(rounded(a), rounded(b)), want, rtol, atol)
    assert tf32.bad > 0.3 * want.size and tf32.max_error > 5
    assert compare_arrays(sequential(truncated(a, 16), truncated(b, 16)), want, rtol, atol).bad > 0.5 * want.size


def test_median_and_interval() -> None:
    t = statistics.timing("s", [3.0, 1.0, 2.0])
    assert (t.median, t.low, t.high, t.samples) == (2.0, 1.0, 3.0, (3.0, 1.0, 2.0))
    t = statistics.timing("s", [float(i) for i in range(1, 21)])
    assert (t.low, t.high) == (6.0, 15.0)  # binomial: ranks 6 and 15 of 20 (coverage 0.9586)
    t = statistics.timing("s", [1.0, 0.0, -1.0, NAN, INF, 3.0])
    assert t.samples == (1.0, 3.0) and t.median == 2.0
    empty = statistics.timing("s", [0.0, NAN])
    assert empty.samples == () and math.isnan(empty.median)


def test_ratio_and_log_mean() -> None:
    ratio, low, high = statistics.ratio([2.0, 2.1, 1.9] * 5, [1.0, 1.05, 0.95] * 5, 0)
    assert ratio == 2.0 and 1.8 < low <= 2.0 <= high < 2.2
    ratio, low, high = statistics.ratio([1.0, 1.1, 0.9] * 5, [1.0, 1.1, 0.9] * 5, 0)
    assert low <= 1.0 <= high
    assert statistics.log_mean([(1.0, 4.0), (1.0, 1.0)]) == pytest.approx(2.0)
    assert statistics.log_mean([(3.0, 2.0), (0.0, 99.0)]) == pytest.approx(2.0) and statistics.log_mean([]) == 1.0


def test_faster_than_physics() -> None:
    gigabyte = 1e9
    assert timing.floor_seconds(gigabyte, 1e12, 50_000_000) == pytest.approx(1e-3 / 1.15)
    assert timing.floor_seconds(90e6, 1e12, 50_000_000) == 0.0  # may stay in the cache
    assert timing.floor_seconds(gigabyte, 0.0, 0) == 0.0


def test_tolerance_is_per_output() -> None:
    one = replace(outputs(), tolerance=Tolerance(1e-3, 0.0))
    assert tolerances(one, {})["float32"] == (1e-3, pytest.approx(4 * 2**-24))
