"""What emitted code counts in ints, and the launcher must know of."""

from __future__ import annotations

from genome.lower import lower
from genome.printer.cuda import print_kernel
from tests.helpers.kernels import applied, block, scheduled, stage, tile, unroll
from tests.mutators.refusal_base import one

WIDE = """
__global__ void k(const float* a, float* b, TYPE N) {
    TYPE x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < N) b[x] = a[x];
}"""


def test_wide_coordinates_must_fit_an_int() -> None:
    fits = f"N <= {2**31 - 2**20}"
    for kind, needed in (("int", False), ("unsigned int", True), ("size_t", True), ("long long", True)):
        state = applied(scheduled(WIDE.replace("TYPE", kind)), block(x=64))
        assert (fits in state.preconditions) == needed, kind


def test_unsigned_subscripts_reach_past_an_int() -> None:
    state = scheduled("""
__global__ void k(const float* a, float* b, unsigned int H, unsigned int W) {
    unsigned int x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < W && y < H) b[y * W + x] = a[y * W + x];
}""", sizes=({"H": 100, "W": 90},), shapes={"a": "H*W", "b": "H*W"}, block=(16, 8, 1),
                      grid=("ceil_div(W, block_x)", "ceil_div(H, block_y)"))
    after = applied(state, stage("a"))
    assert "(long long)" in print_kernel(lower(after.logical, after.schedule, after.baseline).kernel)


def test_a_tiled_nest_of_stores_needs_disjoint_arrays() -> None:
    text = one("for (int i = 0; i < 8; ++i)\n    for (int j = 0; j < 8; ++j)\n"
               "        b[x * 64 + i * 8 + j] = a[x * 64 + j * 8 + i];")
    state = scheduled(text, shapes={"a": "64*N", "b": "64*N"})
    assert "disjoint(b, a)" in applied(state, tile("i,j", 4, 4)).preconditions
    assert "disjoint(b, a)" not in applied(state, tile("i", 4), unroll("j", "full")).preconditions
