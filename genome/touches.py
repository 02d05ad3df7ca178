"""What the threads of a block touch, in order: every access to shared and global memory with its subscript as a
polynomial of thread and block indices, the conditions it is under, and the barriers in between.

Scalars are followed in single-assignment form: each value is a polynomial over symbols that never change, so that
``from = 1 - from`` between two barriers is understood. A symbol is *common* when all threads of the block have the
same value of it, as long as they are in the same iteration of the loops that hold a barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from genome import ir
from genome.errors import Loc
from genome.facts import condition_facts, conjuncts, loop_facts, negate
from genome.poly import INTEGER_BASES, Poly, from_expr, is_integer
from genome.prove import implies
from genome.purity import SILENT
from genome.uniform import Uniformity
from genome.walk import children, rewrite, root, walk

AXES = "xyz"
ATOMIC = "atomic"
QUOTIENT = "quotient#"
COUNT = "count of "  # iterations of a loop with a step
LOADS = frozenset({"__ldg", "__ldca", "__ldcg", "__ldcs", "__ldlu", "__ldcv"})


@dataclass(frozen=True)
class Touch:
    """One access. ``poly``: the flat subscript in elements, None where it is no polynomial. ``exact``: the facts are
    all conditions that the access is under, so that each point which satisfies them makes it."""

    array: str
    space: str  # "shared" or "global"
    poly: Poly | None
    kind: str  # "read", "write" or "atomic"
    facts: tuple[Poly, ...]
    exact: bool
    loc: Loc
    same_value: bool = False  # a store of a value that is equal for all threads
    index: ir.Expr | None = None


@dataclass(frozen=True)
class Barrier:
    loc: Loc


@dataclass(frozen=True)
class Choice:
    """A condition with a barrier in a branch; every thread of the block takes the same one."""

    then: tuple[Item, ...]
    other: tuple[Item, ...]


@dataclass(frozen=True)
class Cycle:
    """A loop with a barrier inside. ``symbol``: its counter, which starts at ``start`` and goes by ``step``; None where
    that is not known. ``owned``: common symbols that have one value in an iteration. ``last``: p >= 0 holds in the last
    iteration only."""

    symbol: str | None
    start: Poly | None
    step: int | None
    last: Poly | None
    owned: frozenset[str]
    body: tuple[Item, ...]
    may_skip: bool


Item = Touch | Barrier | Choice | Cycle


@dataclass
class Touches:
    items: tuple[Item, ...]
    common: frozenset[str]  # symbols with one value for the whole block
    base: tuple[Poly, ...]  # facts about them and about thread indices
    problems: dict[str, tuple[str, Loc]]  # array ("" for all) → why nothing can be said of it
    warp_level: bool  # threads also synchronise within a warp
    elements: dict[str, ir.CType] = field(default_factory=dict)  # types of shared arrays
    quotients: dict[str, tuple[Poly, int]] = field(default_factory=dict)  # symbol → what is divided by what
    starts: dict[str, Poly] = field(default_factory=dict)  # a loop's counter → its first value
    unknown: frozenset[str] = frozenset()  # symbols that differ between threads in a way that is not known


def collect(kernel: ir.Kernel, block: tuple[int, int, int], known: Uniformity, params: tuple[Poly, ...] = (),
            silent: frozenset[str] = SILENT) -> Touches:
    """``params``: facts about the kernel's integer parameters. ``silent``: functions without effects on memory."""
    c = _Collector(kernel, block, known, params, silent)
    items = tuple(c.body(kernel.body, _At(c.base, True)))
    return Touches(items, frozenset(c.common), c.base, c.problems, c.warp_level, c.elements,
                   {name: key for key, name in c.quotients.items()}, c.starts, frozenset(c.unknown))


@dataclass(frozen=True)
class _At:
    facts: tuple[Poly, ...]
    exact: bool
    loops: int = 0  # loops without a barrier around it
    varying: bool = False


