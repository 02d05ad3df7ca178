"""Uniformity: which scalars are equal for all threads of a block wherever they are read together.

A name is uniform when every value it gets is made of uniform names, under control that is itself uniform. Loads count
as uniform only from arrays that the kernel never writes, at a uniform subscript.
"""

from __future__ import annotations

from dataclasses import dataclass

from genome import ir
from genome.build import PURE_FUNCTIONS
from genome.walk import children, root, walk


@dataclass(frozen=True)
class Uniformity:
    """``varying``: names that may differ between threads of a block; ``constant``: pointers that are only read."""

    varying: frozenset[str]
    constant: frozenset[str]
    pure: frozenset[str] = PURE_FUNCTIONS

    def of(self, e: ir.Expr) -> bool:
        """Whether all threads of a block that evaluate ``e`` together get one value."""
        match e:
            case ir.Builtin(name=n):
                return not n.startswith("threadIdx")
            case ir.Coord() | ir.OpaqueExpr() | ir.AssignExpr() | ir.IncDec():
                return False
            case ir.Un(op=op) if op in ("*", "&"):
                return False
            case ir.Index(base=ir.Var(name=n), subs=subs):
                return n in self.constant and all(self.of(s) for s in subs)
            case ir.Index():
                return False
            case ir.Call(func=f, args=args):
                return f in self.pure and all(self.of(a) for a in args)
            case ir.Var(name=n):
                return n not in self.varying
        return all(self.of(c) for c in children(e))


def uniformity(kernel: ir.Kernel, pure: frozenset[str] = PURE_FUNCTIONS) -> Uniformity:
    """By iteration from "all is uniform" until no more names vary."""
    written = {root(n.target) for n in walk(kernel.body) if isinstance(n, (ir.Assign, ir.AssignExpr, ir.IncDec))
               and not isinstance(n.target, ir.Var)}
    escaping = {x.name for n in walk(kernel.body) if isinstance(n, (ir.Call, ir.Un, ir.Cast, ir.Decl))
                and not (isinstance(n, ir.Un) and n.op not in ("*", "&"))
                for c in children(n) for x in _bare(c)}
    for n in walk(kernel.body):
        if isinstance(n, (ir.Opaque, ir.OpaqueExpr)):
            written |= n.reads | n.writes
    constant = frozenset(p.name for p in kernel.params if p.type.pointer == 1 and p.type.const and not p.type.volatile
                         and p.name not in written and p.name not in escaping)
    varying = {n.name for n in walk(kernel.body) if isinstance(n, ir.Decl) and (n.dims or n.space or n.type.volatile)}
    while True:
        found = _Pass(Uniformity(frozenset(varying), constant, pure))
        found.body(kernel.body, False)
        if found.names <= varying:
            return Uniformity(frozenset(varying), constant, pure)
        varying |= found.names


def _bare(e: ir.Expr) -> list[ir.Var]:
    """Names used as a value of their own: in ``f(p + 1)`` p, in ``f(p[1])`` none."""
    if isinstance(e, ir.Var):
        return [e]
    if isinstance(e, ir.Index):
        return [v for s in e.subs for v in _bare(s)]
    return [v for c in children(e) for v in _bare(c)]


class _Pass:
    """One walk over the body: names that get a varying value, or any value under varying control."""

    def __init__(self, known: Uniformity) -> None:
        self.known = known
        self.names: set[str] = set()

    def body(self, stmts: tuple[ir.Stmt, ...], varying: bool) -> None:
        for s in stmts:
            self.statement(s, varying)

    def statement(self, s: ir.Stmt, varying: bool) -> None:
        for c in children(s):
            if not isinstance(c, (ir.Decl, ir.Assign, ir.For, ir.Loop, ir.If, ir.Block, ir.Eval)):
                self.side_effects(c, varying)
        match s:
            case ir.Decl(name=n, init=i):
                if i is not None and (varying or not self.known.of(i)):
                    self.names.add(n)
            case ir.Assign(target=t, value=v):
                if isinstance(t, ir.Var) and (varying or not self.known.of(v)):
                    self.names.add(t.name)
                elif isinstance(t, ir.Member) and (name := root(t)) is not None:
                    self.names.add(name)
            case ir.Opaque(writes=w):
                self.names |= w
            case ir.If(cond=c, then=then, other=other):
                inner = varying or not self.known.of(c)
                self.body(then, inner)
                self.body(other, inner)
            case ir.For(var=v, lo=lo, hi=hi, step=step, body=b):
                inner = varying or not all(self.known.of(e) for e in (lo, hi, step)) or self.leaves(b)
                if inner:
                    self.names.add(v)
                self.body(b, inner)
            case ir.Loop(init=i, cond=c, update=u, body=b):
                self.body(i, varying)
                inner = varying or (c is not None and not self.known.of(c)) or self.leaves(b)
                if u is not None:
                    self.side_effects(u, inner)
                self.body(b, inner)
            case ir.Block(body=b):
                self.body(b, varying)

    def side_effects(self, e: ir.Expr, varying: bool) -> None:
        """``i++`` and ``a = b`` anywhere in an expression."""
        for n in walk(e):
            if isinstance(n, ir.OpaqueExpr):
                self.names |= n.writes
            elif isinstance(n, (ir.IncDec, ir.AssignExpr)) and isinstance(n.target, ir.Var):
                value = n.value if isinstance(n, ir.AssignExpr) else ir.IntLit(1)
                if varying or not self.known.of(value):
                    self.names.add(n.target.name)
            elif isinstance(n, ir.Un) and n.op == "&" and isinstance(n.operand, ir.Var):
                self.names.add(n.operand.name)  # written through a pointer, perhaps
            elif isinstance(n, ir.Call) and n.func not in self.known.pure and not n.func.startswith("__"):
                # a parameter may be a reference; intrinsics have none
                self.names |= {a.name for a in n.args if isinstance(a, ir.Var)}

    def leaves(self, body: tuple[ir.Stmt, ...], varying: bool = False) -> bool:
        """Whether some threads may leave the loop, or an iteration, before others."""
        for s in body:
            match s:
                case ir.Break() | ir.Continue() | ir.Return():
                    if varying:
                        return True
                case ir.If(cond=c, then=then, other=other):
                    inner = varying or not self.known.of(c)
                    if self.leaves(then, inner) or self.leaves(other, inner):
                        return True
                case ir.For(body=b) | ir.Loop(body=b) | ir.Block(body=b):
                    if self.leaves(b, varying):
                        return True
                case ir.Opaque():
                    return True
        return False


def barriers_not_uniform(kernel: ir.Kernel, known: Uniformity) -> list[ir.Stmt]:
    """Conditions and loops that vary between threads with a barrier inside (every thread must reach it, or none)."""
    out: list[ir.Stmt] = []

    def visit(stmts: tuple[ir.Stmt, ...]) -> None:
        for s in stmts:
            inner = [n for n in walk(tuple(children(s))) if isinstance(n, ir.Barrier)]
            if not inner:
                continue
            match s:
                case ir.If(cond=c, then=then, other=other):
                    if not known.of(c):
                        out.append(s)
                    visit(then + other)
                case ir.For(lo=lo, hi=hi, step=step, body=b):
                    if not all(known.of(e) for e in (lo, hi, step)):
                        out.append(s)
                    visit(b)
                case ir.Loop(cond=c2, body=b):
                    if c2 is not None and not known.of(c2):
                        out.append(s)
                    visit(b)
                case ir.Block(body=b):
                    visit(b)

    visit(kernel.body)
    return out
