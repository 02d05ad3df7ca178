"""What the kernel's text says about its array parameters: which are written for certain, which perhaps."""

from __future__ import annotations

from dataclasses import dataclass

from genome import ir
from genome.walk import root, variables, walk


@dataclass(frozen=True)
class ArrayUse:
    """``written``: assigned through directly. ``maybe``: handed to a call, an alias or text that is not understood,
    so that it may be written."""

    written: frozenset[str]
    maybe: frozenset[str]


def array_use(kernel: ir.Kernel) -> ArrayUse:
    params = {p.name for p in kernel.params if p.type.pointer}
    alias: dict[str, set[str]] = {}
    written: set[str] = set()
    maybe: set[str] = set()
    for node in walk(kernel.body):
        if isinstance(node, ir.Decl) and node.type.pointer and node.init is not None:
            alias[node.name] = variables(node.init)
        elif isinstance(node, (ir.Assign, ir.AssignExpr, ir.IncDec)):
            name = root(node.target)
            if isinstance(node.target, ir.Var):
                if isinstance(node, ir.Assign) and name in alias:  # a pointer is moved, nothing is stored
                    alias[node.target.name] |= variables(node.value)
                continue
            if name is not None:
                written.add(name)
            elif isinstance(node.target, ir.Un) and node.target.op == "*":  # *(p + i)
                written |= _pointers(node.target.operand, params | set(alias))
            else:
                maybe |= variables(node.target)
        elif isinstance(node, ir.Call):
            into = written if node.func.startswith("atomic") else maybe
            for arg in node.args[:1] if into is written else node.args:
                into |= _pointers(arg, params | set(alias))
        elif isinstance(node, (ir.Opaque, ir.OpaqueExpr)):
            maybe |= node.writes
    return ArrayUse(frozenset(_resolve(written, alias) & params), frozenset(_resolve(maybe, alias) & params))


def _pointers(arg: ir.Expr, pointers: set[str]) -> set[str]:
    """Pointers that an argument hands over: the pointer itself, an offset of it, or the address of an element."""
    if isinstance(arg, ir.Index):
        return set()  # an element's value
    if isinstance(arg, ir.Un) and arg.op == "&":
        name = root(arg.operand)
        return {name} if name in pointers and name is not None else set()
    if isinstance(arg, ir.Un):
        return set()
    if isinstance(arg, ir.Var):
        return {arg.name} & pointers
    if isinstance(arg, ir.Bin):
        return _pointers(arg.left, pointers) | _pointers(arg.right, pointers)
    if isinstance(arg, ir.Cast):
        return _pointers(arg.operand, pointers)
    return set()


def _resolve(names: set[str], alias: dict[str, set[str]]) -> set[str]:
    """The names and everything that they may point into."""
    out: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        if name not in out:
            out.add(name)
            todo.extend(alias.get(name, ()))
    return out