class _Collector:
    def __init__(self, kernel: ir.Kernel, block: tuple[int, int, int], known: Uniformity,
                 params: tuple[Poly, ...], silent: frozenset[str]) -> None:
        self.silent = silent
        self.kernel, self.block, self.known = kernel, block, known
        self.types: dict[str, ir.CType] = {p.name: p.type for p in kernel.params}
        self.spaces = {p.name: "global" for p in kernel.params if p.type.pointer}
        self.env: dict[str, Poly] = {}
        self.common: set[str] = set()
        self.owned: list[set[str]] = []  # of the loops with barriers around
        self.count = 0
        self.problems: dict[str, tuple[str, Loc]] = {}
        self.dims: dict[str, tuple[Poly, ...]] = {}
        self.elements: dict[str, ir.CType] = {}
        self.extern: list[str] = []
        self.starts: dict[str, Poly] = {}
        self.unknown: set[str] = set()
        self.scalars: set[str] = set()  # shared variables that are no arrays
        self.quotients: dict[tuple[Poly, int], str] = {}
        self.warp_level = False
        self.base: tuple[Poly, ...] = params
        assigned = _assigned(kernel.body)
        for p in kernel.params:
            if is_integer(p.type) and p.name not in assigned:
                self.env[p.name] = Poly.sym(p.name)
                self.common.add(p.name)
            if p.type.pointer and p.name in assigned:
                self._problem(p.name, f"{p.name} is moved", p.loc)
            if p.type.pointer and p.type.volatile:
                self._problem(p.name, f"{p.name} is volatile", p.loc)
        for axis, extent in zip(AXES, block, strict=True):
            t, b, g = f"threadIdx.{axis}", f"blockIdx.{axis}", f"gridDim.{axis}"
            self.env[t] = Poly.sym(t) if extent > 1 else Poly()
            self.env[b], self.env[g], self.env[f"blockDim.{axis}"] = Poly.sym(b), Poly.sym(g), Poly.const(extent)
            self.common |= {b, g}
            for n in (t, b, g, f"blockDim.{axis}"):
                self.types[n] = ir.UINT
            self.base += (Poly.sym(b), Poly.sym(g) - Poly.const(1), Poly.sym(g) - Poly.const(1) - Poly.sym(b))
            if extent > 1:
                self.base += (Poly.sym(t), Poly.const(extent - 1) - Poly.sym(t))
        self.env["warpSize"], self.types["warpSize"] = Poly.const(32), ir.INT

    # ------------------------------------------------------------------------------------------- symbols
    def _problem(self, array: str, why: str, loc: Loc) -> None:
        self.problems.setdefault(array, (why, loc))

    def _fresh(self, name: str, at: _At) -> Poly:
        self.count += 1
        symbol = f"{name}#{self.count}"
        if name.removeprefix(COUNT) in self.known.varying:
            self.unknown.add(symbol)
        elif not at.loops and not at.varying:
            if self.owned:
                self.owned[-1].add(symbol)
            else:
                self.common.add(symbol)
        return Poly.sym(symbol)

    def _resolve(self, name: str) -> Poly | None:
        return Poly.sym(name) if name.startswith(QUOTIENT) else self.env.get(name)

    def _plain(self, e: ir.Expr, at: _At) -> tuple[ir.Expr, _At]:
        """Builtins as variables, and quotients by constants as symbols with their bounds as facts."""
        facts = at.facts

        def one(n: Any) -> Any:
            nonlocal facts
            if isinstance(n, ir.Builtin):
                return ir.Var(n.name, n.loc)
            if isinstance(n, ir.Coord):
                b, d, t = (ir.Var(f"{v}.{n.axis}") for v in ("blockIdx", "blockDim", "threadIdx"))
                return ir.Bin("+", ir.Bin("*", b, d), t, n.loc)
            if isinstance(n, ir.Bin) and n.op in ("/", "%", ">>", "&"):
                by = from_expr(n.right, self._resolve)
                if by is None or not by.is_constant or by.constant < (0 if n.op in (">>", "&") else 1):
                    return n
                size = by.constant
                if n.op == "&":
                    if size & (size + 1):
                        return n
                    size += 1
                elif n.op == ">>":
                    if size > 30:
                        return n
                    size = 1 << size
                whole = from_expr(n.left, self._resolve)
                if whole is None or whole.is_constant or not implies(facts, whole):
                    return n
                q = self._quotient(whole, size)
                k = Poly.const(size)
                symbol = Poly.sym(q)
                bounds = (whole - symbol * k, symbol * k + k - Poly.const(1) - whole, symbol)
                facts += bounds
                if bounds[0] not in self.base and implies(self.base, whole):  # they hold wherever the symbol is
                    self.base += bounds
                if n.op in ("/", ">>"):
                    return ir.Var(q, n.loc)
                return ir.Bin("-", n.left, ir.Bin("*", ir.Var(q), ir.IntLit(size)), n.loc)
            return n

        out: ir.Expr = rewrite(e, one)
        return out, replace(at, facts=facts)

    def _quotient(self, whole: Poly, size: int) -> str:
        key = (whole, size)
        if key not in self.quotients:
            self.count += 1
            name = f"{QUOTIENT}{self.count}"
            self.quotients[key] = name
            self.types[name] = ir.UINT
            if whole.symbols <= self.common:
                self.common.add(name)
        return self.quotients[key]

    def _value(self, e: ir.Expr, at: _At) -> tuple[Poly | None, _At]:
        plain, at = self._plain(e, at)
        return from_expr(plain, self._resolve), at

    def _condition(self, c: ir.Expr, at: _At) -> _At:
        """The scope where ``c`` holds."""
        for part in _conjuncts(c):
            plain, at = self._plain(part, at)
            facts = condition_facts(plain, at.facts, self._resolve, self.types)
            at = replace(at, facts=at.facts + facts, exact=at.exact and bool(facts))
        return replace(at, varying=at.varying or not self.known.of(c))

    # ---------------------------------------------------------------------------------------- statements
    def body(self, stmts: tuple[ir.Stmt, ...], at: _At) -> Iterator[Item]:
        for i, s in enumerate(stmts):
            yield from self.statement(s, at, last=i == len(stmts) - 1)
            if isinstance(s, (ir.If, ir.For, ir.Loop)) and any(
                    isinstance(n, (ir.Return, ir.Break, ir.Continue)) for n in walk(s)):
                at = replace(at, exact=False)  # what comes after is under conditions that are not followed

    def statement(self, s: ir.Stmt, at: _At, last: bool) -> Iterator[Item]:
        match s:
            case ir.Barrier(loc=loc):
                yield Barrier(loc)
            case ir.Decl():
                yield from self._declare(s, at)
            case ir.Assign(target=t, op=op, value=v, loc=loc):
                yield from self.expr(v, at, loc)
                yield from self._store(t, op, v, at, loc)
            case ir.Eval(expr=e, loc=loc):
                yield from self.expr(e, at, loc)
            case ir.If():
                yield from self._if(s, at, last)
            case ir.For() | ir.Loop():
                yield from self._loop(s, at)
            case ir.Block(body=b):
                yield from self.body(b, at)
            case ir.Opaque(reason=r, loc=loc):
                self._problem("", f"a statement is kept as text ({r or 'not understood'})", loc)
            case _:
                for c in children(s):
                    yield from self.expr(c, at, s.loc)

    def _declare(self, s: ir.Decl, at: _At) -> Iterator[Item]:
        self.types[s.name] = s.type
        if "shared" in s.space:
            self.spaces[s.name] = "shared"
            if s.space.startswith("extern"):
                for other in self.extern:
                    for n in (other, s.name):
                        self._problem(n, f"{other} and {s.name} are the same memory", s.loc)
                self.extern.append(s.name)
            self.elements[s.name] = s.type
            if not s.dims:
                self.scalars.add(s.name)
            dims = [Poly.const(1) if d is None else self._value(d, at)[0] for d in s.dims[1:]]
            if any(d is None for d in dims):
                self._problem(s.name, f"the extents of {s.name} are not understood", s.loc)
            self.dims[s.name] = tuple(d for d in dims if d is not None)
            if s.type.volatile or s.type.pointer:
                self._problem(s.name, f"{s.name} is {'volatile' if s.type.volatile else 'an array of pointers'}", s.loc)
            return
        if s.space:
            self._problem("", f"{s.name} is a {s.space} variable", s.loc)
        if s.init is not None:
            yield from self.expr(s.init, at, s.loc)
        if s.type.pointer or not is_integer(s.type) or s.dims:
            return
        self._bind(s.name, s.init, at)

    def _bind(self, name: str, value: ir.Expr | None, at: _At) -> None:
        t = self.types.get(name)
        poly = None
        if value is not None and t is not None and is_integer(t) and INTEGER_BASES[t.base][0] >= 32:
            poly = self._value(value, at)[0]
        self.env[name] = poly if poly is not None else self._fresh(name, at)

    def _store(self, t: ir.Expr, op: str, value: ir.Expr, at: _At, loc: Loc) -> Iterator[Item]:
        if isinstance(t, ir.Var) and self.spaces.get(t.name) != "shared":
            new = value if op == "=" else ir.Bin(op[:-1], t, value)
            if t.name in self.types and is_integer(self.types[t.name]) and not self.types[t.name].pointer:
                self._bind(t.name, new, at)
            elif t.name not in self.types:
                self._problem("", f"{t.name} is a variable of the file", loc)
            return
        same = op == "=" and self.known.of(value) and not at.loops
        if op != "=":
            yield from self._access(t, "read", at, loc)
        yield from self._access(t, "write", at, loc, same)
        e = t
        while isinstance(e, (ir.Index, ir.Member)):
            if isinstance(e, ir.Index):
                for sub in e.subs:
                    yield from self.expr(sub, at, loc)
                e = e.base
            else:
                e = e.operand

    def _if(self, s: ir.If, at: _At, last: bool) -> Iterator[Item]:
        yield from self.expr(s.cond, at, s.loc)
        barrier = any(isinstance(n, (ir.Barrier, ir.Opaque)) for n in walk(s.then + s.other))
        varying = not self.known.of(s.cond)
        if barrier and varying and not (last and not s.other):
            self._problem("", "a barrier is under a condition that differs between threads", s.loc)
        before = dict(self.env)
        then = tuple(self.body(s.then, self._condition(s.cond, at)))
        after = dict(self.env)
        self.env = before
        no = self._condition(ir.Un("!", s.cond), at)
        other = tuple(self.body(s.other, no))
        inner = replace(at, varying=at.varying or varying)
        for name in _assigned(s.then + s.other):
            if name in after and after.get(name) != self.env.get(name):
                self.env[name] = self._fresh(name, inner)
        if barrier and not varying:
            yield Choice(then, other)
        else:
            yield from then
            yield from other

    def _loop(self, s: ir.For | ir.Loop, at: _At) -> Iterator[Item]:
        barrier = any(isinstance(n, (ir.Barrier, ir.Opaque)) for n in walk(s.body))
        start: Poly | None = None
        heads = (s.lo, s.hi, s.step) if isinstance(s, ir.For) else ()
        if isinstance(s, ir.Loop):
            yield from self.body(s.init, at)
            uniform = s.cond is None or self.known.of(s.cond)
        else:
            for e in heads:
                yield from self.expr(e, at, s.loc)
            uniform = all(self.known.of(e) for e in heads)
            start, at = self._value(s.lo, at)
        if barrier and not uniform:
            self._problem("", "a barrier is in a loop whose trips differ between threads", s.loc)
        if barrier:
            self.owned.append(set())
            inner = at
        else:
            inner = replace(at, loops=at.loops + 1)
        entry = {n: self.env.get(n) for n in _assigned((s,))}
        for name in entry:
            if name in self.types and is_integer(self.types[name]):
                self.env[name] = self._fresh(name, inner)
        step: int | None = None
        symbol: str | None = None
        last: Poly | None = None
        if isinstance(s, ir.For):
            if s.type is not None:
                self.types[s.var] = s.type
            v = self._fresh(s.var, inner)
            self.env[s.var] = v
            (symbol,) = v.symbols
            if start is not None:
                self.starts[symbol] = start
                self.unknown.discard(symbol)
            inner, step, last = self._counted(s, inner, start, v)
        else:
            inner = self._invariants(s, entry, inner)
            if s.cond is not None:
                if s.kind != "do":
                    inner = self._condition(s.cond, inner)
                yield from self.expr(s.cond, inner, s.loc)
        items = list(self.body(s.body, inner))
        if isinstance(s, ir.Loop) and s.update is not None:
            items += self.expr(s.update, inner, s.loc)
        if barrier:
            owned = self.owned.pop()
            yield Cycle(symbol, start, step, last, frozenset(owned), tuple(items), not self._enters(s, at, start))
        else:
            yield from items
        for name in [*entry, *([s.var] if isinstance(s, ir.For) else [])]:
            if name in self.types and is_integer(self.types[name]):
                self.env[name] = self._fresh(name, at)

    def _counted(self, s: ir.For, at: _At, start: Poly | None, v: Poly) -> tuple[_At, int | None, Poly | None]:
        """Bounds of a canonical loop's variable, its step, and what only its last iteration satisfies."""
        lo, at = self._plain(s.lo, at)
        hi, at = self._plain(s.hi, at)
        by, at = self._plain(s.step, at)
        step = from_expr(by, self._resolve)
        high = from_expr(hi, self._resolve)
        if step is None or not step.is_constant or step.constant == 0 or start is None or high is None:
            known = step.constant if step is not None and step.is_constant else 1
            facts = loop_facts(replace(s, lo=lo, hi=hi, step=ir.IntLit(known)), at.facts, self._resolve, self.types) \
                if step is not None and (step.is_constant or implies(at.facts, step)) else ()
            return replace(at, facts=at.facts + facts, exact=False), None, None
        c = step.constant
        facts = loop_facts(replace(s, lo=lo, hi=hi, step=ir.IntLit(c)), at.facts, self._resolve, self.types)
        understood = len(facts) >= 2
        if abs(c) > 1:  # v = start + c * i
            i = self._fresh(COUNT + s.var, at)
            facts += (v - start - Poly.const(c) * i, start + Poly.const(c) * i - v, i)
        exact = at.exact and understood
        past = {"<": v + Poly.const(c) - high, "<=": v + Poly.const(c) - high - Poly.const(1),
                ">": high - v - Poly.const(c), ">=": high - v - Poly.const(c) - Poly.const(1)}[s.cmp]
        return replace(at, facts=at.facts + facts, exact=exact), c, past

    def _invariants(self, s: ir.Loop, entry: dict[str, Poly | None], at: _At) -> _At:
        """Bounds of a counter that only its head changes: it is doubled from a start, halved, or steps up."""
        facts: tuple[Poly, ...] = ()
        for name, start in entry.items():
            if start is None or name in _assigned(s.body) or s.update is None or not implies(at.facts, start):
                continue
            change = _growth(s.update, name)
            now = self.env.get(name)
            if now is None or change is None:
                continue
            if change:
                facts += (now - start,)
            else:
                facts += (now, start - now)
        return replace(at, facts=at.facts + facts, exact=False)

    def _enters(self, s: ir.For | ir.Loop, at: _At, start: Poly | None) -> bool:
        """Whether the loop surely runs once."""
        if isinstance(s, ir.Loop):
            return s.kind == "do"
        high = self._value(s.hi, at)[0]
        if start is None or high is None:
            return False
        gap = {"<": high - start - Poly.const(1), "<=": high - start, ">": start - high - Poly.const(1),
               ">=": start - high}[s.cmp]
        return implies(at.facts, gap)

    # --------------------------------------------------------------------------------------- expressions
    def expr(self, e: ir.Expr, at: _At, loc: Loc) -> Iterator[Item]:
        match e:
            case ir.Index() | ir.Member():
                yield from self._access(e, "read", at, loc)
                inner: ir.Expr = e
                while isinstance(inner, (ir.Index, ir.Member)):
                    if isinstance(inner, ir.Index):
                        for sub in inner.subs:
                            yield from self.expr(sub, at, loc)
                        inner = inner.base
                    else:
                        inner = inner.operand
                if not isinstance(inner, ir.Var):
                    yield from self.expr(inner, at, loc)
            case ir.Var(name=n):
                if n in self.spaces:
                    if n in self.scalars:
                        yield from self._access(e, "read", at, loc)
                    else:
                        self._problem(n, f"{n} is used as a pointer", loc)
                elif n in self.types and self.types[n].pointer and n not in self.elements:
                    self._problem(n, f"{n} is a pointer", loc)
            case ir.Ternary(cond=c, then=t, other=o):
                yield from self.expr(c, at, loc)
                yield from self.expr(t, self._condition(c, at), loc)
                yield from self.expr(o, self._condition(ir.Un("!", c), at), loc)
            case ir.Bin(op="&&", left=left, right=right):
                yield from self.expr(left, at, loc)
                yield from self.expr(right, self._condition(left, at), loc)
            case ir.Bin(op="||", left=left, right=right):
                yield from self.expr(left, at, loc)
                yield from self.expr(right, self._condition(ir.Un("!", left), at), loc)
            case ir.Call(func=f, args=args):
                yield from self._call(f, args, at, loc)
            case ir.IncDec(target=t, op=op):
                yield from self._store(t, "+=" if op == "++" else "-=", ir.IntLit(1), at, loc)
            case ir.AssignExpr(target=t, op=op, value=v):
                yield from self.expr(v, at, loc)
                yield from self._store(t, op, v, at, loc)
            case ir.Un(op="*"):
                self._problem("", "a pointer is dereferenced that is no subscript", loc)
            case ir.Un(op="&", operand=o):
                name = root(o)
                self._problem(name or "", f"the address of {name} is taken", loc)
            case ir.OpaqueExpr(reason=r, writes=w):
                if w:
                    self._problem("", f"an expression is kept as text ({r or 'not understood'})", loc)
            case _:
                for c2 in children(e):
                    yield from self.expr(c2, at, loc)

    def _call(self, f: str, args: tuple[ir.Expr, ...], at: _At, loc: Loc) -> Iterator[Item]:
        if f.startswith(ATOMIC) or f in LOADS:
            target = args[0] if args else ir.IntLit(0)
            if isinstance(target, ir.Un) and target.op == "&":
                place: ir.Expr = target.operand
            elif isinstance(target, ir.Bin) and target.op == "+":
                place = ir.Index(target.left, (target.right,), loc)
            else:
                place = ir.Index(target, (ir.IntLit(0),), loc)
            yield from self._access(place, ATOMIC if f.startswith(ATOMIC) else "read", at, loc)
            rest: list[ir.Expr] = list(args[1:])
            if isinstance(place, ir.Index):
                rest += place.subs
            for a in rest:
                yield from self.expr(a, at, loc)
            return
        if f == "__syncwarp" or (f in self.silent and f not in SILENT):
            self.warp_level = True  # a helper may synchronise within the warp
        if f not in self.known.pure and f not in self.silent:
            self._problem("", f"{f} may touch memory or synchronise", loc)
        for a in args:
            yield from self.expr(a, at, loc)

    def _access(self, e: ir.Expr, kind: str, at: _At, loc: Loc, same: bool = False) -> Iterator[Item]:
        name = root(e)
        part = False
        place: Any = e
        while isinstance(place, ir.Member):  # a member is counted as its whole element
            place, part = place.operand, True
        subs: tuple[ir.Expr, ...] = ()
        base = place
        while isinstance(base, ir.Index):
            subs, base = base.subs + subs, base.base
        if not isinstance(base, ir.Var):
            if name is not None and name in self.spaces:
                self._problem(name, f"{name} is accessed as another type", loc)
            elif isinstance(base, (ir.Un, ir.Cast)):
                self._problem("", "memory is accessed through a pointer expression", loc)
            return
        name = base.name
        if name not in self.spaces:
            if name in self.types and self.types[name].pointer:
                self._problem("", f"memory is accessed through the pointer {name}", loc)
            elif name not in self.types and kind != "read":
                self._problem("", f"{name} is a variable of the file", loc)
            return
        polys: list[Poly] = []
        for sub in subs:
            p, at = self._value(sub, at)
            if p is None:
                break
            polys.append(p)
        poly: Poly | None = None
        dims = self.dims.get(name, ())
        if self.spaces[name] == "global" or name not in self.dims:
            poly = polys[0] if len(polys) == len(subs) == 1 else None
        elif len(polys) == len(subs) and (len(subs) == len(dims) + 1 or (not subs and not dims)):
            poly = polys[0] if polys else Poly()
            for d, p in zip(dims, polys[1:], strict=True):
                poly = poly * d + p
        yield Touch(name, self.spaces[name], poly, kind, at.facts, at.exact and not part, loc, same, e)


