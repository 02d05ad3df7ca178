"""Elements that are no numbers: what a masked load gives must be written in their type, or the load not masked."""

from __future__ import annotations

import pytest

from genome.express import emit
from tests.helpers.kernels import applied, block, coarsen, scheduled
from tests.helpers.nvrtc import compile_ptx

TEXT = """
HEAD
__global__ void k(const TYPE* A, TYPE* C, int M, int N) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < N && y < M) {
        TYPE v = A[y * N + x];
        for (int k = 0; k < 3; ++k) {
            TYPE w = A[y * N + k];
            v.x += w.x;
        }
        v.x += A[x].x;
        C[y * N + x] = v;
        C[y * N + x].x += A[y].x;
    }
}"""


@pytest.mark.parametrize(("kind", "head"), [
    ("float4", ""), ("int2", ""), ("uchar4", ""), ("double2", ""), ("Pair", "struct Pair { float x; int n; };")])
def test_masked_loads_compile(kind: str, head: str) -> None:
    state = scheduled(TEXT.replace("TYPE", kind).replace("HEAD", head), shapes={"A": "M*N + N", "C": "M*N"},
                      sizes=({"M": 64, "N": 96},), block=(16, 8, 1),
                      grid=("ceil_div(N, block_x)", "ceil_div(M, block_y)"))
    for genes in ((coarsen("x", 4),), (coarsen("y", 2), block(x=32, y=4)),
                  (coarsen("x", 2), coarsen("y", 2, "strided"))):
        assert ".entry k(" in compile_ptx(emit(applied(state, *genes), "cuda").source)
