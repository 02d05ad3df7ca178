"""Grid-stride loops as logical axes: what is one, what is not, and what is emitted. (tests/adversarial has kernels of
this kind, which random genomes are tried on.)"""

from __future__ import annotations

import pytest

from genome import ir
from genome.express import emit
from genome.normal import normalise
from genome.normal.counting import counting_loops
from genome.scheduled import Scheduled
from genome.unit import load_unit
from genome.walk import walk
from tests.helpers.kernels import applied, block, gene, scheduled

HEAD = "__global__ void k(const float* a, float* b, int N, int M)\n{\n"
LOOP = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += blockDim.x * gridDim.x) "
BIG = 2**31 - 1


def of(body: str, **options: object) -> Scheduled:
    return scheduled(HEAD + body + "\n}\n", values={"M": "N"}, grid=("64",), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("body", [
    LOOP + "b[i] = a[i];",
    LOOP.replace("blockDim.x * gridDim.x", "gridDim.x * blockDim.x") + "b[i] = a[i];",
    "int t = threadIdx.x + blockDim.x * blockIdx.x; int s = blockDim.x * gridDim.x;"
    "for (int i = t; i < N; i += s) b[i] = a[i];",
    "int i = blockIdx.x * blockDim.x + threadIdx.x; while (i < N) { b[i] = a[i]; i += blockDim.x * gridDim.x; }",
    "int i = blockIdx.x * blockDim.x + threadIdx.x; for (; i < N; i += blockDim.x * gridDim.x) b[i] = a[i];",
    "for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < N; i += (long long)gridDim.x * "
    "blockDim.x) b[i] = a[i];",
    LOOP.replace("i < N", "i <= N - 1") + "b[i] = a[i];",
    LOOP.replace("blockDim.x * gridDim.x", "256 * gridDim.x") + "b[i] = a[i];",
    "const float f = a[0]; " + LOOP + "{ if (a[i] < 0.0f) continue; b[i] = f * a[i]; } return;",
])
def test_what_is_one(body: str) -> None:
    state = of(body)
    assert state.logical.mapping_refusal is None and [axis for axis, _ in state.logical.walks] == ["x"]
    axis = state.logical.axes[0]
    assert (axis.text, axis.guarded, axis.threads) == ("N", True, 256)
    assert f"N + (64)*256 <= {BIG}" in state.preconditions
    new = applied(state, block(x=64))
    program = emit(new)
    assert program.launches[0].grid[0] == "ceil_div(N, 64)" and program.launches[0].block == (64, 1, 1)
    assert "gridDim" not in program.source


@pytest.mark.parametrize("body", [
    LOOP + "{ b[i] = a[i]; N -= 0; }",  # the bound changes
    "float s = 0.0f; " + LOOP + "{ s += a[i]; b[i] = s; }",  # a sum over the numbers of a thread
    "int n = 0; " + LOOP + "b[i] = a[n++ % N];",
    LOOP + "b[i] = a[i]; b[0] = 1.0f;",  # something comes after it
    LOOP + "b[i] = a[threadIdx.x];",  # the thread itself counts
    "int t = blockIdx.x * blockDim.x + threadIdx.x; for (int i = t; i < N; i += blockDim.x * gridDim.x) b[i] = a[t];",
    "float f = a[blockIdx.x * blockDim.x + threadIdx.x]; " + LOOP + "b[i] = f;",
    LOOP.replace("gridDim.x", "gridDim.y") + "b[i] = a[i];",
    LOOP.replace("blockDim.x * gridDim.x", "128 * gridDim.x") + "b[i] = a[i];",  # half the block
    LOOP.replace("blockDim.x * gridDim.x", "gridDim.x") + "b[i] = a[i];",
    LOOP.replace("blockDim.x * gridDim.x", "blockDim.x * gridDim.x + 1") + "b[i] = a[i];",
    LOOP.replace("int i = ", "int i = 1 + ") + "b[i] = a[i];",  # the first number is left out
    LOOP.replace("i < N", "i < (int)a[0]") + "b[i] = a[i];",
    LOOP + "b[i / 2] = a[i];",  # two numbers, one element
    LOOP + "b[i] = a[i] + b[(i + 64) % N];",
    "b[N - 1] = 0.0f; " + LOOP + "b[i] = a[i];",
    "__shared__ float s; " + LOOP + "b[i] = a[i];",
    LOOP + "{ while (a[i] > 1.0f) { if (b[i] > 0.0f) return; } b[i] = a[i]; }",
])
def test_what_is_none(body: str) -> None:
    state = of(body)
    assert not state.logical.walks and state.logical.mapping_refusal is not None


def test_the_last_step_must_not_overflow() -> None:
    assert of(LOOP + "b[i] = a[i];", sizes=({"N": BIG - 64 * 256},)).logical.walks
    assert not of(LOOP + "b[i] = a[i];", sizes=({"N": BIG - 64 * 256 + 1},)).logical.walks


def test_transforms_that_keep_the_launch_keep_the_loop() -> None:
    """Two axes, a value for each row: unrolling the inner loop leaves both walks where they are."""
    source = """__global__ void k(const float* a, float* b, int W, int H)
{
    for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < H; y += blockDim.y * gridDim.y) {
        const float f = a[y * W];
        for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < W; x += blockDim.x * gridDim.x) {
            float s = 0.0f;
            for (int j = 0; j < 4; ++j) s += f * a[y * W + x];
            b[y * W + x] = s;
        }
    }
}
"""
    state = scheduled(source, shapes={"a": "H*W", "b": "H*W"}, sizes=({"W": 100, "H": 70},), block=(16, 16, 1),
                      grid=("3", "2"))
    assert [axis for axis, _ in state.logical.walks] == ["y", "x"]
    assert {a.name: a.text for a in state.logical.axes} == {"x": "W", "y": "H"}
    kept = emit(applied(state, gene("UnrollLoop", "j", mode="full", factor=1)))
    assert kept.launches[0].grid[:2] == ("3", "2") and kept.launches[0].block == (16, 16, 1)
    assert "y += blockDim.y * gridDim.y" in kept.source and "x += blockDim.x * gridDim.x" in kept.source
    moved = emit(applied(state, gene("UseSharedMemory", "a#1", scope="block", order="01", pad=0)))
    assert moved.launches[0].grid[:2] == ("ceil_div(W, 16)", "ceil_div(H, 16)") and "gridDim" not in moved.source


@pytest.mark.parametrize(("body", "counts"), [
    ("int i = 0; while (i < n) { a[i] = 1; i++; }", True), ("int i = n; while (i > 0) { a[i] = 1; i -= 2; }", True),
    ("int i = 0; for (; i < n; ++i) a[i] = 1;", True), ("int i = 0; while (i < n) { a[i++] = 1; }", False),
    ("int i = 0; while (i < n) { a[i] = 1; i++; } a[0] = i;", False),
    ("int i = 0; while (i < n) { if (a[i]) continue; a[i] = 1; i++; }", False),
    ("int i = a[0]; while (i < n) { a[i] = 1; i++; }", False),
    ("int i = 0; do { a[i] = 1; i++; } while (i < n);", False),
    ("int i = 0; while (i < n) { a[i] = 1; n--; i++; }", False)])
def test_counters_of_while_loops(tmp_path: object, body: str, counts: bool) -> None:
    path = tmp_path / "k.cu"  # type: ignore[operator]
    path.write_text(f"__global__ void k(int* a, int n) {{ {body} }}\n")
    kernel = load_unit(path).kernel
    for made in (counting_loops(kernel), normalise(kernel)):
        assert any(isinstance(n, ir.For) for n in walk(made.body)) == counts
