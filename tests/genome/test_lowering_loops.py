"""Loops whose bounds, types and starts once led lowering astray."""

from __future__ import annotations

import pytest

from genome.scheduled import Scheduled
from tests.helpers.agree import differences
from tests.helpers.kernels import block, coarsen, loads_first, refusal, scheduled, stage, tile, unroll


def kernel(body: str, params: str = "const float* A, float* C, int N", head: str = "", **more: object) -> Scheduled:
    more.setdefault("sizes", ({"N": 1000},))
    more.setdefault("check", ({"N": 101},))
    more.setdefault("block", (64, 1, 1))
    more.setdefault("shapes", {"A": "N + 8"})
    return scheduled(f"""{head}
__global__ void k({params}) {{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < N) {{
        {body}
    }}
}}""", **more)  # type: ignore[arg-type]


def test_copies_keep_the_type_of_the_loop_variable() -> None:
    state = kernel("""int s = 0;
        for (unsigned int k = 0; k < 4; ++k)
            s += A[x] - k < 3;
        for (long long j = 1; j < 5; ++j)
            s += (int)(((j << 32) / 3) >> 30);
        C[x] = s;""", "const int* A, int* C, int N")
    assert differences(state, unroll("k", "full"), unroll("j", "full")) == []


def test_a_loop_that_ends_by_wrapping_is_not_empty() -> None:
    state = kernel("""float s = A[x];
        for (unsigned int k = 3; k < 4; --k)
            s = s * 0.5f + (float)k;
        C[x] = s;""")
    assert refusal(state, unroll("k", "full")).code == "unroll-no-constant-trip"
    assert refusal(state, unroll("k", "factor")).code == "unroll-loop-not-unit-step"
    assert refusal(state, tile("k", 4)).code == "tile-loop-not-unit-step"
    assert differences(state, unroll("k", "pragma"), coarsen("x", 2)) == []


def test_a_box_is_not_taken_from_a_loop_that_ends_by_wrapping() -> None:
    state = kernel("""float s = 0.0f;
        for (unsigned int k = 3; k < 4; --k)
            s = s * 0.5f + A[x + k];
        C[x] = s;""")
    assert refusal(state, stage("A", order="0")).code == "stage-loop-bounds"


def test_narrow_counters_are_not_tiled() -> None:
    state = kernel("""float s = A[x];
        for (unsigned char k = 0; k < 250; ++k)
            s = s * 0.5f + (float)k;
        C[x] = s;""")
    assert refusal(state, tile("k", 8)).code == "tile-loop-type"


def test_a_variable_that_outlives_its_loop_is_not_copied_away() -> None:
    state = kernel("""int k;
        float s = 0.0f;
        for (k = 0; k < 4; ++k)
            s += A[x];
        C[x] = s + (float)k;""")
    assert refusal(state, unroll("k", "full")).code == "loop-variable-outlives-loop"


def test_a_start_that_an_outer_loop_sets_makes_no_box() -> None:
    state = kernel("""float s = 0.0f;
        for (int i = 0; i < 4; ++i)
            for (int j = i; j < i + 3; ++j)
                s = s * 0.5f + A[x + j];
        C[x] = s;""")
    assert refusal(state, stage("A", order="0")).code == "stage-loop-start-varies"
    assert refusal(state, tile("i", 2), stage("A", "i.o", "0")).code == "stage-loop-start-varies"
    assert differences(state, coarsen("x", 4), unroll("j", "factor", 2), tile("j", 2)) == []


GRID_OF_UNKNOWN = """
__global__ void k(const float* A, float* C, int pitch) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0.0f;
    for (int j = 0; j < 6; ++j)
        s += A[x] * (float)j;
    C[x] = s;
}"""


def test_an_axis_of_unknown_extent_is_not_masked() -> None:
    state = scheduled(GRID_OF_UNKNOWN, shapes={"A": "64*R", "C": "64*R"}, sizes=({"R": 5},), block=(64, 1, 1),
                      grid=("R",), values={"pitch": "64"})
    assert refusal(state, block(x=128)).code == "extent-unknown"
    assert differences(state, tile("j", 4), unroll("j", "factor", 2)) == []


def test_loads_do_not_pass_what_may_write_them() -> None:
    state = kernel("""float s = 0.0f;
        for (int k = 0; k < 4; ++k)
            s += (float)atomicAdd(D, 1) + A[x];
        C[x] = s;""", "const float* A, float* C, int* D, int N")
    assert refusal(state, unroll("k", "full"), loads_first("k")).code == "reorder-effects"
    state = kernel("""float* p = x > 3 ? C : D;
        float s = 0.0f;
        for (int k = 0; k < 4; ++k) {
            s += A[x];
            p[x] = s;
        }""", "const float* A, float* C, float* D, int N")
    assert refusal(state, unroll("k", "full"), loads_first("k")).code == "reorder-effects"


@pytest.mark.parametrize("store", ["seen[x / 2] = A[x];", "seen[0]++;"])
def test_variables_of_the_file_are_not_private(store: str) -> None:
    state = kernel(f"C[x] = A[x]; {store}", head="__device__ float seen[4096];")
    assert refusal(state, block(x=128)).code == "global-written"
