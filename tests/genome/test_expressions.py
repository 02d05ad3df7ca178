"""The arithmetic of shapes and grids against Python's own, and what it refuses to evaluate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genome.expressions import FUNCTIONS, ExpressionError, evaluate, names, parse

NAMES = ("M", "N", "K")
leaves = st.one_of(st.sampled_from(NAMES), st.integers(0, 20).map(str))
texts = st.recursive(leaves, lambda e: st.one_of(
    st.builds("({} {} {})".format, e, st.sampled_from(("+", "-", "*", "//", "%", "==", "!=", "<", "<=", ">", ">=")), e),
    st.builds("-{}".format, e), st.builds("(not {})".format, e),
    st.builds("{}({}, {})".format, st.sampled_from(("ceil_div", "min", "max")), e, e), st.builds("abs({})".format, e),
    st.builds("({} if {} else {})".format, e, e, e)), max_leaves=6)
values = st.fixed_dictionaries({n: st.integers(0, 30) for n in NAMES})


@given(texts, values)
def test_agrees_with_python(text: str, at: dict[str, int]) -> None:
    try:
        want = eval(text, {"__builtins__": {}}, {**at, **FUNCTIONS})
    except ZeroDivisionError:
        with pytest.raises(ExpressionError, match="divides by zero"):
            evaluate(text, at)
        return
    assert evaluate(text, at) == want


@given(texts, texts, values)
def test_and_or_are_truth_values(a: str, b: str, at: dict[str, int]) -> None:
    try:
        x, y = bool(evaluate(a, at)), bool(evaluate(b, at))
    except ExpressionError:
        return
    assert evaluate(f"({a}) and ({b})", at) is (x and y)
    assert evaluate(f"({a}) or ({b})", at) is (x or y)


@given(texts)
def test_names(text: str) -> None:
    assert names(text) == {n for n in NAMES if n in text}


@pytest.mark.parametrize(("text", "want"), [
    ("7 / 2", 3), ("7.0 / 2", 3.5), ("ceil_div(7, 2)", 4), ("ceil_div(8, 2)", 4), ("2 ** 10", 1024), ("1 << 4", 16),
    ("256 >> 3", 32), ("1 < 2 < 3", True), ("1 < 2 > 3", False), ("-N % 4", 3), (" N ", 5), ("min(N, 3, 4)", 3)])
def test_values(text: str, want: float) -> None:
    assert evaluate(text, {"N": 5}) == want
    assert evaluate(3, {}) == 3 and evaluate(2.5, {}) == 2.5


@pytest.mark.parametrize("text", [
    "", "1 +", "f(1)", "__import__('os')", "N.real", "[1]", "N[0]", "lambda: 1", "'a'", "min(N, key=1)", "(1, 2)",
    "N := 3", "None", "{1}", "f'{N}'", "(lambda: 1)()", "1 if"])
def test_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse(text)


def test_messages_name_the_cause() -> None:
    with pytest.raises(ExpressionError, match="'N \\+ Q' uses Q, which has no value"):
        evaluate("N + Q", {"N": 1})
    with pytest.raises(ExpressionError, match="'N % 0' divides by zero"):
        evaluate("N % 0", {"N": 1})
    with pytest.raises(ExpressionError, match="calls something other than"):
        parse("pow(2, 3)")


@pytest.mark.parametrize("text", ["N is 3", "N in M", "N | 3", "N @ 3"])
def test_operators_that_are_not_of_the_grammar(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, {"N": 3, "M": 4})


@pytest.mark.parametrize("text", ["9**9**9", "1 << 100000", "2**-1e9"])
def test_large_powers_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, {})
