"""The tail of a tiled sum: when iterations past the end may run, because they add zero."""

from __future__ import annotations

import pytest

from genome.lower import lower
from genome.printer.cuda import print_kernel
from genome.scheduled import Scheduled
from tests.helpers.agree import differences
from tests.helpers.kernels import applied, scheduled, stage, tile

PRODUCT = """
__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < N && y < M) {
        float s = START;
        for (int k = 0; k < K; ++k)
            STEP
        C[y * N + x] = 1.0f / s;
    }
}"""
GENES = (tile("k", 8), stage("A", "k.o"), stage("B", "k.o"))


def product(start: str, step: str = "s += A[y * K + k] * B[k * N + x];") -> Scheduled:
    return scheduled(PRODUCT.replace("START", start).replace("STEP", step),
                     shapes={"A": "M*K", "B": "K*N", "C": "M*N"}, sizes=({"M": 64, "N": 96, "K": 40},),
                     check=({"M": 13, "N": 21, "K": 1}, {"M": 3, "N": 5, "K": 13}), block=(16, 8, 1),
                     grid=("ceil_div(N, block_x)", "ceil_div(M, block_y)"))


def dropped(state: Scheduled) -> bool:
    after = applied(state, *GENES)
    return "K - k_o" not in print_kernel(lower(after.logical, after.schedule, after.baseline).kernel)


@pytest.mark.parametrize(("start", "yes"), [
    ("0.0f", True), ("0", True), ("2.5f", True), ("-1.0f", True), ("-0.0f", False), ("C[y * N + x]", False)])
def test_a_sum_that_may_be_minus_zero_keeps_its_tail(start: str, yes: bool) -> None:
    assert dropped(product(start)) == yes
    assert differences(product(start), *GENES) == []


@pytest.mark.parametrize(("step", "yes"), [
    ("s = s + A[y * K + k] * B[k * N + x];", True),
    ("s = fmaf(A[y * K + k], B[k * N + x], s);", True),
    ("s -= A[y * K + k] * B[k * N + x];", False),
    ("s += A[y * K + k] * B[k * N + x] + 0.5f;", False),
    ("s += A[y * K + k] * 2.0f + B[k * N + x];", False),
    ("s *= A[y * K + k] + B[k * N + x];", False),
    ("s = fmaxf(s, A[y * K + k] * B[k * N + x]);", False),
    ("s += A[y * K + k] / B[k * N + x];", False),
    ("{ s += A[y * K + k] * B[k * N + x]; s *= 1.5f; }", False)])
def test_only_sums_of_staged_zeros_lose_their_tail(step: str, yes: bool) -> None:
    assert dropped(product("0.0f", step)) == yes
    assert differences(product("0.0f", step), *GENES) == []
