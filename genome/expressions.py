"""Arithmetic over a problem's scalars, as strings: shapes, grids, assumptions and launch preconditions.

The grammar is Python's arithmetic and comparison subset over integers and floats plus ``ceil_div``, ``min``,
``max``, ``abs``; nothing else evaluates, so a problem file cannot run code.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from functools import lru_cache

Number = int | float

FUNCTIONS = {
    "ceil_div": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
    "abs": abs,
}


class ExpressionError(ValueError):
    """The text is no expression of this grammar, names an unknown scalar, or divides by zero."""


DEEPEST = 200  # levels of nesting: evaluation recurses


@lru_cache(maxsize=4096)
def parse(text: str) -> ast.expr:
    """The expression's syntax tree (Python ``ast``), checked against the grammar. Raises :class:`ExpressionError`."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as e:  # ValueError: a null character
        raise ExpressionError(f"'{_short(text)}' is not an arithmetic expression") from e
    except (RecursionError, MemoryError) as e:  # what Python's own parser says of deep nesting
        raise ExpressionError(f"'{_short(text)}' is nested too deeply") from e
    if _depth(tree) > DEEPEST:
        raise ExpressionError(f"'{_short(text)}' is nested more than {DEEPEST} levels deep")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if not (isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS) or node.keywords:
                raise ExpressionError(f"'{text}' calls something other than {', '.join(FUNCTIONS)}")
        elif isinstance(node, ast.Constant):
            if not isinstance(node.value, (int, float)):
                raise ExpressionError(f"'{text}' contains {node.value!r}, which is no number")
        elif not isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Name, ast.operator,
                                   ast.unaryop, ast.cmpop, ast.boolop, ast.expr_context, ast.IfExp)):
            raise ExpressionError(f"'{text}' contains {type(node).__name__}, which is not allowed here")
    return tree


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


def _depth(tree: ast.expr) -> int:
    """Levels of the tree, without recursion."""
    depth, level = 0, [tree]
    while level:
        depth += 1
        level = [c for n in level for c in ast.iter_child_nodes(n)]  # type: ignore[misc]
    return depth


def names(text: str) -> set[str]:
    """The scalars that the expression reads."""
    return {n.id for n in ast.walk(parse(text)) if isinstance(n, ast.Name)} - set(FUNCTIONS)


def evaluate(text: str | Number, values: Mapping[str, Number]) -> Number:
    """The value for given scalars; integer division is ``/`` on two integers, as in C for non-negative values."""
    if isinstance(text, (int, float)):
        return text
    try:
        return _value(parse(text), values)
    except ZeroDivisionError as e:
        raise ExpressionError(f"'{text}' divides by zero") from e
    except KeyError as e:
        raise ExpressionError(f"'{text}' uses {e.args[0]}, which has no value") from e


def _value(node: ast.expr, values: Mapping[str, Number]) -> Number:
    if isinstance(node, ast.Constant):
        return node.value  # type: ignore[return-value]
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.UnaryOp):
        v = _value(node.operand, values)
        if isinstance(node.op, ast.USub):
            return -v
        return (not v) if isinstance(node.op, ast.Not) else v
    if isinstance(node, ast.BoolOp):
        parts = (_value(v, values) for v in node.values)
        return all(parts) if isinstance(node.op, ast.And) else any(parts)
    if isinstance(node, ast.IfExp):
        return _value(node.body if _value(node.test, values) else node.orelse, values)
    if isinstance(node, ast.Call):
        return FUNCTIONS[node.func.id](*(_value(a, values) for a in node.args))  # type: ignore
    if isinstance(node, ast.Compare):
        left = _value(node.left, values)
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = _value(right_node, values)
            ok = {ast.Eq: left == right, ast.NotEq: left != right, ast.Lt: left < right, ast.LtE: left <= right,
                  ast.Gt: left > right, ast.GtE: left >= right}.get(type(op))
            if ok is None:
                raise ExpressionError("only == != < <= > >= compare here")
            if not ok:
                return False
            left = right
        return True
    assert isinstance(node, ast.BinOp)
    a, b = _value(node.left, values), _value(node.right, values)
    match node.op:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult():
            return a * b
        case ast.Mod():
            return a % b
        case ast.FloorDiv():
            return a // b
        case ast.Div():
            return a // b if isinstance(a, int) and isinstance(b, int) else a / b
        case ast.Pow():
            if abs(a) > 1 and abs(b) * math.log2(max(abs(a), 2)) > 256:
                raise ExpressionError("a power that is too large")
            return a**b
        case ast.LShift() if not 0 <= b < 256:
            raise ExpressionError("a shift by too much")
        case ast.LShift():
            return int(a) << int(b)
        case ast.RShift():
            return int(a) >> int(b)
    raise ExpressionError("an operator that is not allowed here")
