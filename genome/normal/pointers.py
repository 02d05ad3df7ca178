"""Row pointers and walking pointers become subscripts of the array they point into.

Offsets keep the pointer's 64-bit arithmetic: ``(A + off)[i]`` is ``A[(long long)off + i]``, so that neither a sum
past 2^31 nor an unsigned offset with a negative subscript changes its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from genome import ir, walk
from genome.frontend.types import width
from genome.normal.scalars import each_body, immutable_names, is_pure_integer, write_counts
from genome.normal.typing import declared_types, is_integer, is_pointer, type_of

LONG = ir.CType("long long")
Types = Mapping[str, ir.CType]


def widen(e: ir.Expr, types: Types) -> ir.Expr:
    """``e`` in 64 bits; literals and what is wide already stay."""
    if isinstance(e, ir.IntLit):
        return e
    t = type_of(e, types)
    if t is not None and is_integer(t) and width(t.base) == 8:
        return e
    return ir.Cast(LONG, e, "c", e.loc)


def add(offset: ir.Expr, sub: ir.Expr, types: Types) -> ir.Expr:
    """The subscript ``offset + sub`` in pointer arithmetic."""
    if offset == ir.IntLit(0):
        return sub
    if sub == ir.IntLit(0):
        return offset
    if isinstance(offset, ir.IntLit) and not offset.suffix:
        return ir.Bin("+", widen(sub, types), offset, sub.loc)
    return ir.Bin("+", widen(offset, types), sub, offset.loc)


def split(e: ir.Expr, types: Types) -> tuple[ir.Expr, ir.Expr] | None:
    """A pointer expression as (base, offset): ``p + i``, ``i + p``, ``p - i``, ``&p[i]``; None for anything else."""
    if isinstance(e, ir.Bin) and e.op in ("+", "-"):
        left, right = type_of(e.left, types), type_of(e.right, types)
        if is_pointer(left) and is_integer(right):
            inner = split(e.left, types) or (e.left, ir.IntLit(0))
            offset = e.right if e.op == "+" else ir.Un("-", widen(e.right, types), e.loc)
            return inner[0], add(inner[1], offset, types)
        if e.op == "+" and is_integer(left) and is_pointer(right):
            inner = split(e.right, types) or (e.right, ir.IntLit(0))
            return inner[0], add(inner[1], e.left, types)
    if isinstance(e, ir.Un) and e.op == "&" and isinstance(e.operand, ir.Index) and len(e.operand.subs) == 1:
        inner = split(e.operand.base, types) or (e.operand.base, ir.IntLit(0))
        return inner[0], add(inner[1], e.operand.subs[0], types)
    return None


def subscripts(kernel: ir.Kernel) -> ir.Kernel:
    """``*p`` → ``p[0]``, ``*(p + i)`` → ``p[i]``, ``(p + i)[j]`` → ``p[i + j]``, ``*&x`` → ``x``."""
    types = declared_types(kernel)

    def one(n: Any) -> Any:
        if isinstance(n, ir.Un) and n.op == "*":
            if isinstance(n.operand, ir.Un) and n.operand.op == "&":
                return n.operand.operand
            if is_pointer(type_of(n.operand, types)):
                return one(ir.Index(n.operand, (ir.IntLit(0),), n.loc))
        if isinstance(n, ir.Index) and len(n.subs) == 1:
            parts = split(n.base, types)
            if parts is not None:
                return replace(n, base=parts[0], subs=(add(parts[1], n.subs[0], types),))
        return n

    return kernel.with_body(walk.rewrite(kernel.body, one))


def _same_element(a: ir.CType, b: ir.CType) -> bool:
    return a.base == b.base and a.pointer == b.pointer and not (a.volatile or b.volatile)


def inline_pointers(kernel: ir.Kernel) -> ir.Kernel:
    """``const float* row = A + off;``, never written again, is replaced by ``A + off`` at its uses."""
    types = declared_types(kernel)
    stable = immutable_names(kernel)
    stable |= {n.name for n in walk.walk(kernel.body) if isinstance(n, ir.Decl) and n.dims}
    in_heads = {d.name for n in walk.walk(kernel.body) if isinstance(n, ir.Loop) for d in n.init
                if isinstance(d, ir.Decl)}
    opaque = in_heads | {name for n in walk.walk(kernel.body) if isinstance(n, (ir.Opaque, ir.OpaqueExpr))
                         for name in n.reads | n.writes}
    mapping: dict[str, ir.Expr] = {}

    def one(n: Any) -> Any:
        if isinstance(n, ir.Var):
            return mapping.get(n.name, n)
        if not isinstance(n, ir.Decl) or n.init is None or not n.type.pointer or n.dims or n.name in opaque \
                or n.name not in stable:
            return n
        base, offset = split(n.init, types) or (n.init, ir.IntLit(0))
        base_type = type_of(base, types)
        if not isinstance(base, ir.Var) or base.name not in stable or base_type is None \
                or not _same_element(n.type, base_type) or not is_pure_integer(offset, stable):
            return n
        mapping[n.name] = base if offset == ir.IntLit(0) else ir.Bin("+", base, offset, n.loc)
        return ()

    return kernel.with_body(walk.rewrite(kernel.body, one))


def _increment(s: ir.Stmt, name: str) -> ir.Expr | None:
    """The step of ``p += e``, ``p -= e``, ``p++``, ``p--`` as a statement."""
    if isinstance(s, ir.Assign) and s.target == ir.Var(name):
        if s.op in ("+=", "-="):
            return s.value if s.op == "+=" else ir.Un("-", s.value, s.loc)
        if s.op == "=" and isinstance(s.value, ir.Bin) and s.value.op == "+" and s.value.left == ir.Var(name):
            return s.value.right
    if isinstance(s, ir.Eval) and isinstance(s.expr, ir.IncDec) and s.expr.target == ir.Var(name):
        return ir.IntLit(1 if s.expr.op == "++" else -1)
    return None


def _trips(loop: ir.For, types: Types, wide: bool) -> ir.Expr | None:
    """The number of finished iterations as an expression of the loop's variable, for steps of one and minus one."""
    var = ir.Var(loop.var)
    a, b = (var, loop.lo) if loop.step == ir.IntLit(1) else (loop.lo, var)
    if loop.step not in (ir.IntLit(1), ir.IntLit(-1)):
        return None
    if b == ir.IntLit(0):
        return widen(a, types) if wide else a
    return ir.Bin("-", widen(a, types), b) if wide else ir.Bin("-", a, b)


