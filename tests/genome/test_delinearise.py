"""Flat subscripts split into dimensions: against enumeration of small extents."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genome.delinearise import delinearise
from genome.poly import Poly
from tests.helpers.cmodel import value

ONE = Poly.const(1)
i, j, k, M, N, K = (Poly.sym(s) for s in "ijkMNK")


def below(sub: Poly, extent: Poly) -> list[Poly]:
    """0 <= sub < extent."""
    return [sub, extent - sub - ONE]


POSITIVE = [M - ONE, N - ONE, K - ONE]
BOX = (*POSITIVE, *below(i, M), *below(j, N), *below(k, K))


@pytest.mark.parametrize(("flat", "factors", "subs", "extents", "ok"), [
    (i * N + j, (M, N), (i, j), (M, N), True),
    (j * M + i, (M, N), (j, i), (N, M), True),
    ((i * N + j) * K + k, (M, N, K), (i, j, k), (M, N, K), True),
    ((k * N + j) * M + i, (M, N, K), (k, j, i), (K, N, M), True),
    (i * N * K + j, (M, N, K), (i, Poly(), j), (M, K, N), True),    # the first split that can be proved
    (i * N + j + ONE, (M, N), (i * N + j + ONE,), (M * N,), False),    # j + 1 may leave the row
    (i * N + N + j, (M, N), (i + ONE, j), (M, N), False),    # the next row, which may not exist
    (i * N - N + j, (M, N), (i - ONE, j), (M, N), False),
    (i, (M,), (i,), (M,), True),
    (i * j, (M * N,), (i * j,), (M * N,), False),
    (i * (N + Poly.const(4)) + j + Poly.const(4), (M, N + Poly.const(4)), (i, j + Poly.const(4)),
     (M, N + Poly.const(4)), True),
])
def test_known(flat: Poly, factors: tuple[Poly, ...], subs: tuple[Poly, ...], extents: tuple[Poly, ...],
               ok: bool) -> None:
    assert delinearise(flat, factors, BOX) == (subs, extents, ok)


def test_constant_strides() -> None:
    c5 = Poly.const(5)
    facts = (*below(i, Poly.const(3)), *below(j, c5))
    assert delinearise(i * c5 + j, (Poly.const(3), c5), facts) == ((i, j), (Poly.const(3), c5), True)
    whole = Poly.const(15)
    assert delinearise(i * c5 + j, (whole,), facts) == ((i * c5 + j,), (whole,), True)


def test_without_facts_the_subscript_stays_flat() -> None:
    assert delinearise(i * N + j, (M, N), ()) == ((i * N + j,), (M * N,), False)


coefficient = st.sampled_from((0, 1, 1, 2))


@settings(max_examples=120, deadline=None)
@given(st.permutations([0, 1, 2]), st.integers(1, 3), st.tuples(coefficient, coefficient, coefficient),
       st.tuples(*[st.integers(-1, 2)] * 3), st.booleans())
def test_splits_are_true(order: list[int], rank: int, scale: tuple[int, ...], shift: tuple[int, ...],
                         constant: bool) -> None:
    """Whatever is returned equals the flat subscript, keeps every inner dimension inside its extent, and is in bounds
    where it says so, at all small sizes that satisfy the facts."""
    names, sizes = [i, j, k][:rank], [M, Poly.const(3) if constant else N, K][:rank]
    place = [o for o in order if o < rank]
    flat = Poly()
    for position in place:
        flat = flat * sizes[position] + Poly.const(scale[position]) * names[position] + Poly.const(shift[position])
    facts = tuple(q for n, s in zip(names, sizes, strict=True) for q in [*below(n, s), s - ONE])
    subs, extents, ok = delinearise(flat, sizes, facts)
    strides = [Poly.const(1)] * len(extents)
    for d in range(len(extents) - 2, -1, -1):
        strides[d] = strides[d + 1] * extents[d + 1]
    again = Poly()
    for s, t in zip(subs, strides, strict=True):
        again = again + s * t
    assert again == flat
    for values in itertools.product(range(1, 4), repeat=3):
        size = dict(zip("MNK", values, strict=True))
        ranges = [range(value(s, size)) for s in sizes]
        assert math.prod(value(e, size) for e in extents) == math.prod(len(r) for r in ranges)
        for at in itertools.product(*ranges):
            env = {**size, **dict(zip("ijk", at, strict=False))}
            for d, (s, e) in enumerate(zip(subs, extents, strict=True)):
                if d or ok:
                    assert 0 <= value(s, env) < value(e, env), f"{flat} as {[str(x) for x in subs]} at {env}"
