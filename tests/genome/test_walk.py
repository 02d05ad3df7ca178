"""Traversal and rewriting of the IR."""

from __future__ import annotations

import pytest

from genome import ir
from genome.walk import children, rewrite, root, substitute, variables, walk
from tests.helpers.kernels import EXAMPLES, example

A, B, IV, JV = (ir.Var(n) for n in ("a", "b", "i", "j"))
LOOP = ir.For("i", "i", ir.INT, ir.IntLit(0), "<", ir.Var("n"), ir.IntLit(1), (
    ir.Assign(ir.Index(A, (IV,)), "+=", ir.Bin("*", ir.Index(B, (IV, JV)), ir.FloatLit("2.0f"))),
    ir.If(ir.Bin("<", IV, JV), (ir.Break(),), (ir.Continue(),))))


def test_children_in_source_order() -> None:
    assert list(children(LOOP)) == [LOOP.lo, LOOP.hi, LOOP.step, *LOOP.body]
    assert list(children(ir.Index(B, (IV, JV)))) == [B, IV, JV]
    assert list(children(ir.Decl(ir.INT, "t", dims=(ir.IntLit(4), None), init=IV))) == [ir.IntLit(4), IV]


def test_walk_is_pre_order() -> None:
    kinds = [type(n).__name__ for n in walk(LOOP)]
    assert kinds[0] == "For" and kinds.index("Assign") < kinds.index("Index") < kinds.index("If")
    assert [n.name for n in walk(LOOP) if isinstance(n, ir.Var)] == ["n", "a", "i", "b", "i", "j", "i", "j"]
    assert list(walk((IV, (JV,)))) == [IV, JV] and list(walk(())) == []


def test_rewriting_keeps_identity_where_nothing_changed() -> None:
    assert rewrite(LOOP, lambda n: n) is LOOP
    assert substitute(LOOP, {}) is LOOP and substitute(LOOP, {"q": JV}) is LOOP
    new = substitute(LOOP, {"j": ir.IntLit(7)})
    assert new is not LOOP and new.lo is LOOP.lo and new.body[1].then is LOOP.body[1].then
    assert variables(new) == {"n", "a", "b", "i"}


def test_statements_are_replaced_deleted_and_split() -> None:
    def fn(n: object) -> object:
        if isinstance(n, ir.Break):
            return ()
        if isinstance(n, ir.Continue):
            return (ir.Barrier(), ir.Comment("twice"))
        return n

    new = rewrite(LOOP, fn)
    assert new.body[1].then == () and new.body[1].other == (ir.Barrier(), ir.Comment("twice"))
    assert rewrite((ir.Break(), LOOP), fn) == (new,)


def test_substitution_does_not_look_at_what_it_put_in() -> None:
    e = ir.Bin("+", IV, JV)
    assert substitute(e, {"i": JV, "j": IV}) == ir.Bin("+", JV, IV)


def test_variables_of_opaque_text() -> None:
    assert variables(ir.Opaque("x", frozenset({"r"}), frozenset({"w"}))) == {"r", "w"}
    assert variables(ir.Bin("+", ir.OpaqueExpr("q", frozenset({"q"})), IV)) == {"q", "i"}


@pytest.mark.parametrize(("e", "want"), [
    (A, "a"), (ir.Index(ir.Member(ir.Index(A, (IV,)), "x"), (JV,)), "a"), (ir.Un("*", A), "a"),
    (ir.Cast(ir.INT, A), "a"),
    (ir.Un("-", A), None), (ir.Bin("+", A, B), None), (ir.Call("f", (A,)), None), (ir.IntLit(3), None)])
def test_root(e: ir.Expr, want: str | None) -> None:
    assert root(e) == want


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_walked_whole(name: str) -> None:
    body = example(name).unit.kernel.body
    assert rewrite(body, lambda n: n) is body
    assert {n.name for n in walk(body) if isinstance(n, ir.Var)} <= variables(body)
