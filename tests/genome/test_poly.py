"""Polynomial arithmetic against Python's integers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from genome import ir
from genome.poly import Poly, coord_symbol, from_expr
from tests.helpers.cmodel import value

NAMES = ("a", "b", "c")
monomials = st.lists(st.sampled_from(NAMES), max_size=3).map(lambda m: tuple(sorted(m)))
polys = st.dictionaries(monomials, st.integers(-5, 5), max_size=4).map(Poly.of)
points = st.fixed_dictionaries({n: st.integers(-7, 7) for n in NAMES})


@given(polys, polys, points)
def test_ring_operations(p: Poly, q: Poly, at: dict[str, int]) -> None:
    x, y = value(p, at), value(q, at)
    assert value(p + q, at) == x + y
    assert value(p - q, at) == x - y
    assert value(p * q, at) == x * y
    assert value(-p, at) == -x
    assert p + q == q + p and p * q == q * p and p - p == Poly()


@given(polys, polys, polys)
def test_equal_polynomials_are_equal_data(p: Poly, q: Poly, r: Poly) -> None:
    assert (p + q) * r == p * r + q * r and hash((p + q) * r) == hash(p * r + q * r)
    for t in (p, p * q, p - q):
        assert list(t.terms) == sorted(t.terms) and all(c for _, c in t.terms)
        assert all(m == tuple(sorted(m)) for m, _ in t.terms)


@given(polys, polys, polys, points)
def test_substitution(p: Poly, q: Poly, r: Poly, at: dict[str, int]) -> None:
    assert value(p.substitute({"a": q, "b": r}), at) == value(p, {**at, "a": value(q, at), "b": value(r, at)})


@given(polys, polys)
def test_division(p: Poly, d: Poly) -> None:
    lead = max(d.terms, key=lambda t: (len(t[0]), t[0]), default=((), 0))
    found = p.divide(d)
    if lead[1] != 1 or not lead[0]:
        assert found is None
        return
    if found is None:
        return  # more than 64 steps
    quotient, rest = found
    assert quotient * d + rest == p
    for m, _ in rest.terms:
        assert any(m.count(s) < lead[0].count(s) for s in lead[0]), "a term could still be divided"


def test_division_of_row_major_subscripts() -> None:
    i, k, n, m = (Poly.sym(s) for s in "iknm")
    assert (i * n + k).divide(n) == (i, k)
    assert ((i * m + k) * n + m).divide(m * n) == (i, k * n + m)
    assert ((i + Poly.const(2)) * (n + Poly.const(4)) + k).divide(n + Poly.const(4)) == (i + Poly.const(2), k)


@given(polys)
def test_queries(p: Poly) -> None:
    assert p.is_constant == (not p.symbols)
    assert p.constant == value(p, dict.fromkeys(NAMES, 0))
    assert p.is_affine == all(len(m) < 2 for m, _ in p.terms)
    for n in NAMES:
        rest = p - Poly.of({(n,): p.coefficient(n)})
        assert p.linear_in(n) == (n not in rest.symbols)


def test_text() -> None:
    x, n = Poly.sym("x"), Poly.sym("N")
    assert str(x * n - n + Poly.const(3)) == "N*x - N + 3"
    assert str(Poly()) == "0" and str(-x) == "-x" and str(Poly.const(2) * x - Poly.const(1)) == "2*x - 1"


def _expressions() -> st.SearchStrategy[ir.Expr]:
    leaves: st.SearchStrategy[ir.Expr] = st.one_of(
        st.integers(0, 9).map(ir.IntLit), st.sampled_from(NAMES).map(ir.Var), st.just(ir.Coord("x")))
    return st.recursive(leaves, lambda e: st.one_of(
        st.builds(ir.Bin, st.sampled_from(("+", "-", "*")), e, e),
        st.builds(ir.Un, st.sampled_from(("-", "+")), e),
        st.builds(lambda o, t: ir.Cast(ir.CType(t), o), e, st.sampled_from(("int", "long long", "size_t"))),
        st.builds(lambda o, s: ir.Bin("<<", o, ir.IntLit(s)), e, st.integers(0, 4)),
        st.builds(lambda a, b, op: ir.Bin(op, ir.IntLit(a), ir.IntLit(b)), st.integers(0, 99), st.integers(1, 9),
                  st.sampled_from("/%")),
    ), max_leaves=8)


def _math(e: ir.Expr, at: dict[str, int]) -> int:
    match e:
        case ir.IntLit(value=v):
            return v
        case ir.Var(name=n):
            return at[n]
        case ir.Coord():
            return at["@x"]
        case ir.Cast(operand=o):
            return _math(o, at)
        case ir.Un(op=op, operand=o):
            return -_math(o, at) if op == "-" else _math(o, at)
        case ir.Bin(op=op, left=left, right=right):
            a, b = _math(left, at), _math(right, at)
            return {"+": a + b, "-": a - b, "*": a * b, "<<": a << b if b >= 0 else 0,
                    "/": a // b if b else 0, "%": a % b if b else 0}[op]
    raise AssertionError(e)


@given(_expressions(), points, st.integers(0, 9))
def test_from_expression(e: ir.Expr, at: dict[str, int], x: int) -> None:
    p = from_expr(e, Poly.sym)
    assert p is not None
    assert value(p, {**at, "@x": x}) == _math(e, {**at, "@x": x})


def test_what_is_no_polynomial() -> None:
    a, b = ir.Var("a"), ir.Var("b")
    known = {"a": Poly.sym("a")}.get
    for e in (ir.Bin("/", a, b), ir.Bin("%", a, ir.IntLit(4)), ir.Bin("&", a, b), ir.Bin("<<", a, b),
              ir.FloatLit("1.0"), ir.Cast(ir.CType("unsigned char"), a), ir.Cast(ir.FLOAT, a),
              ir.Index(a, (b,)), ir.Call("f", (a,)),
              ir.Bin("/", ir.Un("-", ir.IntLit(7)), ir.IntLit(2)), ir.Bin("<<", a, ir.IntLit(40)),
              ir.Ternary(a, a, b)):
        assert from_expr(e, Poly.sym) is None, e
    assert from_expr(b, known) is None and from_expr(ir.Bin("+", a, b), known) is None
    assert from_expr(a, {"a": Poly.sym("q") * Poly.sym("q")}.get) == Poly.sym("q") * Poly.sym("q")
    assert coord_symbol("y") == "@y"
