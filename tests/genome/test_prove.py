"""Proofs with isl against enumeration of small boxes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genome import prove
from genome.poly import Poly
from tests.helpers.cmodel import value

NAMES = ("x", "y", "z")
BOX = range(-3, 4)
WALLS = [q for n in NAMES for q in (Poly.sym(n) + Poly.const(3), Poly.const(3) - Poly.sym(n))]
affine = st.tuples(*[st.integers(-3, 3)] * 4).map(
    lambda c: Poly.of({("x",): c[0], ("y",): c[1], ("z",): c[2], (): c[3]}))
quadratic = st.tuples(affine, affine).map(lambda p: p[0] * p[1])


def inside(system: list[Poly], zero: list[Poly]) -> list[dict[str, int]]:
    at = [dict(zip(NAMES, v, strict=True)) for v in itertools.product(BOX, repeat=3)]
    return [p for p in at if all(value(q, p) >= 0 for q in system) and all(value(q, p) == 0 for q in zero)]


@settings(max_examples=60, deadline=None)
@given(st.lists(affine, max_size=4), st.lists(affine, max_size=1))
def test_affine_systems_are_decided(system: list[Poly], zero: list[Poly]) -> None:
    points = inside(system, zero)
    assert prove.empty([*system, *WALLS], zero) == (not points)
    witness = prove.sample([*system, *WALLS], zero)
    assert (witness is None) == (not points)
    if witness is not None:
        assert {**dict.fromkeys(NAMES, 0), **witness} in points


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(affine, quadratic), max_size=4), st.one_of(affine, quadratic))
def test_proofs_with_products_are_never_wrong(facts: list[Poly], goal: Poly) -> None:
    if prove.implies([*facts, *WALLS], goal):
        assert all(value(goal, p) >= 0 for p in inside(facts, []))
    if prove.empty([*facts, *WALLS], [goal]):
        assert not inside(facts, [goal])


def test_products_are_symbols_of_their_own() -> None:
    n, k, i = Poly.sym("N"), Poly.sym("k"), Poly.sym("i")
    one = Poly.const(1)
    facts = [k, n - k - one, n * i]
    assert prove.implies(facts, n * i + k)
    assert not prove.implies(facts, n * i - k)
    assert not prove.implies([n - one, i - one], n * i - one), "true, but not affine"


def test_constants_need_no_proof() -> None:
    assert prove.implies([], Poly.const(0)) and not prove.implies([], Poly.const(-1))
    assert not prove.empty([]) and prove.empty([Poly.const(-1)])


def test_giving_up_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"q{i}" for i in range(8)]
    total = sum((Poly.sym(n) for n in names), Poly())
    system = [Poly.sym(n) * Poly.const(3) - Poly.const(1) for n in names] + [Poly.const(7) - total * Poly.const(2)]
    monkeypatch.setattr(prove, "MAX_OPERATIONS", 100)
    prove._empty.cache_clear()
    assert not prove.empty(system) and prove.sample(system) is None
    monkeypatch.undo()
    prove._empty.cache_clear()
    assert prove.empty(system)


def test_giving_up_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prove, "MAX_OPERATIONS", 10)
    x, y = Poly.sym("giving_up_x"), Poly.sym("giving_up_y")
    assert not prove.implies([x - y, y], x)
    assert prove.sample([x - y, y]) is None
