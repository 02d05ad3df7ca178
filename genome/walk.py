"""Generic traversal and rewriting of the kernel IR."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from genome import ir

EXPRS = (
    ir.IntLit, ir.FloatLit, ir.Literal, ir.Var, ir.Builtin, ir.Coord, ir.Index, ir.Bin, ir.Un, ir.IncDec,
    ir.AssignExpr, ir.Call, ir.Cast, ir.Ternary, ir.Member, ir.InitList, ir.OpaqueExpr,
)
STMTS = (
    ir.Decl, ir.Assign, ir.For, ir.Loop, ir.If, ir.Block, ir.Barrier, ir.Eval, ir.Return, ir.Break, ir.Continue,
    ir.Comment, ir.Opaque, ir.AsyncCopy, ir.AsyncCommit, ir.AsyncWait,
)
NODES = EXPRS + STMTS


_NAMES: dict[type, tuple[str, ...]] = {}  # fields that may hold nodes: dataclasses.fields() at every node is slow
_PLAIN = frozenset({"loc", "name", "op", "text", "label", "var", "cmp", "unroll", "comment", "style", "type", "func",
                    "reason", "reads", "writes", "barrier", "suffix", "prefix", "arrow", "space", "align", "axis",
                    "kind", "bytes", "pending"})


def field_names(node: Any) -> tuple[str, ...]:
    """The names of the fields of a node that may hold other nodes."""
    kind = type(node)
    if kind not in _NAMES:
        _NAMES[kind] = tuple(f.name for f in fields(kind) if f.name not in _PLAIN)
    return _NAMES[kind]


def children(node: Any) -> Iterator[Any]:
    """The direct child nodes (expressions and statements), in source order."""
    for name in field_names(node):
        value = getattr(node, name)
        if isinstance(value, NODES):
            yield value
        elif isinstance(value, tuple):
            for item in value:
                if isinstance(item, NODES):
                    yield item


def walk(node: Any) -> Iterator[Any]:
    """The node (or each node of a tuple) and everything below it, in pre-order."""
    if isinstance(node, tuple):
        for item in node:
            yield from walk(item)
        return
    yield node
    for child in children(node):
        yield from walk(child)


def rewrite(node: Any, fn: Callable[[Any], Any]) -> Any:
    """Bottom-up rewriting: ``fn`` sees each node after its children. It returns the node, a replacement, or, for a
    statement inside a body, a tuple of statements (empty to delete). Identity is kept where nothing changed."""
    if isinstance(node, tuple):
        out: list[Any] = []
        changed = False
        for item in node:
            if not isinstance(item, NODES):
                out.append(item)
                continue
            new = rewrite(item, fn)
            changed |= new is not item
            if isinstance(new, tuple):
                out.extend(new)
            else:
                out.append(new)
        return tuple(out) if changed else node
    changes: dict[str, Any] = {}
    for name in field_names(node):
        value = getattr(node, name)
        if isinstance(value, NODES) or (isinstance(value, tuple) and any(isinstance(v, NODES) for v in value)):
            new = rewrite(value, fn)
            if new is not value:
                changes[name] = new
    return fn(replace(node, **changes) if changes else node)


def substitute(node: Any, mapping: dict[str, ir.Expr]) -> Any:
    """Replaces each ``Var`` named in ``mapping`` by its expression (names are unique, so nothing is captured)."""
    if not mapping:
        return node
    return rewrite(node, lambda n: mapping.get(n.name, n) if isinstance(n, ir.Var) else n)


def variables(node: Any) -> set[str]:
    """The names of all ``Var`` nodes below, and what opaque text may read or write."""
    names: set[str] = set()
    for n in walk(node):
        if isinstance(n, ir.Var):
            names.add(n.name)
        elif isinstance(n, (ir.Opaque, ir.OpaqueExpr)):
            names |= n.reads | n.writes
    return names


SPELLED = re.compile(r"(?<![\w.:])(?<!->)[A-Za-z_]\w*")  # words in text that may be variables: no members, no ns::x


def spelled(node: Any) -> set[str]:
    """Names inside the text of types and of called functions: ``w`` in ``Window<w>`` and ``f<w>``. A variable that is
    named there can neither be renamed nor replaced without the text."""
    names: set[str] = set()
    for n in walk(node):
        t = getattr(n, "type", None)
        for text in (n.func if isinstance(n, ir.Call) else "", t.base if isinstance(t, ir.CType) else ""):
            if "<" in text:
                names.update(SPELLED.findall(text))
    return names


def root(expr: ir.Expr) -> str | None:
    """The variable that an lvalue is rooted in: ``a`` for ``a[i].x``; None where it is no simple lvalue."""
    while True:
        if isinstance(expr, ir.Var):
            return expr.name
        if isinstance(expr, ir.Index):
            expr = expr.base
        elif isinstance(expr, ir.Member):
            expr = expr.operand
        elif isinstance(expr, ir.Cast) or (isinstance(expr, ir.Un) and expr.op == "*"):
            expr = expr.operand
        else:
            return None
