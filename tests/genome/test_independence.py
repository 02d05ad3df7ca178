"""Independence of points against brute force at tiny sizes: no refusal, no conflict; a witness is a conflict."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genome.logical import LogicalKernel
from tests.helpers.cmodel import value
from tests.helpers.kernels import EXAMPLES, example, line_of, scheduled


def kernel(write: str, read: str, loop: str, guard: str = "x < N") -> str:
    return (f"__global__ void k(float* b, int N, int S)\n{{\n    int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
            f"    if ({guard}) {{\n        for (int i = 0; i < {loop}; ++i) {{\n"
            f"            b[{write}] = b[{read}] + 1.0f; // here\n        }}\n    }}\n}}\n")


def logical(source: str) -> LogicalKernel:
    return scheduled(source, shapes={"b": "Q"}, sizes=({"N": 4, "S": 2, "Q": 99},)).logical


def elements(k: LogicalKernel, size: dict[str, int], loop: str) -> list[tuple[int, bool, int]]:
    """(point, is a write, element) of every access at a size, in exact arithmetic."""
    trips = {"1": 1, "2": 2, "S": size["S"], "N": size["N"]}[loop]
    out = []
    for a in k.accesses:
        assert a.poly is not None
        for x in range(size["N"]):
            for i in range(trips):
                env = {**size, "@x": x, "i": i}
                if all(value(f, env) >= 0 for f in a.facts):
                    out.append((x, a.write, value(a.poly, env)))
    return out


def conflict(found: list[tuple[int, bool, int]]) -> bool:
    writers: dict[int, set[int]] = {}
    for x, write, e in found:
        if write:
            writers.setdefault(e, set()).add(x)
    return any(writers.get(e, set()) - {x} for x, _, e in found)


term = st.sampled_from(("x", "2 * x", "x * S", "i", "2 * i", "i * S", "N", "x * N", "i * N", "N - x", "1", "3", "S"))
subscript = st.lists(term, min_size=1, max_size=3).map(" + ".join)


@settings(max_examples=70, deadline=None)
@given(subscript, subscript, st.sampled_from(("1", "2", "S", "N")), st.sampled_from(("x < N", "x >= 1 && x < N")))
def test_no_refusal_means_no_conflict(write: str, read: str, loop: str, guard: str) -> None:
    k = logical(kernel(write, read, loop, guard))
    if k.mapping_refusal is None:
        for n in range(1, 6):
            for s in range(1, 4):
                assert not conflict(elements(k, {"N": n, "S": s}, loop)), f"b[{write}] = b[{read}] at N={n}, S={s}"


@settings(max_examples=40, deadline=None)
@given(st.integers(-2, 2), st.integers(-2, 2), st.integers(1, 3), st.integers(1, 3))
def test_witnesses_are_conflicts(shift_w: int, shift_r: int, scale_w: int, scale_r: int) -> None:
    source = kernel(f"{scale_w} * x + {shift_w}", f"{scale_r} * x + {shift_r}", "1")
    r = logical(source).mapping_refusal
    expected = any(scale_w * p + shift_w == scale_r * q + shift_r for p in range(30) for q in range(30) if p != q)
    assert (r is not None) == expected
    if r is not None:
        assert r.code == "points-depend-on-each-other" and r.loc.line == line_of(source, "// here")
        m = re.fullmatch(r"point \(x=(\d+)\) writes an element of b that point \(x=(\d+)\) (reads|writes) \(line 6\)",
                         r.reason)
        assert m is not None, r.reason
        p, q = int(m[1]), int(m[2])
        scale, shift = (scale_r, shift_r) if m[3] == "reads" else (scale_w, shift_w)
        assert p != q and scale_w * p + shift_w == scale * q + shift


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_independent(name: str) -> None:
    assert example(name).logical.mapping_refusal is None


def test_products_are_not_proved() -> None:
    """x * S is injective for S > 0, which is not affine: refused with words, not with a made-up witness."""
    r = logical(kernel("x * S", "x * S", "1")).mapping_refusal
    assert r is not None and r.code == "points-not-proved-independent"


def test_declared_extents_prove_what_products_hide() -> None:
    source = kernel("x * S + i", "x * S + i", "S")
    assert scheduled(source, shapes={"b": "N*S"}, sizes=({"N": 4, "S": 2},)).logical.mapping_refusal is None
