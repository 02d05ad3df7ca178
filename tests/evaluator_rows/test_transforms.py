"""What transforms may not assume (rows C4, C16 of docs/evaluator-fixtures.md)."""

from __future__ import annotations

from evo.problem import load_problem
from genome.express import emit
from genome.scheduled import schedule_kernel
from tests.helpers.kernels import ROOT, applied, block, coarsen, example, refusal, scheduled, stage, tile


def test_C4_an_input_that_may_overlap_the_output_is_staged_under_a_precondition_only() -> None:
    """Nothing in ``sgemm(A, B, C)`` says that C is another array: the launcher must look, or the baseline runs."""
    base = example("sgemm", "cuda")
    staged = applied(base, tile("k", 8), stage("A", "k.o"), coarsen("x", 2))
    assert {"disjoint(C, A)", "disjoint(C, B)"} <= set(emit(staged).preconditions)


def test_C4_an_in_place_kernel_is_not_reordered() -> None:
    problem = load_problem(ROOT / "tests" / "adversarial" / "in_place_stencil.toml", "cuda")
    state = schedule_kernel(problem.unit, problem.workload, problem.launch)
    assert refusal(state, block(x=64)).code == "points-depend-on-each-other"


def test_C4_no_transform_adds_restrict() -> None:
    for genes in ((block(x=32, y=8),), (tile("k", 8), stage("A", "k.o"), stage("B", "k.o")),
                  (coarsen("x", 4), coarsen("y", 2))):
        for language in ("cuda", "opencl"):
            source = emit(applied(example("sgemm", language), *genes), language).source
            assert "restrict" not in source


def test_C16_coordinates_are_narrowed_to_int_with_proof_only() -> None:
    text = ("__global__ void k(const float* a, float* b, size_t N)\n{\n"
            "    size_t x = (size_t)blockIdx.x * blockDim.x + threadIdx.x;\n    if (x < N) b[x] = a[x];\n}\n")
    wide = refusal(scheduled(text, sizes=({"N": 3_000_000_000},)), block(x=64))
    assert wide.code == "axis-over-int" and "more than an int counts" in wide.reason
    small = applied(scheduled(text, sizes=({"N": 3_000_000},)), block(x=64))
    assert any("N <= " in p for p in small.preconditions), "and the launcher checks what the proof rests on"


def test_C16_a_grid_over_the_limit_is_refused_before_it_runs() -> None:
    text = ("__global__ void k(const float* a, float* b, int H, int W)\n{\n"
            "    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;\n"
            "    if (x < W && y < H) b[y * W + x] = a[y * W + x];\n}\n")
    state = scheduled(text, sizes=({"H": 70000, "W": 200},), block=(32, 4, 1), shapes={"a": "H*W", "b": "H*W"},
                      grid=("ceil_div(W, block_x)", "ceil_div(H, block_y)"))
    assert refusal(state, block(x=256, y=1)).code == "grid-over-limit"
