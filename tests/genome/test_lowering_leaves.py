"""Leaves: what a thread's several points share, and what each must have of its own."""

from __future__ import annotations

import pytest

from genome.scheduled import Scheduled
from tests.helpers.agree import differences
from tests.helpers.kernels import block, coarsen, loads_first, scheduled, stage, swizzle

TEXT = """
__global__ void k(const float* A, float* C, int M, int N, int K) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < N && y < M) {
        float s = A[y * N + x];
        int n = 0;
        BODY
        C[y * N + x] = s + (float)n + A[y];
    }
}"""

# Each once gave a wrong result, or source that no compiler takes, when x, y or both had several points a thread.
BODIES = {
    "condition on one axis": "if (y < 5) s += 1.0f; if (x < 3) n++;",
    "loop up to one axis": "for (int k = 0; k < y; ++k) n += k;",
    "guard around a loop": "if (x < 5) { for (int k = 0; k < K; ++k) s += 1.0f; }",
    "guard on a loop's variable": "for (int b = 0; b < 4; ++b) if (b < y) { for (int k = 0; k < K; ++k) n += k; }",
    "statement with side effects": "int p = 2; s += (float)(p++); n = p; n += ++p;",
    "loop without canonical form": "int m = y; while (m > 0) { m /= 2; n += 3; }",
    "declarations inside": "for (int k = 0; k <= y; ++k) { float t = s * 0.5f; int q = k; s = t + (float)q; }",
    "continue": "for (int k = 0; k < K; ++k) { if (A[k] < 0.0f) continue; float t = A[k]; s += t; n++; }",
    "division that traps": "int q = 12 / (N - x); n += q % M; int r = 7 / M; n += r;",
    "division in a bound": "for (int k = 0; k < 12 / (M - y); ++k) s += 1.0f;",
    "bound that wraps": "for (unsigned int k = 0; k < (unsigned int)(M - y); ++k) s += 1.0f;",
    "outer variable of a loop": "int k; for (k = 0; k < x % 5; ++k) s += 1.0f; float t = A[k]; n += k; s += t;",
    "table": "float w[3] = {0.25f, 0.5f}; w[y % 3] += 1.0f; for (int i = 0; i < 3; ++i) s += w[i];",
    "two-dimensional table": "int w[2][2] = {{1, 2}, {3, 4}}; w[x % 2][1] += 1; n += w[0][y % 2] + w[1][1];",
    "both branches": "if (x < 5) { for (int k = 0; k < K; ++k) s += A[k]; } else { float t = A[0]; s -= t; }",
    "condition on data": "if (A[y * N] > 0.0f) { for (int k = 0; k < K; ++k) { float t = A[k]; s += t; } }",
}

GENOMES = {
    "x": (coarsen("x", 4, "strided"),),
    "y": (coarsen("y", 4), block(x=32, y=4)),
    "both": (coarsen("x", 2), coarsen("y", 4, "fragments", 2), loads_first("C")),
    "block": (block(x=8, y=32), swizzle(2)),
}


def kernel(body: str) -> Scheduled:
    return scheduled(TEXT.replace("BODY", body), shapes={"A": "M*N + K", "C": "M*N"},
                     sizes=({"M": 64, "N": 96, "K": 9},), check=({"M": 13, "N": 21, "K": 5},), block=(16, 8, 1),
                     grid=("ceil_div(N, block_x)", "ceil_div(M, block_y)"))


@pytest.mark.parametrize("genome", GENOMES)
@pytest.mark.parametrize("body", BODIES)
def test_leaf(body: str, genome: str) -> None:
    assert differences(kernel(BODIES[body]), *GENOMES[genome]) == []


def test_an_axis_that_is_not_x_keeps_its_threads() -> None:
    state = scheduled("""
__global__ void k(const float* A, float* C, int N) {
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (y < N) C[y] = A[y] + A[y + 1];
}""", shapes={"A": "N + 1"}, sizes=({"N": 500},), check=({"N": 77},), block=(1, 64, 1),
                      grid=("1", "ceil_div(N, block_y)"))
    assert differences(state, stage("A", order="0")) == []
    assert differences(state, stage("A", order="0"), coarsen("y", 2)) == []
    assert differences(state, coarsen("y", 2), coarsen("y", 1), stage("A", order="0")) == []


def test_own_point_that_is_the_only_one() -> None:
    """With one column of points a load that no column distinguishes may still read what its own point wrote."""
    state = scheduled("""
__global__ void k(float* A, const float* B, float* C, int M, int N) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 && y < M) {
        A[y] = B[y] * 2.0f;
        C[y] = A[y] + B[y];
    }
}""", shapes={"A": "M", "B": "M", "C": "M"}, sizes=({"M": 64, "N": 96},), check=({"M": 13, "N": 21},),
                      block=(16, 8, 1), grid=("ceil_div(N, block_x)", "ceil_div(M, block_y)"))
    assert differences(state, coarsen("x", 4), loads_first("C")) == []


def test_loads_first_around_a_store_that_is_read_again() -> None:
    state = scheduled("""
__global__ void k(const float* A, float* C, float* D, int N) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < N) {
        C[x] = A[x] * 2.0f;
        D[x] = C[x] + A[x];
        C[x] = D[x] - 1.0f;
    }
}""", sizes=({"N": 1000},), check=({"N": 101},), block=(64, 1, 1))
    assert differences(state, coarsen("x", 4), loads_first("D")) == []
    assert differences(state, coarsen("x", 2, "strided"), loads_first("C")) == []
