"""``int i = a; while (i < n) { ...; i += s; }`` becomes a counting ``for``."""

from __future__ import annotations

from dataclasses import replace

from genome import ir, walk
from genome.frontend.effects import written
from genome.frontend.loops import canonical
from genome.normal.scalars import each_body, immutable_names, is_pure_integer
from genome.normal.typing import declared_types, is_integer


def counting_loops(kernel: ir.Kernel) -> ir.Kernel:
    """The declaration of a counter moves into the head of the only loop that uses it, and the increment that ends the
    loop's body with it. Names must be unique."""
    stable = immutable_names(kernel)
    types = declared_types(kernel)

    def body(stmts: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        out = list(stmts)
        for i, d in enumerate(stmts):
            if not isinstance(d, ir.Decl) or d.init is None or d.dims or d.space or d.type.volatile \
                    or not is_integer(d.type) or not is_pure_integer(d.init, stable):
                continue
            users = [j for j in range(i + 1, len(out)) if d.name in walk.variables(out[j]) | written(out[j])]
            loop = out[users[0]] if len(users) == 1 else None
            made = _for(loop, d, types) if isinstance(loop, ir.Loop) else None
            if made is not None:
                out[users[0]] = made
                out[i] = ir.Block(())
        return tuple(s for s in out if s != ir.Block(()))

    return kernel.with_body(each_body(kernel.body, body))


def _for(loop: ir.Loop, d: ir.Decl, types: dict[str, ir.CType]) -> ir.For | None:
    inner, update = loop.body, loop.update
    if loop.kind == "do" or loop.init:
        return None
    if update is None:
        if not inner or continues(inner):
            return None
        last = inner[-1]
        if isinstance(last, ir.Assign):
            update = ir.AssignExpr(last.target, last.op, last.value, last.loc)
        elif isinstance(last, ir.Eval):
            update = last.expr
        inner = inner[:-1]
    head = replace(d, type=replace(d.type, const=False))
    return canonical(ir.Loop("for", loop.label, (head,), loop.cond, update, inner, loop.unroll, loop.loc), types)


def continues(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether a ``continue`` of this loop, or code that may hold one, is in its body."""
    for s in body:
        if isinstance(s, (ir.Continue, ir.Opaque)):
            return True
        if isinstance(s, ir.If) and (continues(s.then) or continues(s.other)):
            return True
        if isinstance(s, ir.Block) and continues(s.body):
            return True
    return False