def _conjuncts(c: ir.Expr) -> Iterator[ir.Expr]:
    """Conditions that all hold where ``c`` does, negated disjunctions opened."""
    for part in conjuncts(c):
        if isinstance(part, ir.Un) and part.op == "!" and isinstance(part.operand, ir.Bin) and part.operand.op == "||":
            yield from _conjuncts(negate(part.operand))
        else:
            yield part


def _assigned(stmts: tuple[Any, ...]) -> list[str]:
    """Scalars that are written below, in order of the first write."""
    out: dict[str, None] = {}
    for s in stmts:
        for n in walk(s):
            if isinstance(n, (ir.Assign, ir.AssignExpr, ir.IncDec)) and isinstance(n.target, ir.Var):
                out.setdefault(n.target.name)
            elif isinstance(n, ir.For) and n.type is None:
                out.setdefault(n.var)
            elif isinstance(n, ir.Un) and n.op == "&" and isinstance(n.operand, ir.Var):
                out.setdefault(n.operand.name)
            elif isinstance(n, (ir.Opaque, ir.OpaqueExpr)):
                out.update(dict.fromkeys(sorted(n.writes)))
    return list(out)


def _growth(update: ir.Expr, name: str) -> bool | None:
    """True where the update never makes ``name`` smaller, given that it is not negative; False where it halves."""
    here: Callable[[ir.Expr], bool] = lambda e: e == ir.Var(name)  # noqa: E731
    match update:
        case ir.IncDec(op="++", target=t) if here(t):
            return True
        case ir.AssignExpr(target=t, op=op, value=ir.IntLit(value=v)) if here(t):
            if (op == "*=" and v >= 1) or (op in ("<<=", "+=") and v >= 0):
                return True
            if (op == "/=" and v >= 1) or (op == ">>=" and v >= 0):
                return False
        case ir.AssignExpr(target=t, op="=", value=ir.Bin(op=op, left=left, right=ir.IntLit(value=v))) if (
                here(t) and here(left)):
            return _growth(ir.AssignExpr(t, op + "=", ir.IntLit(v)), name)
    return None
