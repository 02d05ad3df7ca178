"""Scalars: declarations joined with their only assignment, loop variables made local, pure integers inlined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from genome import ir, walk
from genome.frontend.effects import binds_references, pure
from genome.normal.typing import COMPARISONS, declared_types, is_integer, promote, type_of


def assigned(target: ir.Expr) -> set[str]:
    """The names whose own value an assignment to ``target`` changes: a store through a pointer or into an array's
    element changes neither the pointer nor the array's name."""
    while True:
        match target:
            case ir.Var(name=n):
                return {n}
            case ir.Index(base=ir.Var()) | ir.Member(arrow=True) | ir.Un(op="*"):
                return set()
            case ir.Index(base=b):
                target = b
            case ir.Member(operand=o) | ir.Cast(operand=o):
                target = o
            case _:
                return walk.variables(target)


def write_counts(kernel: ir.Kernel) -> Counter[str]:
    """How often each name is written, a declaration with an initialiser and a loop's own update counting as one.
    What is written through ``&`` or by opaque text counts as twice, so that it never looks like a single write."""
    counts: Counter[str] = Counter()
    for n in walk.walk(kernel.body):
        if isinstance(n, ir.Decl) and n.init is not None:
            counts[n.name] += 1
        elif isinstance(n, ir.For):
            counts[n.var] += 1
        elif isinstance(n, (ir.Assign, ir.AssignExpr, ir.IncDec)):
            counts.update(assigned(n.target))
        elif isinstance(n, ir.Un) and n.op == "&":
            counts.update(dict.fromkeys(assigned(n.operand), 2))
        elif isinstance(n, (ir.Opaque, ir.OpaqueExpr)):
            counts.update(dict.fromkeys(n.writes, 2))
        elif isinstance(n, ir.Call) and binds_references(n.func):
            for a in n.args:  # the parameter may be a reference
                if isinstance(a, (ir.Var, ir.Member)):
                    counts.update(dict.fromkeys(assigned(a), 2))
    return counts


def immutable_names(kernel: ir.Kernel) -> set[str]:
    """Names whose value never changes while they are in scope: parameters that are not written, locals that are
    written by their declaration only, variables of canonical loops that are their own."""
    counts = write_counts(kernel)
    names = {p.name for p in kernel.params if not counts[p.name]}
    for n in walk.walk(kernel.body):
        if isinstance(n, ir.Decl) and n.init is not None and not n.dims and not n.space and counts[n.name] == 1 \
                and not n.type.volatile:
            names.add(n.name)
        elif isinstance(n, ir.For) and n.type is not None and counts[n.var] == 1:
            names.add(n.var)
    return names


def is_pure_integer(e: Any, stable: set[str]) -> bool:
    """An expression over ``stable`` names, coordinates, builtins and literals without memory reads or effects."""
    for n in walk.walk(e):
        if isinstance(n, ir.Var):
            if n.name not in stable:
                return False
        elif isinstance(n, ir.Call):
            if not pure(n.func) or n.func.startswith("__ld"):
                return False
        elif isinstance(n, ir.Literal):
            if n.text not in ("true", "false"):
                return False
        elif isinstance(n, ir.Un):
            if n.op in ("*", "&"):
                return False
        elif not isinstance(n, (ir.IntLit, ir.Builtin, ir.Coord, ir.Bin, ir.Cast, ir.Ternary)):
            return False
        elif isinstance(n, ir.Bin) and n.op == ",":
            return False
    return True


def converted(e: ir.Expr, to: ir.CType, types: dict[str, ir.CType]) -> ir.Expr | None:
    """``e`` as a value of the declared type ``to``: a cast where the types differ in width, sign or kind; None when
    the type of ``e`` is not known to be an integer."""
    have = type_of(e, types)
    if have is None or not is_integer(have):
        return None
    if to.base == "bool":
        logical = have.base == "bool" or (isinstance(e, ir.Bin) and e.op in COMPARISONS)
        return e if logical else ir.Cast(ir.BOOL, e, "c", e.loc)
    plain = ir.CType(to.base)
    if have.base != "bool" and promote(plain) == plain and promote(have) == plain:
        return e
    return ir.Cast(plain, e, "c", e.loc)


def is_coordinate(e: ir.Expr | None) -> bool:
    """A logical coordinate or a builtin by itself, perhaps under casts: such a scalar is a name worth keeping."""
    while isinstance(e, ir.Cast):
        e = e.operand
    return isinstance(e, (ir.Coord, ir.Builtin))


