"""Tiled, unrolled and reordered loops run in Python: the same stores, in the same order where the order is kept."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genome import ir
from genome.errors import Refusal
from genome.gene import Gene, Genome
from genome.lower import lower
from genome.lower.unroll import constant_trip
from genome.scheduled import Scheduled
from tests.helpers.interpret import Machine
from tests.helpers.kernels import applied, loads_first, scheduled, tile, unroll


def kernel(body: str, shape: str = "200") -> Scheduled:
    return scheduled(f"__global__ void k(int* b, const int* a, int lo, int hi, int n)\n{{\n{body}\n}}\n",
                     shapes={"a": "200", "b": shape}, sizes=({"lo": 0, "hi": 9, "n": 4},), block=(1, 1, 1), grid=("1",))


@dataclass(frozen=True)
class Outcome:
    trace: tuple[tuple[str, int], ...]
    memory: tuple[int, ...]


def run(state: Scheduled, **scalars: int) -> Outcome:
    body = lower(state.logical, state.schedule, state.baseline).kernel.body
    machine = Machine(scalars, {"a": [3 * i + 1 for i in range(200)], "b": [-i for i in range(200)]},
                      {p.name: p.type for p in state.unit.kernel.params})
    machine.run(body)
    return Outcome(tuple(machine.trace), tuple(machine.arrays["b"]))


LOOPS = {
    "up": "    for (int k = lo; k < hi; ++k) {\n        b[k] = a[k] + 2 * k;\n    }",
    "inclusive": "    for (int k = lo; k <= hi; ++k) {\n        int t = a[k];\n        b[k] = t + k;\n    }",
    "sum": "    int s = 0;\n    for (int k = lo; k < hi; ++k) {\n        s += a[k] * k;\n        b[k] = s;\n    }",
    "shifting": "    for (int k = lo; k < hi; ++k) {\n        b[k + 1] = b[k] + 1;\n    }",
    "wide": "    for (long long k = lo; k < hi; ++k) {\n        b[k] = a[k];\n    }",
}
GENOMES: tuple[Genome, ...] = (
    *((tile("k", t),) for t in (2, 3, 8)), *((unroll("k", "factor", f),) for f in (2, 3, 5)),
    (tile("k", 4), unroll("k", "factor", 2)), (tile("k", 5), unroll("k", "factor", 3)),
    (tile("k", 4), unroll("k", "full")),
    (tile("k", 3), unroll("k.o", "pragma", 2)), (unroll("k", "pragma", 4),))


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("genome", GENOMES, ids=lambda g: "-".join(map(str, g)))
def test_one_loop_keeps_the_order_of_its_stores(name: str, genome: Genome) -> None:
    state = kernel(LOOPS[name])
    new = applied(state, *genome)
    for lo, hi in itertools.product((0, 1, 5), (0, 1, 4, 5, 7, 8, 13)):
        assert run(new, lo=lo, hi=hi, n=4) == run(state, lo=lo, hi=hi, n=4), (lo, hi)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 9), st.integers(0, 20), st.sampled_from((1, 2, 3)), st.sampled_from(("<", "<=")))
def test_constant_loops_unrolled_fully(lo: int, hi: int, step: int, cmp: str) -> None:
    state = kernel(f"    for (int k = {lo}; k {cmp} {hi}; k += {step}) {{\n        b[k + 3] = a[k + 3] - k;\n    }}")
    new = applied(state, unroll("k", "full"))
    assert run(new, lo=0, hi=0, n=0) == run(state, lo=0, hi=0, n=0)


@settings(max_examples=80, deadline=None)
@given(st.integers(-5, 12), st.integers(-5, 12), st.sampled_from((1, 2, 3)), st.sampled_from(("<", "<=", ">", ">=")))
def test_constant_trip(lo: int, hi: int, step: int, cmp: str) -> None:
    step = step if "<" in cmp else -step
    holds = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__}[cmp]
    values, v = [], lo
    while holds(v, hi):
        values.append(v)
        v += step
    found = constant_trip(ir.For("k", "k", ir.INT, ir.IntLit(lo), cmp, ir.IntLit(hi), ir.IntLit(step), ()))
    assert found == (lo, step, len(values))


def test_loops_that_never_run() -> None:
    state = kernel("    for (int k = 5; k < 0; --k) {\n        b[k] = 7;\n    }")
    try:
        new = applied(state, unroll("k", "full"))
    except Refusal:
        return
    assert run(new, lo=0, hi=0, n=0) == run(state, lo=0, hi=0, n=0)


def test_negative_bounds_are_constant() -> None:
    state = kernel("    for (int k = -2; k <= 2; ++k) {\n        b[k + 2] = a[k + 2] - k;\n    }")
    new = applied(state, unroll("k", "full"))
    assert run(new, lo=0, hi=0, n=0) == run(state, lo=0, hi=0, n=0)


NEST = """\
    for (int i = 1; i < n; ++i) {
        for (int j = 0; j < hi - 1; ++j) {
            STATEMENT
        }
    }"""
STATEMENTS = {  # (statement, whether tiling both loops is legal)
    "independent": ("b[i * hi + j] = a[i] + a[j];", True),
    "down the column": ("b[i * hi + j] = b[(i - 1) * hi + j] + 1;", True),
    "forward diagonal": ("b[i * hi + j + 1] = b[(i - 1) * hi + j] + 1;", True),
    "backward diagonal": ("b[i * hi + j] = b[(i - 1) * hi + j + 1] + 1;", False),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_nests(name: str) -> None:
    """A tiled nest computes the same; where it would not, it is refused."""
    statement, legal = STATEMENTS[name]
    state = kernel(NEST.replace("STATEMENT", statement), "n*hi")
    genes: list[Gene] = [tile("i,j", s, t) for s, t in ((2, 3), (4, 2), (3, 5))]
    if not legal:
        for g in genes:
            with pytest.raises(Refusal) as r:
                applied(state, g)
            assert r.value.code == "tile-carries-dependence"
        return
    for g in genes:
        new = applied(state, g)
        for n, hi in itertools.product((1, 2, 5, 8), (0, 1, 4, 11)):
            was, now = run(state, lo=0, hi=hi, n=n), run(new, lo=0, hi=hi, n=n)
            assert now.memory == was.memory and sorted(now.trace) == sorted(was.trace)


@pytest.mark.parametrize("genes", [(unroll("k", "factor", 3),), (unroll("k", "factor", 4), tile("k", 8))],
                         ids=["plain", "tiled"])
def test_loads_first_changes_no_store(genes: Genome) -> None:
    state = kernel("    for (int k = lo; k < hi; ++k) {\n        int t = a[k] + 1;\n        b[k] = t * a[k + 1];\n"
                   "    }")
    new = applied(state, *genes, loads_first("k"))
    for hi in range(12):
        assert run(new, lo=1, hi=hi, n=0) == run(state, lo=1, hi=hi, n=0)


def test_tiles_of_a_narrow_loop_variable() -> None:
    """``unsigned char``: 0, 64, 128, 192, and 256 is 0 again."""
    state = kernel("    for (unsigned char k = 0; k < 199; ++k) {\n        b[k] = a[k];\n    }")
    try:
        new = applied(state, tile("k", 64))
    except Refusal:
        return
    assert run(new, lo=0, hi=0, n=0) == run(state, lo=0, hi=0, n=0)
