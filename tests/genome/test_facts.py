"""No false fact: what is derived from a condition holds wherever C evaluates it to true, wrapping included."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genome import ir
from genome.facts import condition_facts, conjuncts, integer_type, loop_facts, negate
from genome.poly import Poly
from tests.helpers.cmodel import Undefined, evaluate, value

TYPES = {"i": ir.INT, "n": ir.INT, "u": ir.UINT, "w": ir.UINT, "l": ir.CType("long long")}
RANGES = {"i": (-2, -1, 0, 1, 3), "n": (-1, 0, 2, 5), "u": (0, 1, 2, 5), "w": (0, 1, 4), "l": (-1, 0, 2)}
KNOWN = tuple(Poly.sym(n) for n in ("u", "w"))
leaves: st.SearchStrategy[ir.Expr] = st.one_of(
    st.builds(ir.IntLit, st.integers(0, 3), st.sampled_from(("", "", "u"))), st.sampled_from("inuw").map(ir.Var))
WITH_64 = st.one_of(leaves, st.just(ir.Var("l")))


def terms(leaf: st.SearchStrategy[ir.Expr], casts: tuple[str, ...]) -> st.SearchStrategy[ir.Expr]:
    return st.recursive(leaf, lambda e: st.one_of(
        st.builds(ir.Bin, st.sampled_from(("+", "-", "-", "*")), e, e), st.builds(ir.Un, st.just("-"), e),
        st.builds(lambda o, t: ir.Cast(ir.CType(t), o), e, st.sampled_from(casts))), max_leaves=3)


def conditions(term: st.SearchStrategy[ir.Expr]) -> st.SearchStrategy[ir.Expr]:
    comparison = st.builds(ir.Bin, st.sampled_from(("<", "<=", ">", ">=", "==", "!=")), term, term)
    return st.recursive(comparison, lambda c: st.one_of(
        st.builds(ir.Bin, st.sampled_from(("&&", "||")), c, c), st.builds(ir.Un, st.just("!"), c)), max_leaves=3)


def points(names: set[str]) -> list[dict[str, int]]:
    used = sorted(names)
    return [dict(zip(used, v, strict=True)) for v in itertools.product(*(RANGES[n] for n in used))]


def names_in(e: object) -> set[str]:
    from genome.walk import variables

    return variables(e) | {"u", "w"}


def hold(cond: ir.Expr, facts: tuple[Poly, ...]) -> None:
    for at in points(names_in(cond)):
        try:
            true = evaluate(cond, at, TYPES)[0]
        except Undefined:
            continue
        if true:
            assert all(value(f, at) >= 0 for f in facts), f"{[str(f) for f in facts]} at {at}"


@settings(max_examples=150, deadline=None)
@given(conditions(terms(leaves, ("int", "unsigned int"))))
def test_no_false_fact_of_32_bits(cond: ir.Expr) -> None:
    hold(cond, condition_facts(cond, KNOWN, Poly.sym, TYPES))


def widened_unsigned_difference(e: ir.Expr) -> bool:
    """A 32-bit unsigned value that could have wrapped below zero, converted to 64 bits."""
    match e:
        case ir.Cast(type=t, operand=o) if t.base == "long long":
            kind = integer_type(o, TYPES)
            return (kind == (32, False) and not isinstance(o, (ir.Var, ir.IntLit))) or widened_unsigned_difference(o)
        case ir.Bin(left=a, right=b):
            ka, kb = integer_type(a, TYPES), integer_type(b, TYPES)
            mixed = ka is not None and kb is not None and ka[0] != kb[0]
            narrow = a if ka == (32, False) else b if kb == (32, False) else None
            return (mixed and narrow is not None and not isinstance(narrow, (ir.Var, ir.IntLit))) \
                or widened_unsigned_difference(a) or widened_unsigned_difference(b)
        case ir.Un(operand=o) | ir.Cast(operand=o):
            return widened_unsigned_difference(o)
    return False


@settings(max_examples=100, deadline=None)
@given(conditions(terms(WITH_64, ("int", "long long"))).filter(lambda c: not widened_unsigned_difference(c)))
def test_no_false_fact_of_64_bits(cond: ir.Expr) -> None:
    hold(cond, condition_facts(cond, KNOWN, Poly.sym, TYPES))


def test_widened_unsigned_difference() -> None:
    """``(long long)(u - w) >= 0`` is true for all u and w."""
    cond = ir.Bin(">=", ir.Cast(ir.CType("long long"), ir.Bin("-", ir.Var("u"), ir.Var("w"))), ir.IntLit(0))
    hold(cond, condition_facts(cond, KNOWN, Poly.sym, TYPES))


def fact_texts(cond: ir.Expr, known: tuple[Poly, ...] = ()) -> list[str]:
    return [str(f) for f in condition_facts(cond, known, Poly.sym, TYPES)]


def test_what_guards_tell() -> None:
    i, n, u, w = (ir.Var(v) for v in "inuw")
    assert fact_texts(ir.Bin("<", i, n)) == ["-i + n - 1"]
    assert fact_texts(ir.Bin("==", i, n)) == ["i - n", "-i + n"]
    assert fact_texts(ir.Un("!", ir.Bin(">=", i, n))) == ["-i + n - 1"]
    assert fact_texts(ir.Un("!", ir.Bin("||", ir.Bin(">=", i, n), ir.Bin("<", i, ir.IntLit(0))))) == ["-i + n - 1", "i"]
    assert fact_texts(ir.Bin("!=", i, n)) == fact_texts(ir.Bin("||", ir.Bin("<", i, n), ir.Bin("<", n, i))) == []
    assert fact_texts(ir.Bin("<", u, w), KNOWN) == ["-u + w - 1"]
    # unsigned: x - 1 < n is false at x == 0, and n - x >= 0 is always true
    assert fact_texts(ir.Bin("<", ir.Bin("-", u, ir.IntLit(1)), w), KNOWN) == []
    assert fact_texts(ir.Bin(">=", ir.Bin("-", w, u), ir.IntLit(0)), KNOWN) == []
    # a signed value is converted: -1 is not below a small unsigned one
    assert fact_texts(ir.Bin("<", i, u), KNOWN) == []
    assert fact_texts(ir.Bin("<", i, u), (*KNOWN, Poly.sym("i"))) == ["-i + u - 1"]
    # an earlier conjunct may prove what a later one needs
    both = ir.Bin("&&", ir.Bin(">=", i, ir.IntLit(0)), ir.Bin("<", i, u))
    assert fact_texts(both, KNOWN) == ["i", "-i + u - 1"]


def test_floating_point_comparisons_are_not_negated() -> None:
    types = {"f": ir.FLOAT, "g": ir.FLOAT}
    cond = ir.Un("!", ir.Bin("<", ir.Var("f"), ir.Var("g")))
    assert condition_facts(cond, (), Poly.sym, types) == ()
    assert negate(cond) == cond.operand and negate(cond.operand) == cond


def test_negation_and_conjuncts() -> None:
    a, b, c = (ir.Var(v) for v in "abc")
    both = ir.Bin("&&", a, ir.Bin("&&", b, c))
    assert conjuncts(both) == (a, b, c)
    assert negate(ir.Bin("||", a, b)) == ir.Bin("&&", ir.Un("!", a), ir.Un("!", b))
    assert negate(negate(both)) == both


KINDS = {"int": (32, True), "unsigned int": (32, False), "long long": (64, True), "unsigned char": (32, True),
         "unsigned short": (32, True), "size_t": (64, False)}


@pytest.mark.parametrize("a", KINDS)
@pytest.mark.parametrize("b", KINDS)
def test_usual_conversions(a: str, b: str) -> None:
    types = {"p": ir.CType(a), "q": ir.CType(b)}
    ka, kb = KINDS[a], KINDS[b]
    want = (ka[0], ka[1] and kb[1]) if ka[0] == kb[0] else max(ka, kb)
    assert integer_type(ir.Bin("+", ir.Var("p"), ir.Var("q")), types) == want
    assert integer_type(ir.Ternary(ir.IntLit(1), ir.Var("p"), ir.Var("q")), types) == want
    assert integer_type(ir.Bin("<<", ir.Var("p"), ir.Var("q")), types) == ka
    assert integer_type(ir.Bin("<", ir.Var("p"), ir.Var("q")), types) == (32, True)


def test_types_of_literals_and_others() -> None:
    for text, suffix, want in ((5, "", (32, True)), (5, "u", (32, False)), (2**31, "", (64, True)),
                               (2**31, "u", (32, False)), (2**32, "u", (64, False)), (1, "ll", (64, True))):
        assert integer_type(ir.IntLit(text, suffix), {}) == want
    assert integer_type(ir.Coord("x"), {}) == (32, False)
    for e in (ir.FloatLit("1.0f"), ir.Var("f"), ir.Cast(ir.FLOAT, ir.IntLit(1)), ir.Bin("+", ir.Var("f"), ir.IntLit(1)),
              ir.Cast(ir.CType("int", pointer=1), ir.Var("p"))):
        assert integer_type(e, {"f": ir.FLOAT, "p": ir.CType("int", pointer=1)}) is None


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(("i", "u")), terms(leaves, ("int", "unsigned int")), terms(leaves, ("int", "unsigned int")),
       st.sampled_from(("<", "<=", ">", ">=")), st.sampled_from((1, 2, -1, -3)))
def test_no_false_fact_about_loops(var: str, lo: ir.Expr, hi: ir.Expr, cmp: str, step: int) -> None:
    """The first iterations of the loop, run with C's arithmetic."""
    from genome.walk import variables

    if var in variables(lo) | variables(hi):
        return
    loop = ir.For(var, var, TYPES[var], lo, cmp, hi, ir.IntLit(step), ())
    known = tuple(k for k in KNOWN if k != Poly.sym(var))
    facts = loop_facts(loop, known, Poly.sym, TYPES)
    cond, nxt = ir.Bin(cmp, ir.Var(var), hi), ir.Bin("+", ir.Var(var), ir.IntLit(step))
    for at in points(variables(lo) | variables(hi) | ({"u", "w"} - {var})):
        try:
            v = evaluate(ir.Cast(TYPES[var], lo), at, TYPES)[0]
            for _ in range(8):
                if not evaluate(cond, {**at, var: v}, TYPES)[0] or v >= 2**31 - 8:
                    break  # loops that run into the end of an unsigned type are not modelled
                assert all(value(f, {**at, var: v}) >= 0 for f in facts), f"{facts} at {at}, {var}={v}"
                v = evaluate(ir.Cast(TYPES[var], nxt), {**at, var: v}, TYPES)[0]
        except Undefined:
            continue


