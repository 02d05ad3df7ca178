"""Guards: where barriers may stand, and launches that have no point to compute."""

from __future__ import annotations

from tests.helpers.agree import differences
from tests.helpers.kernels import block, coarsen, example, refusal, scheduled, stage, tile

BRANCHES = """
__global__ void k(const float* A, const float* B, float* C, int M, int N, int K) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < N && y < M) {
        float s = 0.0f;
        if (CONDITION) {
            for (int k = 0; k < K; ++k)
                s += A[y * K + k] * B[k * N + x];
        } else {
            for (int j = 0; j < K; ++j)
                s -= A[y * K + j] + B[j * N + x];
        }
        C[y * N + x] = s;
    }
}"""


def branches(condition: str):  # type: ignore[no-untyped-def]
    return scheduled(BRANCHES.replace("CONDITION", condition), shapes={"A": "M*K", "B": "K*N", "C": "M*N"},
                     sizes=({"M": 64, "N": 96, "K": 40},), check=({"M": 13, "N": 21, "K": 9},), block=(16, 8, 1),
                     grid=("ceil_div(N, block_x)", "ceil_div(M, block_y)"))


def test_no_barrier_in_one_branch_of_two_that_threads_part_at() -> None:
    state = branches("x < 5")
    for label in ("k", "j"):
        assert refusal(state, tile(label, 4), stage("A" if label == "k" else "A#1", f"{label}.o")).code in (
            "stage-under-else", "stage-no-such-array")
    assert refusal(state, tile("k", 4), stage("B", "k.o")).code == "stage-under-else"


def test_barriers_in_both_branches_of_a_uniform_condition() -> None:
    state = branches("K > 4")
    assert differences(state, tile("k", 4), stage("B", "k.o"), coarsen("x", 2)) == []


def test_a_launch_without_points_has_a_block_all_the_same() -> None:
    state = example("stencil7", "opencl")
    after = differences(state, block(x=32, y=2, z=2))
    assert after == []
