"""Canonical ``for`` loops: recognition and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from genome import ir, walk
from genome.frontend.effects import MEMORY, has_effects, reads_memory, written
from genome.frontend.types import INTEGERS

FLIP = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def leaves(body: Any, nested: bool = False) -> bool:
    """Whether a ``break`` of this loop, a ``return`` or a jump leaves it."""
    for s in body:
        if isinstance(s, ir.Return) or (isinstance(s, ir.Break) and not nested):
            return True
        if isinstance(s, ir.Opaque) and s.reason in ("goto_statement", "labeled_statement", "return_statement",
                                                     "switch_statement", "preprocessor"):
            return True
        if isinstance(s, (ir.For, ir.Loop)):
            if leaves(s.body, True):
                return True
        elif isinstance(s, ir.If):
            if leaves(s.then, nested) or leaves(s.other, nested):
                return True
        elif isinstance(s, ir.Block) and leaves(s.body, nested):
            return True
    return False


def step_of(update: ir.Expr | None, var: str) -> ir.Expr | None:
    """The signed increment of ``update``, or None when it is not of the form ``var += step``."""
    if isinstance(update, ir.IncDec) and update.target == ir.Var(var):
        return ir.IntLit(1 if update.op == "++" else -1, "", update.loc)
    if not isinstance(update, ir.AssignExpr) or update.target != ir.Var(var):
        return None
    op, value = update.op, update.value
    if op == "=" and isinstance(value, ir.Bin) and value.op in ("+", "-"):
        if value.left == ir.Var(var):
            op, value = value.op + "=", value.right
        elif value.op == "+" and value.right == ir.Var(var):
            op, value = "+=", value.left
    if op == "+=":
        return value
    if op == "-=":
        if isinstance(value, ir.IntLit) and value.value > 0 and not value.suffix:
            return ir.IntLit(-value.value, "", value.loc)
        return ir.Un("-", value, value.loc)
    return None


def canonical(loop: ir.Loop, types: Mapping[str, ir.CType]) -> ir.For | None:
    """``loop`` as a :class:`genome.ir.For`, or None. ``types``: the types of variables that are declared outside."""
    if loop.kind != "for" or len(loop.init) != 1 or not isinstance(loop.cond, ir.Bin) or loop.cond.op not in FLIP:
        return None
    init = loop.init[0]
    ctype: ir.CType | None = None
    lo: ir.Expr
    if isinstance(init, ir.Decl):
        ctype = init.type
        if init.init is None or init.dims or init.space or isinstance(init.init, ir.InitList):
            return None
        if ctype.base == "auto" and isinstance(init.init, ir.IntLit) and not init.init.suffix:
            ctype = ir.INT
        var, lo, shape = init.name, init.init, ctype
    elif isinstance(init, ir.Assign) and init.op == "=" and isinstance(init.target, ir.Var):
        var, lo = init.target.name, init.value
        if var not in types:
            return None
        shape = types[var]
    else:
        return None
    if shape.pointer or shape.base not in INTEGERS or shape.volatile or shape.const:
        return None
    cmp, left, right = loop.cond.op, loop.cond.left, loop.cond.right
    if left != ir.Var(var) and right == ir.Var(var):
        cmp, left, right = FLIP[cmp], right, left
    step = step_of(loop.update, var)
    if left != ir.Var(var) or step is None:
        return None
    used = walk.variables(right) | walk.variables(step)
    changed = written(loop.body)
    if var in used or var in changed or used & changed or has_effects(right) or has_effects(step):
        return None
    if MEMORY in changed and (reads_memory(right) or reads_memory(step)):
        return None
    if leaves(loop.body):
        return None
    return ir.For(var, var, ctype, lo, cmp, right, step, loop.body, loop.unroll, loc=loop.loc)


def recognise_loops(kernel: ir.Kernel) -> ir.Kernel:
    """All canonical loops as :class:`genome.ir.For`. Names must be unique: a variable that shadows the loop's would
    otherwise count as a write of it."""
    types = {p.name: p.type for p in kernel.params}
    for n in walk.walk(kernel.body):
        if isinstance(n, ir.Decl) and not n.dims:
            types[n.name] = n.type
    return kernel.with_body(walk.rewrite(
        kernel.body, lambda n: (canonical(n, types) or n) if isinstance(n, ir.Loop) else n))


def label_loops(kernel: ir.Kernel) -> ir.Kernel:
    """Gives each loop a label of its own: the variable's name where it is free, else ``name_2``, ``while``, ..."""
    taken: set[str] = set()

    def fresh(want: str) -> str:
        name, n = want, 1
        while name in taken:
            n += 1
            name = f"{want}_{n}"
        taken.add(name)
        return name

    def visit(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        return tuple(one(s) for s in body)

    def one(s: ir.Stmt) -> ir.Stmt:
        if isinstance(s, ir.For):
            label = fresh(s.var)
            return replace(s, label=label, body=visit(s.body))
        if isinstance(s, ir.Loop):
            first = s.init[0] if s.init else None
            want = first.name if isinstance(first, ir.Decl) else s.kind
            label = fresh(want)
            return replace(s, label=label, body=visit(s.body))
        if isinstance(s, ir.If):
            return replace(s, then=visit(s.then), other=visit(s.other))
        return replace(s, body=visit(s.body)) if isinstance(s, ir.Block) else s

    return kernel.with_body(visit(kernel.body))


