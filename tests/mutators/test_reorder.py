"""ReorderInstructions has an effect that the compiler keeps: loads stand before stores in the instructions."""

from __future__ import annotations

import pytest

from genome.express import emit
from genome.gene import Genome
from genome.scheduled import Scheduled
from tests.golden.cases import CASES
from tests.helpers.kernels import applied, coarsen, example, loads_first, scheduled, unroll
from tests.helpers.nvrtc import compile_ptx, longest_load_run, memory_order

UNGUARDED_LOOP = """\
__global__ void rows(const float* in, float* out, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < N) {
        for (int i = 0; i < 8; ++i) {
            out[i * N + x] = 2.0f * in[i * N + x];
        }
    }
}
"""


def orders(state: Scheduled, before: Genome, after: Genome) -> tuple[str, str]:
    """Global loads and stores of the kernel, in the order of the PTX, without and with the reordering."""
    one, two = (memory_order(compile_ptx(emit(applied(state, *g)).source)) for g in (before, after))
    return one, two


def test_unrolled_loop() -> None:
    state = scheduled(UNGUARDED_LOOP, shapes={"in": "8*N", "out": "8*N"})
    before, after = orders(state, (unroll("i", "full"),), (unroll("i", "full"), loads_first("i")))
    assert before == "LS" * 8 and after == "L" * 8 + "S" * 8


def test_loop_with_a_remainder() -> None:
    """Of softmax's last loop: four loads at once in the main loop, one at a time in the rest."""
    state = example("softmax")
    before, after = orders(state, (unroll("j_3", "factor", 4),), (unroll("j_3", "factor", 4), loads_first("j_3")))
    assert "LSLSLSLS" in before and "LLLLSSSS" in after and before.count("L") == after.count("L")


@pytest.mark.parametrize("mode", ["blocked", "strided", "fragments"])
def test_coarsened_store(mode: str) -> None:
    """Of transpose, four points a thread: guarded loads first, then guarded stores."""
    base = coarsen("y", 4, mode, 2)
    before, after = orders(example("transpose"), (base,), (base, loads_first("out")))
    assert before == "LSLSLSLS" and after == "LLLLSSSS"


def test_stencil() -> None:
    state = example("stencil7")
    base = coarsen("z", 2, "strided")
    before, after = orders(state, (base,), (base, loads_first("out")))
    assert before == ("L" * 7 + "S") * 2 and after.count("S") == 2 and after.endswith("SS")


def test_golden_sources_show_it() -> None:
    for case in CASES:
        if case.mutator == "ReorderInstructions":
            without = emit(applied(case.base(), *case.genes[:-1])).source
            run = longest_load_run(compile_ptx(case.program().source))
            assert run >= 4 and run > longest_load_run(compile_ptx(without))
