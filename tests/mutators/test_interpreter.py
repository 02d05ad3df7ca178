"""The interpreter sees what it is for: each planted defect is found, and honest kernels raise no alarm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks._interpret import Fault, Machine
from genome import ir
from genome.lower import lower
from genome.scheduled import Scheduled
from genome.walk import rewrite, walk
from tests.helpers.kernels import applied, coarsen, example, pipeline, scheduled, stage, tile

M, N, K = 19, 37, 21


def staged() -> Scheduled:
    return applied(example("sgemm", "opencl"), tile("k", 8), stage("A", "k.o"), stage("B", "k.o"), coarsen("x", 2))


def execute(state: Scheduled, kernel: ir.Kernel) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(1)
    arrays = {"A": rng.standard_normal(M * K).astype(np.float32), "B": rng.standard_normal(K * N).astype(np.float32),
              "C": np.zeros(M * N, np.float32)}
    scalars = {"M": np.int32(M), "N": np.int32(N), "K": np.int32(K)}
    block = state.schedule.block
    grid = replace(state.launch, block=block, grid=state.grid).grid_at({"M": M, "N": N, "K": K})
    Machine(kernel, grid, block, arrays, scalars, frozenset({"C"})).run()
    return arrays["C"]


def changed(state: Scheduled, one: Callable[[Any], Any]) -> ir.Kernel:
    kernel = lower(state.logical, state.schedule, state.baseline, static_bytes=2**31).kernel
    new = kernel.with_body(rewrite(kernel.body, one))
    assert new != kernel
    return new


def without_nth(kind: type, n: int) -> Callable[[Any], Any]:
    seen = [0]

    def one(node: Any) -> Any:
        if isinstance(node, kind):
            seen[0] += 1
            return () if seen[0] == n + 1 else node
        return node

    return one


def test_an_honest_kernel() -> None:
    state = staged()
    kernel = lower(state.logical, state.schedule, state.baseline, static_bytes=2**31).kernel
    base = example("sgemm", "opencl")
    assert np.array_equal(execute(state, kernel), execute(base, base.unit.kernel))


@pytest.mark.parametrize("n", [0, 1])
def test_a_missing_barrier_is_a_race(n: int) -> None:
    state = staged()
    with pytest.raises(Fault, match="race|uninitialised"):
        execute(state, changed(state, without_nth(ir.Barrier, n)))


@pytest.mark.parametrize(("kind", "n"), [(ir.AsyncWait, 0), (ir.Barrier, 0), (ir.AsyncCommit, 0)])
def test_a_pipeline_that_does_not_wait(kind: type, n: int) -> None:
    state = applied(staged(), pipeline("k.o", 3))
    kernel = lower(state.logical, state.schedule, state.baseline, static_bytes=2**31).kernel
    assert execute(state, kernel).shape == (M * N,)
    with pytest.raises(Fault):
        execute(state, changed(state, without_nth(kind, n)))


def test_a_missing_guard_is_out_of_bounds() -> None:
    state = staged()

    def one(node: Any) -> Any:
        return node.then if isinstance(node, ir.Ternary) and isinstance(node.then, ir.Index) else node

    with pytest.raises(Fault, match="bounds"):
        execute(state, changed(state, one))
    with pytest.raises(Fault, match="bounds|race"):
        execute(state, changed(state, lambda s: s.then if isinstance(s, ir.If) and any(
            isinstance(n, ir.Assign) and n.target == ir.Var("C") or (isinstance(n, ir.Assign) and isinstance(
                n.target, ir.Index) and n.target.base == ir.Var("C")) for n in walk(s.then)) else s))


def test_a_barrier_that_part_of_a_block_reaches() -> None:
    state = staged()

    def one(node: Any) -> Any:
        if isinstance(node, ir.Barrier):
            return ir.If(ir.Bin("<", ir.Builtin("threadIdx.x"), ir.IntLit(3)), (node,))
        return node

    with pytest.raises(Fault, match="barrier"):
        execute(state, changed(state, one))


@pytest.mark.parametrize(("body", "kind"), [
    ("b[x / 2] = a[x];", "race"), ("b[x] = a[x] + b[x];", "uninitialised"), ("b[x] = a[x + 1];", "bounds"),
    ("float s; if (a[x] > 0.0f) s = 1.0f; b[x] = s;", "uninitialised"), ("b[x] = (float)(7 / (x - 5));", "division"),
    ("while (true) { b[x] = 1.0f; }", "endless"), ("float w[2]; w[0] = 1.0f; b[x] = w[x % 2];", "uninitialised"),
    ("float w[2]; w[x % 3] = 1.0f; b[x] = 1.0f;", "bounds"), ("b[x] = a[x]; b[0] = 1.0f;", "race")])
def test_faults(body: str, kind: str) -> None:
    state = scheduled(f"""
__global__ void k(const float* a, float* b, int N) {{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < N) {{ {body} }}
}}""", sizes=({"N": 40},), block=(32, 1, 1))
    arrays = {"a": np.linspace(-1, 1, 40).astype(np.float32), "b": np.zeros(40, np.float32)}
    with pytest.raises(Fault, match=kind):
        Machine(state.unit.kernel, (2, 1, 1), (32, 1, 1), arrays, {"N": np.int32(40)}, frozenset({"b"}),
                steps=3000).run()