def walking(kernel: ir.Kernel) -> ir.Kernel:
    """A pointer or ``int`` that is declared beside a canonical loop and advanced by a fixed step once per iteration,
    and used nowhere else, becomes its start plus iterations times step."""
    counts = write_counts(kernel)
    types = declared_types(kernel)
    stable = immutable_names(kernel) | {n.name for n in walk.walk(kernel.body) if isinstance(n, ir.Decl) and n.dims}

    def body(stmts: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        out = list(stmts)
        for i, d in enumerate(stmts):
            if not isinstance(d, ir.Decl) or d.init is None or d.dims or d.space or d.type.volatile \
                    or counts[d.name] != 2:
                continue
            users = [j for j in range(i + 1, len(out)) if d.name in walk.variables(out[j])]
            if len(users) != 1:
                continue
            loop = out[users[0]]
            new = advance(loop, d) if isinstance(loop, ir.For) else None
            if new is not None:
                out[users[0]] = new
                out[i] = ir.Block(())
        return tuple(s for s in out if s != ir.Block(()))

    def advance(loop: ir.For, d: ir.Decl) -> ir.For | None:
        name = d.name
        at = [j for j, s in enumerate(loop.body) if _increment(s, name) is not None]
        if len(at) != 1 or loop.type is None or _continues(loop.body):
            return None
        step = _increment(loop.body[at[0]], name)
        assert step is not None and d.init is not None
        if not is_pure_integer(step, stable) or not is_pure_integer(loop.lo, stable):
            return None
        if loop.var in walk.variables(step):
            return None
        head = walk.variables(loop.lo) | walk.variables(loop.hi) | walk.variables(loop.step)
        if name in head:
            return None
        if d.type.pointer:
            base, offset = split(d.init, types) or (d.init, ir.IntLit(0))
            base_type = type_of(base, types)
            if not isinstance(base, ir.Var) or base.name not in stable or base_type is None \
                    or not _same_element(d.type, base_type) or not is_pure_integer(offset, stable):
                return None
            if not is_integer(type_of(step, types)):
                return None
        elif d.type.base == "int" and is_pure_integer(d.init, stable):
            offset = d.init
            if type_of(offset, types) != ir.INT or type_of(step, types) != ir.INT:
                return None
        else:
            return None
        wide = d.type.pointer > 0
        trips = _trips(loop, types, wide)
        if trips is None or (not wide and type_of(trips, types) != ir.INT):
            return None
        moved = trips if step == ir.IntLit(1) else ir.Bin("*", trips, step)

        def value(after: bool) -> ir.Expr:
            total = moved if not after else ir.Bin("+", moved, step)
            total = total if offset == ir.IntLit(0) else ir.Bin("+", widen(offset, types) if wide else offset, total)
            return ir.Bin("+", base, total) if wide else total

        before = tuple(walk.substitute(s, {name: value(False)}) for s in loop.body[:at[0]])
        rest = tuple(walk.substitute(s, {name: value(True)}) for s in loop.body[at[0] + 1:])
        return replace(loop, body=before + rest)

    return kernel.with_body(each_body(kernel.body, body))


def _continues(body: tuple[ir.Stmt, ...]) -> bool:
    for s in body:
        if isinstance(s, ir.Continue) or isinstance(s, ir.Opaque):
            return True
        if isinstance(s, ir.If) and (_continues(s.then) or _continues(s.other)):
            return True
        if isinstance(s, ir.Block) and _continues(s.body):
            return True
    return False


def row_pointers(kernel: ir.Kernel) -> ir.Kernel:
    """All of this module's forms, until nothing changes (a walking pointer may start at a row pointer)."""
    for _ in range(4):
        new = subscripts(walking(inline_pointers(kernel)))
        if new == kernel:
            return new
        kernel = new
    return kernel
