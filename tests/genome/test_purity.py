"""Which helpers are functions of their arguments alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from genome.purity import pure_functions
from genome.unit import load_unit
from tests.helpers.kernels import applied, block, refusal, scheduled

HELPERS = """\
__device__ float square(float x) { return x * x; }
__device__ float fourth(float x) { float s = square(x); return square(s); }
__device__ int count(int n) { int c = 0; for (int i = 0; i < n; ++i) { c += i; } return c; }
__device__ float clamped(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }
__device__ float lane(float x) { return x + threadIdx.x; }
__device__ float load(const float* p) { return p[0]; }
__device__ void sync(float x) { __syncthreads(); }
__device__ float through(float x) { return lane(x); }
__device__ float counter(float x) { static float n = 0.0f; n += x; return n; }
__device__ float table[4];
__device__ float lookup(int i) { return table[i]; }
__device__ float shuffled(float x) { return __shfl_down_sync(0xffffffffu, x, 1); }
"""
CALLS = ("square(x) + fourth(x) + count(x) + clamped(x) + lane(x) + load(a) + through(x) + counter(x) + lookup(x) "
         "+ shuffled(x)")
KERNEL = """\
__global__ void k(const float* a, float* b, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < N) {
        CALL
    }
}
"""


def test_pure_functions(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(HELPERS + KERNEL.replace("CALL", f"sync(a[x]); b[x] = {CALLS};"), encoding="utf-8")
    unit = load_unit(path)
    assert {f.name for f in unit.functions} >= {"square", "lane", "load", "counter", "lookup", "shuffled", "sync"}
    assert pure_functions(unit) == {"square", "fourth", "count", "clamped"}


@pytest.mark.parametrize(("call", "ok"), [("fourth(a[x])", True), ("count(x)", True), ("lane(a[x])", False),
                                          ("through(a[x])", False), ("lookup(x)", False), ("shuffled(a[x])", False)])
def test_what_it_is_for(call: str, ok: bool) -> None:
    """Threads may be redistributed around calls of pure functions only."""
    state = scheduled(HELPERS + KERNEL.replace("CALL", f"b[x] = {call};"))
    if ok:
        applied(state, block(x=64))
    else:
        assert refusal(state, block(x=64)).code == "call-with-effects"