def inline_scalars(kernel: ir.Kernel, names: Iterable[str] | None = None) -> ir.Kernel:
    """Substitutes single-assignment integer scalars with a pure initialiser at their uses, as C would convert them.

    ``names``: which (the others stay); by default all but those that are a coordinate or a builtin by themselves.
    """
    wanted = None if names is None else set(names)
    stable = immutable_names(kernel)
    types = declared_types(kernel)
    mapping: dict[str, ir.Expr] = {}

    def one(n: Any) -> Any:
        if isinstance(n, ir.Var):
            return mapping.get(n.name, n)
        if not isinstance(n, ir.Decl) or n.init is None or n.name not in stable or not is_integer(n.type):
            return n
        if (n.name not in wanted) if wanted is not None else is_coordinate(n.init):
            return n
        if n.name in opaque or not is_pure_integer(n.init, stable):
            return n
        value = converted(n.init, n.type, types)
        if value is None:
            return n
        mapping[n.name] = value
        return ()

    opaque = {name for n in walk.walk(kernel.body) if isinstance(n, (ir.Opaque, ir.OpaqueExpr))
              for name in n.reads | n.writes}
    opaque |= walk.spelled(kernel.body)
    # declarations in the heads of loops cannot be deleted, so they are kept out of the rewriting's reach
    opaque |= {d.name for n in walk.walk(kernel.body) if isinstance(n, ir.Loop) for d in n.init
               if isinstance(d, ir.Decl)}
    return kernel.with_body(walk.rewrite(kernel.body, one))


def merge_declarations(kernel: ir.Kernel) -> ir.Kernel:
    """``int i; ... i = e;`` with no other write becomes ``int i = e;`` at the place of the assignment."""
    counts = write_counts(kernel)

    def body(stmts: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        out = list(stmts)
        for i, d in enumerate(stmts):
            if not isinstance(d, ir.Decl) or d.init is not None or d.dims or d.space or counts[d.name] != 1:
                continue
            for j in range(i + 1, len(stmts)):
                s = stmts[j]
                if isinstance(s, ir.Assign) and s.op == "=" and s.target == ir.Var(d.name):
                    if d.name not in walk.variables(s.value):
                        out[j] = replace(d, init=s.value, loc=s.loc)
                        out[i] = ir.Block(())
                    break
                if d.name in walk.variables(s):
                    break
        return tuple(s for s in out if s != ir.Block(()))

    return kernel.with_body(each_body(kernel.body, body))


def each_body(stmts: tuple[ir.Stmt, ...], fn: Any) -> tuple[ir.Stmt, ...]:
    """Applies ``fn`` to every statement list, innermost first."""
    def one(s: ir.Stmt) -> ir.Stmt:
        if isinstance(s, (ir.For, ir.Loop, ir.Block)):
            return replace(s, body=each_body(s.body, fn))
        if isinstance(s, ir.If):
            return replace(s, then=each_body(s.then, fn), other=each_body(s.other, fn))
        return s

    result: tuple[ir.Stmt, ...] = fn(tuple(one(s) for s in stmts))
    return result


def localise_loops(kernel: ir.Kernel) -> ir.Kernel:
    """``int k; ... for (k = 0; ...)`` whose ``k`` lives only in such loops becomes ``for (int k = 0; ...)``."""
    decls = {n.name: n for n in walk.walk(kernel.body)
             if isinstance(n, ir.Decl) and not n.dims and not n.space and is_integer(n.type)
             and (n.init is None or is_pure_integer(n.init, set()))}
    outside: Counter[str] = Counter()

    def count(node: Any, inside: frozenset[str]) -> None:
        if isinstance(node, ir.For) and node.type is None and node.var in decls and node.var not in inside:
            count(node.lo, inside)
            for child in (node.hi, node.step, *node.body):
                count(child, inside | {node.var})
            return
        if isinstance(node, ir.For) and node.type is None:
            outside[node.var] += 1
        if isinstance(node, ir.Var) and node.name not in inside:
            outside[node.name] += 1
        if isinstance(node, (ir.Opaque, ir.OpaqueExpr)):
            for name in node.reads | node.writes:
                outside[name] += 1
        for child in walk.children(node):
            count(child, inside)

    for s in kernel.body:
        count(s, frozenset())
    loops = Counter(n.var for n in walk.walk(kernel.body) if isinstance(n, ir.For) and n.type is None)
    movable = {name for name in decls if loops[name] and not outside[name]}
    if not movable:
        return kernel

    def one(n: Any) -> Any:
        if isinstance(n, ir.Decl) and n.name in movable:
            return ()
        if isinstance(n, ir.For) and n.type is None and n.var in movable:
            return replace(n, type=replace(decls[n.var].type, const=False))
        return n

    return kernel.with_body(walk.rewrite(kernel.body, one))
