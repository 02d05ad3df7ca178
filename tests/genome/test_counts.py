"""Static counts at concrete sizes, worked out by hand."""

from __future__ import annotations

import itertools

import pytest

from genome.counts import (
    TRANSCENDENTAL,
    UNKNOWN_TRIPS,
    compulsory_bytes,
    executions,
    flops,
    flops_per_point,
    points,
    trips,
    value,
)
from genome.logical import LogicalKernel
from genome.poly import Poly
from tests.helpers.kernels import example, scheduled


def loop(head: str, body: str = "s += a[x];", before: str = "") -> LogicalKernel:
    return scheduled(
        f"__global__ void k(const float* a, float* b, int N)\n{{\n    int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"    if (x < N) {{\n        float s = 0.0f;\n        {before}\n        for ({head}) {{\n            {body}\n"
        "        }\n        b[x] = s;\n    }\n}\n").logical


CASES = [(f"int i = {lo}; i {op} {hi}; i += {step}", len(r))
         for lo, hi, step in itertools.product((0, 1, 3), (7, 8, 3), (1, 2, 3))
         for op, r in (("<", range(lo, hi, step)), ("<=", range(lo, hi + 1, step)))]
CASES += [(f"int i = {hi}; i {op} {lo}; i -= {step}", len(r))
          for lo, hi, step in itertools.product((0, 2), (7, 8), (1, 3))
          for op, r in ((">", range(hi, lo, -step)), (">=", range(hi, lo - 1, -step)))]


def divides(head: str) -> bool:
    lo, hi, step = (int(part.split()[-1]) for part in head.split(";"))
    return (hi - lo) % step == 0


UNEVEN = [(head, n) for head, n in CASES if "=" in head.split(";")[1] and not divides(head) and n]


@pytest.mark.parametrize(("head", "count"), [c for c in CASES if c not in UNEVEN])
def test_trips(head: str, count: int) -> None:
    assert trips(loop(head), "i", {"N": 1}) == count


def test_trips_to_inclusive_bounds() -> None:
    assert [trips(loop(head), "i", {"N": 1}) for head, _ in UNEVEN] == [n for _, n in UNEVEN]


def test_trips_of_symbolic_bounds() -> None:
    assert trips(loop("int i = 2; i < N; ++i"), "i", {"N": 10}) == 8
    assert trips(loop("int i = 0; i < N * N - 1; i += 2"), "i", {"N": 5}) == 12
    assert trips(loop("int i = 9; i < N; ++i"), "i", {"N": 5}) == 0
    assert trips(loop("int i = 0; i < x; ++i"), "i", {"N": 5}) == 0, "points count at their start"
    assert trips(loop("int i = 0; i < (int)a[x]; ++i"), "i", {"N": 5}) == UNKNOWN_TRIPS
    assert trips(loop("int i = 0; i < N / 2; ++i"), "i", {"N": 5}) == UNKNOWN_TRIPS


def test_executions_multiply() -> None:
    k = loop("int i = 0; i < N; ++i", "for (int j = 0; j < 3; ++j) s += a[x];")
    assert executions(k, ("i", "j"), {"N": 7}) == 21 and executions(k, (), {"N": 7}) == 1


@pytest.mark.parametrize(("body", "count"), [
    ("s += a[x];", 1), ("s = s * 2.0f + 1.0f;", 2), ("s -= 2.0f * a[x + 1];", 2), ("s = fmaf(s, 2.0f, 1.0f);", 2),
    ("s = fmaxf(s, 1.0f);", 1), ("s += expf(s);", 1 + TRANSCENDENTAL), ("s = a[x] / s;", 1), ("s = s;", 0),
    ("int t = i * 3 + 1; s = (float)t;", 0)])
def test_flops_of_statements(body: str, count: float) -> None:
    assert flops_per_point(loop("int i = 0; i < 10; ++i", body), {"N": 1}) == 10 * count


@pytest.mark.parametrize(("name", "per_point", "n", "moved"), [
    ("sgemm", 2 * 4096, 4096**2, 3 * 4096**2 * 4),
    ("sgemm_wrong_axes", 2 * 4096, 4096**2, 3 * 4096**2 * 4),
    ("conv2d", 2 * 25, 8192**2, (8196**2 + 25 + 8192**2) * 4),
    ("stencil7", 8, 511**3, 2 * 512**3 * 4),    # two products, six sums; the guard leaves 511 points an axis
    ("transpose", 0, 8192**2, 2 * 8192**2 * 4),
    ("softmax", 8191 + 8192 * 10 + 8192 * 10, 8192, 2 * 8192**2 * 4),    # maximum; exp, difference, sum; quotient
])
def test_examples(name: str, per_point: float, n: float, moved: float) -> None:
    state = example(name)
    size = state.workload.tune[0]
    scalars = state.workload.scalars(size)
    assert flops_per_point(state.logical, scalars) == per_point
    assert points(state.logical, scalars) == n
    assert compulsory_bytes(state.logical, state.workload, size) == moved
    assert flops(state.logical, state.workload, size) == per_point * n


def test_values() -> None:
    p = Poly.sym("N") * Poly.sym("$P") - Poly.const(3)
    assert value(p, {"N": 4, "P": 5}) == 17 and value(p, {"N": 4}) is None