def test_what_loops_tell() -> None:
    def texts(loop: ir.For, known: tuple[Poly, ...] = ()) -> list[str]:
        return [str(f) for f in loop_facts(loop, known, Poly.sym, TYPES)]

    up = ir.For("i", "i", ir.INT, ir.IntLit(0), "<", ir.Var("n"), ir.IntLit(1), ())
    assert texts(up) == ["i", "-i + n - 1"]
    down = ir.For("i", "i", ir.INT, ir.Bin("-", ir.Var("n"), ir.IntLit(1)), ">=", ir.IntLit(0), ir.IntLit(-1), ())
    assert texts(down) == ["-i + n - 1", "i"]
    assert texts(ir.For("i", "i", ir.INT, ir.IntLit(0), "<", ir.Var("n"), ir.Var("n"), ())) == []


def test_unsigned_counters_may_wrap() -> None:
    """``for (unsigned u = 0; u < bound; u -= 3)`` runs far past its start."""
    down = ir.For("u", "u", ir.UINT, ir.IntLit(0), "<", ir.Var("w"), ir.IntLit(-3), ())
    assert loop_facts(down, KNOWN, Poly.sym, TYPES) == (Poly.sym("u"), Poly.sym("w") - Poly.sym("u") - Poly.const(1))
    up = ir.For("u", "u", ir.UINT, ir.IntLit(2), "<", ir.Var("w"), ir.IntLit(1), ())
    assert Poly.sym("u") - Poly.const(2) in loop_facts(up, KNOWN, Poly.sym, TYPES)
