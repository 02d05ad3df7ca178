"""Alpha-renaming: every local name is unique in its kernel and differs from the parameters' names."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any

from genome import ir, walk

WORD = re.compile(r"(?<![\w.])(?<!->)[A-Za-z_]\w*")


class _Renamer:
    def __init__(self, kernel: ir.Kernel) -> None:
        self.scopes: list[dict[str, str]] = [{p.name: p.name for p in kernel.params}]
        self.taken = {p.name for p in kernel.params if p.name}
        # names that come from outside of the kernel, and what opaque text declares, are never given to a local
        self.reserved = set(walk.variables(kernel.body)) | {n.name for n in walk.walk(kernel.body)
                                                            if isinstance(n, ir.Decl)}
        self.reserved |= {n.var for n in walk.walk(kernel.body) if isinstance(n, ir.For)}

    def declare(self, name: str) -> str:
        new, n = name, 1
        while new in self.taken or (n > 1 and new in self.reserved):
            n += 1
            new = f"{name}_{n}"
        self.taken.add(new)
        self.scopes[-1][name] = new
        return new

    def lookup(self, name: str) -> str:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return name

    def body(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        self.scopes.append({})
        out = tuple(self.stmt(s) for s in body)
        self.scopes.pop()
        return out

    def stmt(self, s: ir.Stmt) -> ir.Stmt:
        if isinstance(s, ir.Decl):
            dims = tuple(None if d is None else self.expr(d) for d in s.dims)
            # the name is in scope in its own initialiser; nobody means that, so the outer one is read as C++ would
            # only for a plain redeclaration of an outer name, where reading itself would be undefined
            spelled = self.type(s.type)
            name = self.declare(s.name)
            return replace(s, type=spelled, dims=dims, name=name, init=None if s.init is None else self.expr(s.init))
        if isinstance(s, ir.For):
            if s.type is None:
                return replace(s, var=self.lookup(s.var), lo=self.expr(s.lo), hi=self.expr(s.hi),
                               step=self.expr(s.step), body=self.body(s.body))
            self.scopes.append({})
            var = self.declare(s.var)
            new = replace(s, var=var, lo=self.expr(s.lo), hi=self.expr(s.hi), step=self.expr(s.step),
                          body=self.body(s.body))
            self.scopes.pop()
            return new
        if isinstance(s, ir.Loop):
            self.scopes.append({})
            init = tuple(self.stmt(i) for i in s.init)
            new_loop = replace(s, init=init, cond=None if s.cond is None else self.expr(s.cond),
                               update=None if s.update is None else self.expr(s.update), body=self.body(s.body))
            self.scopes.pop()
            return new_loop
        if isinstance(s, ir.If):
            return replace(s, cond=self.expr(s.cond), then=self.body(s.then), other=self.body(s.other))
        if isinstance(s, ir.Block):
            return replace(s, body=self.body(s.body))
        if isinstance(s, ir.Opaque):
            kept: ir.Stmt = self.opaque(s)
            return kept
        changes: dict[str, Any] = {}
        for f in fields(s):
            value = getattr(s, f.name)
            if isinstance(value, walk.EXPRS):
                changes[f.name] = self.expr(value)
        return replace(s, **changes) if changes else s

    def expr(self, e: Any) -> Any:
        def one(n: Any) -> Any:
            if isinstance(n, ir.Var):
                new = self.lookup(n.name)
                return n if new == n.name else replace(n, name=new)
            if isinstance(n, ir.Call):  # a local functor, or a constant that is a template's argument
                func = self.text(n.func)
                return n if func == n.func else replace(n, func=func)
            if isinstance(n, ir.Cast):
                t = self.type(n.type)
                return n if t is n.type else replace(n, type=t)
            return self.opaque(n) if isinstance(n, ir.OpaqueExpr) else n

        return walk.rewrite(e, one)

    def text(self, text: str) -> str:
        return walk.SPELLED.sub(lambda m: self.lookup(m.group(0)), text)

    def type(self, t: ir.CType) -> ir.CType:
        """``Window<w>`` names a constant in scope."""
        if "<" not in t.base:
            return t
        base = self.text(t.base)
        return t if base == t.base else replace(t, base=base)

    def opaque(self, n: Any) -> Any:
        """Renames inside kept text, by whole words that are no member names."""
        moved = {a: b for a in n.reads | n.writes if (b := self.lookup(a)) != a}
        if not moved:
            return n
        text = WORD.sub(lambda m: moved.get(m.group(0), m.group(0)), n.text)
        return replace(n, text=text, reads=frozenset(moved.get(r, r) for r in n.reads),
                       writes=frozenset(moved.get(w, w) for w in n.writes))


def alpha_rename(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel with unique local names. The first declaration of a name keeps it; later ones get ``_2``, ``_3``."""
    renamer = _Renamer(kernel)
    return kernel.with_body(renamer.body(kernel.body))
