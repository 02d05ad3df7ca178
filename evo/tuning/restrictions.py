"""Restrictions on parameter combinations as Kernel Tuner users write them: Python expressions over parameter names.

They mean what they mean in Python (``/`` is true division, comparisons chain), but nothing outside arithmetic,
comparison and logic evaluates, so a file of restrictions cannot run code. One expression is evaluated for many
combinations at once.
"""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genome.errors import InputError

Column = NDArray[Any]

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: np.true_divide,
    ast.FloorDiv: np.floor_divide, ast.Mod: np.mod, ast.Pow: np.power,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_CALLS: dict[str, Callable[..., Any]] = {"min": np.minimum, "max": np.maximum, "abs": np.abs}


@dataclass(frozen=True)
class Restriction:
    """``names`` are the parameters that it reads."""

    text: str
    tree: ast.expr
    names: frozenset[str]

    def holds(self, columns: Mapping[str, Column]) -> NDArray[np.bool_]:
        """For columns of equal length n: shape (n,). A division by zero counts as not holding, as in Python, where it
        raises and the combination is left out."""
        length = len(next(iter(columns.values()))) if columns else 1
        with np.errstate(divide="ignore", invalid="ignore"):
            zero = np.zeros(length, dtype=bool)
            value = _value(self.tree, columns, zero)
        return np.broadcast_to(np.asarray(value).astype(bool), (length,)) & ~zero


def parse(text: str) -> Restriction:
    """Raises InputError with the part that is not allowed."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as e:
        raise InputError(f"the restriction '{text}' is no expression: {e.msg}") from e
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    for node in ast.walk(tree):
        _check(node, text)
    names = frozenset(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called)
    return Restriction(text, tree, names)


def _check(node: ast.AST, text: str) -> None:
    if isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Name) or node.func.id not in _CALLS or node.keywords:
            raise InputError(f"the restriction '{text}' calls something other than {', '.join(_CALLS)}")
        if len(node.args) != (1 if node.func.id == "abs" else 2):
            raise InputError(f"the restriction '{text}': min and max take two arguments, abs one")
    elif isinstance(node, ast.Constant):
        if not isinstance(node.value, (int, float, str)):
            raise InputError(f"the restriction '{text}' contains {node.value!r}")
    elif not isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Name, ast.expr_context, ast.boolop,
                               ast.IfExp, *_BINARY, *_COMPARE, ast.UAdd, ast.USub, ast.Not)):
        raise InputError(f"the restriction '{text}' contains {type(node).__name__}, which is not allowed here",
                         remedy="arithmetic, comparisons, and, or, not")


def load(path: Path) -> tuple[Restriction, ...]:
    """A sidecar file: a JSON list of texts, or one restriction a line (# starts a comment). Raises InputError."""
    try:
        text = path.read_text(encoding="utf-8")
        found = json.loads(text) if text.lstrip().startswith("[") else \
            [s for s in (line.split("#")[0].strip() for line in text.splitlines()) if s]
    except (OSError, ValueError) as e:
        raise InputError(f"restrictions cannot be read: {e}", file=str(path)) from e
    if not all(isinstance(s, str) for s in found):
        raise InputError("restrictions are texts", file=str(path))
    return tuple(parse(s) for s in found)


def _value(node: ast.expr, columns: Mapping[str, Column], zero: NDArray[np.bool_]) -> Any:
    """``zero`` collects where something was divided by zero, in evaluated branches only."""
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return columns[node.id]
        case ast.UnaryOp():
            v = _value(node.operand, columns, zero)
            return np.logical_not(v) if isinstance(node.op, ast.Not) else -v if isinstance(node.op, ast.USub) else v
        case ast.BoolOp():
            return _logic(node, columns, zero)
        case ast.IfExp():
            test = np.asarray(_value(node.test, columns, zero)).astype(bool)
            left, right = np.zeros_like(zero), np.zeros_like(zero)
            out = np.where(test, _value(node.body, columns, left), _value(node.orelse, columns, right))
            zero |= np.where(test, left, right)
            return out
        case ast.Call():
            return _CALLS[node.func.id](*(_value(a, columns, zero) for a in node.args))  # type: ignore[attr-defined]
        case ast.Compare():
            left = _value(node.left, columns, zero)
            out = np.ones(len(zero), dtype=bool)
            for op, right_node in zip(node.ops, node.comparators, strict=True):
                right = _value(right_node, columns, zero)
                out = out & _COMPARE[type(op)](left, right)
                left = right
            return out
    assert isinstance(node, ast.BinOp)
    a, b = _value(node.left, columns, zero), _value(node.right, columns, zero)
    if isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mod)):
        zero |= np.broadcast_to(np.asarray(b) == 0, zero.shape)
    return _BINARY[type(node.op)](a, b)


def _logic(node: ast.BoolOp, columns: Mapping[str, Column], zero: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Left to right; what Python would not evaluate cannot divide by zero."""
    conjunction = isinstance(node.op, ast.And)
    out = np.full(len(zero), conjunction)
    for part in node.values:
        reached = out if conjunction else ~out
        here = np.zeros_like(zero)
        value = np.broadcast_to(np.asarray(_value(part, columns, here)).astype(bool), zero.shape)
        zero |= here & reached
        out = out & value if conjunction else out | value
    return out
