"""One function in OpenCL C 1.2: address spaces inferred from the arrays that pointers come from, C++ casts and
overloads spelled out, local arrays at kernel scope. What has no counterpart raises ``opencl-untranslatable``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from genome import ir, walk
from genome.errors import Loc
from genome.footprint import ELEMENT_BYTES
from genome.frontend.types import squeeze
from genome.normal.typing import declared_types, type_of
from genome.printer import opencl_calls
from genome.printer.base import ASSIGN, INDENT, POSTFIX, PRIMARY, UNARY, Printer
from genome.printer.opencl_file import FileScope
from genome.printer.opencl_types import (
    CONSTANTS,
    QUALIFIERS,
    RESERVED,
    VECTORS,
    base_name,
    refuse,
    stored,
)

if TYPE_CHECKING:
    from genome.printer.opencl import Clones
    from genome.unit import DeviceFunction

IDS = {"threadIdx": "get_local_id", "blockIdx": "get_group_id", "blockDim": "get_local_size",
       "gridDim": "get_num_groups"}


class OpenCLPrinter(Printer):
    """Prints one function. ``clones`` collects the helper variants that its calls ask for."""

    restrict = "restrict"

    def __init__(self, scope: FileScope, helpers: dict[str, DeviceFunction], clones: Clones, params: Sequence[ir.Param],
                 body: tuple[ir.Stmt, ...], spaces: dict[str, str]) -> None:
        self.scope, self.helpers, self.clones = scope, helpers, clones
        self.known = frozenset(scope.types)
        shell = ir.Kernel("", tuple(params), body)
        self.types = {d.name: replace(d.type, pointer=d.type.pointer + len(d.dims)) for d in scope.constants}
        self.types |= declared_types(shell)
        self.spaces = {d.name: "constant" for d in scope.constants if d.dims} | spaces
        self.hoisted: list[str] = []
        self.dynamic: list[str] = []
        self.shared_scalars = frozenset(
            n.name for n in walk.walk(body) if isinstance(n, ir.Decl) and n.space and not n.dims)
        self.resolve(body)

    # -- asynchronous copies ---------------------------------------------------------------------------------
    def async_lines(self, s: ir.AsyncCopy | ir.AsyncCommit | ir.AsyncWait) -> list[str]:
        """OpenCL C 1.2 has nothing of the kind: the copies are made at once, the groups are comments."""
        if isinstance(s, ir.AsyncCommit):
            return ["// commit group"]
        if isinstance(s, ir.AsyncWait):
            return [f"// wait until {s.pending} groups are under way"]
        t = self.type_of(s.source)
        assert t is not None and isinstance(s.target, ir.Index)
        width = s.bytes // ELEMENT_BYTES[t.base]
        lines = []
        for i in range(width):
            more = ir.IntLit(i)
            target = ir.Index(s.target.base, (*s.target.subs[:-1], ir.Bin("+", s.target.subs[-1], more)))
            value: ir.Expr = ir.Index(s.source.base, (ir.Bin("+", s.source.subs[0], more),))
            if s.cond is not None:
                value = ir.Ternary(s.cond, value, ir.IntLit(0))
            lines += [line.strip() for line in self.stmt(ir.Assign(target, "=", value), 0)]
        return lines

    # -- types -----------------------------------------------------------------------------------------------
    def resolve(self, body: tuple[ir.Stmt, ...]) -> None:
        """``auto`` by its initialiser, and the address space of every pointer, in program order."""
        for n in walk.walk(body):
            if isinstance(n, ir.Decl):
                if n.type.base == "auto":
                    t = None if n.init is None else self.type_of(n.init)
                    if t is None:
                        raise refuse(f"the type of 'auto {n.name}' is not known", n.loc)
                    self.types[n.name] = replace(t, const=t.const if t.pointer else n.type.const, restrict=False)
                if n.space in ("shared", "extern shared"):
                    self.spaces[n.name] = "local"
                elif n.space in ("static", "constant"):
                    if not n.type.const and n.space == "static":
                        raise refuse(f"'{n.name}' is a static variable", n.loc)
                    self.spaces[n.name] = "constant"
                elif n.dims:
                    self.spaces[n.name] = "private"
                    if n.type.pointer:
                        raise refuse(f"'{n.name}' is an array of pointers", n.loc)
                elif self.types[n.name].pointer and n.init is not None:
                    self.spaces[n.name] = self.space(n.init)
            elif isinstance(n, (ir.Assign, ir.AssignExpr)) and n.op == "=" and isinstance(n.target, ir.Var):
                t = self.types.get(n.target.name)
                if t is not None and t.pointer:
                    space = self.space(n.value)
                    if self.spaces.setdefault(n.target.name, space) != space:
                        raise refuse(f"'{n.target.name}' points into two address spaces", n.loc)

    def space(self, e: ir.Expr) -> str:
        """The address space that a pointer expression points into."""
        match e:
            case ir.Var(name=n):
                if n in self.spaces:
                    return self.spaces[n]
            case ir.Bin(op=op, left=left, right=right) if op in ("+", "-"):
                t = self.type_of(left)
                return self.space(left if t is not None and t.pointer else right)
            case ir.Bin(op=",", right=right):
                return self.space(right)
            case ir.Cast(operand=o) | ir.IncDec(target=o) | ir.AssignExpr(target=o):
                return self.space(o)
            case ir.Ternary(then=a, other=b):
                if self.space(a) == self.space(b):
                    return self.space(a)
            case ir.Index(base=b):
                return self.space(b)
            case ir.Un(op="&", operand=o):
                return self.object_space(o)
        raise refuse("the address space of a pointer is not known", e.loc)

    def object_space(self, e: ir.Expr) -> str:
        """The address space that an lvalue lies in."""
        match e:
            case ir.Var(name=n):
                t = self.types.get(n)
                if n in self.spaces and (t is None or not t.pointer or n in self.shared_scalars):
                    return self.spaces[n]
                return "private"
            case ir.Index(base=b):
                return self.space(b)
            case ir.Member(operand=o, arrow=arrow):
                return self.space(o) if arrow else self.object_space(o)
            case ir.Un(op="*", operand=o):
                return self.space(o)
        raise refuse("the address space of an object is not known", e.loc)

    def type_of(self, e: ir.Expr) -> ir.CType | None:
        if isinstance(e, ir.Member):
            owner = self.type_of(e.operand)
            if owner is not None and owner.base in self.scope.members:
                return self.plain(self.scope.members[owner.base].get(e.name))
        if isinstance(e, ir.Index) and isinstance(e.base, ir.Member):
            t = self.type_of(e.base)
            return replace(t, pointer=t.pointer - 1) if t is not None and t.pointer else None
        if isinstance(e, ir.Call) and e.func in self.helpers:
            return self.plain(self.helpers[e.func].returns)
        if isinstance(e, (ir.Bin, ir.Un, ir.Ternary, ir.Call)):
            return self.plain(type_of(self.typed(e), self.types))
        return self.plain(type_of(e, self.types))

    def typed(self, e: ir.Expr) -> ir.Expr:
        """Operands that only this printer can type are replaced by casts, so that :func:`type_of` sees through."""
        def one(n: Any) -> Any:
            if isinstance(n, (ir.Member, ir.Var)) or (isinstance(n, ir.Call) and n.func in self.helpers):
                t = self.type_of(n)
                return n if t is None or t.pointer else ir.Cast(t, ir.IntLit(0))
            return n

        result: ir.Expr = walk.rewrite(e, lambda n: one(n) if n is not e else n)
        return result

    def plain(self, t: ir.CType | None) -> ir.CType | None:
        """Typedefs replaced by what they stand for."""
        if t is None or t.base not in self.scope.aliases:
            return t
        under = self.scope.aliases[t.base]
        return replace(t, base=under.base, const=t.const or under.const)

    def scalar(self, base: str) -> str:
        try:
            return base_name(base, self.known)
        except Exception:
            return base

    def base(self, base: str, loc: Loc | None = None) -> str:
        return base_name(base, self.known, loc)

    def spelled(self, t: ir.CType, space: str | None = None, loc: Loc | None = None) -> str:
        """A type with the address space that it points into."""
        words = [w for w, on in (("const", t.const), ("volatile", t.volatile)) if on]
        base = "uchar" if t.base == "bool" and t.pointer else self.base(t.base, loc)
        if t.pointer > 1:
            raise refuse("pointers to pointers have no address space in OpenCL C 1.2", loc)
        if t.pointer:
            stored(t, loc)
        prefix = QUALIFIERS[space] if space is not None and t.pointer else ""
        if space == "constant":
            words = [w for w in words if w != "const"]
        text = prefix + " ".join([*words, base]) + "*" * t.pointer
        return f"{text} restrict" if t.restrict else text

    # -- names -----------------------------------------------------------------------------------------------
    def name(self, name: str) -> str:
        if name not in RESERVED:
            return name
        name += "_"
        while name in self.types:
            name += "_"
        return name

    def _var(self, e: ir.Var) -> tuple[str, int]:
        if e.name in self.types or e.name in self.scope.names:
            return self.name(e.name), PRIMARY
        if e.name in CONSTANTS:
            text = CONSTANTS[e.name]
            return text, UNARY if text.startswith("(") else PRIMARY
        raise refuse(f"'{e.name}' is not known in OpenCL", e.loc)

    def _builtin(self, e: ir.Builtin) -> tuple[str, int]:
        if e.name == "warpSize":
            return "32", PRIMARY
        base, axis = e.name.split(".")
        return f"(uint){IDS[base]}({'xyz'.index(axis)})", UNARY

    def _coord(self, e: ir.Coord) -> tuple[str, int]:
        i = "xyz".index(e.axis)
        return f"(uint)(get_group_id({i}) * get_local_size({i}) + get_local_id({i}))", UNARY

    def _int(self, e: ir.IntLit) -> tuple[str, int]:
        suffix = e.suffix.lower().replace("ll", "l")
        return f"{e.value}{suffix}", PRIMARY if e.value >= 0 else UNARY

    def _literal(self, e: ir.Literal) -> tuple[str, int]:
        if e.text in ("nullptr", "NULL"):
            return "0", PRIMARY
        if e.text.startswith(("R\"", "L", "u", "U")):
            raise refuse(f"the literal {e.text}", e.loc)
        return e.text, PRIMARY

    def _init(self, e: ir.InitList) -> tuple[str, int]:
        return ("{0}", PRIMARY) if not e.items else super()._init(e)

    def _call(self, e: ir.Call) -> tuple[str, int]:
        return opencl_calls.call(self, e)

    def _cast(self, e: ir.Cast) -> tuple[str, int]:
        if e.type.pointer:
            name = self.spelled(e.type, self.space(e.operand), e.loc)
        else:
            t = self.plain(e.type)
            assert t is not None
            if e.type.base in VECTORS:
                raise refuse(f"a cast to '{e.type.base}' widens in OpenCL", e.loc)
            if t.base == "bool":
                return f"({self.expr(e.operand, 10)} != 0)", POSTFIX
            name = self.spelled(replace(e.type, const=False, volatile=False, restrict=False), None, e.loc)
        operand = self.expr(e.operand, UNARY)
        if operand[0] in "+-*&":
            operand = f"({operand})"
        return f"({name}){operand}", UNARY

    def _member(self, e: ir.Member) -> tuple[str, int]:
        if not e.name.isidentifier():
            raise refuse(f"the member '{e.name}'", e.loc)
        return super()._member(e)

    def _opaque_expr(self, e: ir.OpaqueExpr) -> tuple[str, int]:
        if e.reason == "sizeof":
            inside = squeeze(e.text.removeprefix("sizeof").strip().strip("()"))
            if inside in self.types:
                return f"sizeof({self.name(inside)})", POSTFIX
            stored(ir.CType(inside), e.loc)
            return f"sizeof({self.base(inside, e.loc)})", POSTFIX
        raise refuse(f"'{e.text[:60]}' ({e.reason}) has no OpenCL counterpart", e.loc)

    def helper_call(self, e: ir.Call, name: str) -> tuple[str, int]:
        f = self.helpers[name]
        if f.body is None:
            raise refuse(f"the function '{f.name}' is a template or takes references", e.loc)
        if len(e.args) != len(f.params):
            raise refuse(f"'{f.name}' is called with {len(e.args)} arguments", e.loc)
        spaces = tuple(self.space(a) for a, p in zip(e.args, f.params, strict=True) if p.type.pointer)
        args = ", ".join(self.expr(a, ASSIGN) for a in e.args)
        return f"{self.clones.want(f.name, spaces)}({args})", POSTFIX

    # -- declarations and statements -------------------------------------------------------------------------
    def declared(self, d: ir.Decl) -> ir.CType:
        t = self.types[d.name] if d.type.base == "auto" else d.type
        if d.dims or d.type.pointer:
            stored(t, d.loc)
        return t

    def decl(self, d: ir.Decl) -> str:
        t = self.declared(d)
        space = self.spaces.get(d.name)
        if t.pointer and not d.dims and space is None:
            raise refuse(f"the address space of '{d.name}' is not known", d.loc)
        align = f" __attribute__((aligned({d.align})))" if d.align else ""
        dims = "".join("[]" if n is None else f"[{self.expr(n)}]" for n in d.dims)
        init = d.init
        text = "" if init is None else f" = {self.expr(init, ASSIGN)}"
        if isinstance(init, ir.InitList) and t.base in VECTORS and not d.dims and not t.pointer:
            items = ", ".join(self.expr(i, ASSIGN) for i in init.items) or "0"
            text = f" = ({self.base(t.base, d.loc)})({items})"
        elif init is not None and t.base == "bool" and not t.pointer and not d.dims:
            text = f" = {self.truth(init)}"
        prefix = QUALIFIERS[space] if space in ("local", "constant") and (d.dims or d.space) else ""
        if prefix == QUALIFIERS["constant"]:
            t = replace(t, const=False)
        base = "uchar" if t.base == "bool" and prefix else None
        spelled = base or self.spelled(t, space, d.loc)
        return f"{prefix}{spelled} {self.name(d.name)}{dims}{align}{text}"

    def truth(self, e: ir.Expr) -> str:
        """``e`` converted to bool."""
        t = self.type_of(e)
        if t is not None and t.base == "bool" and not t.pointer:
            return self.expr(e, ASSIGN)
        return f"{self.expr(e, 10)} != 0"

    def init(self, init: tuple[ir.Stmt, ...]) -> str:
        if len(init) > 1 and any(isinstance(s, ir.Decl) and (s.type.pointer or s.type.base == "bool") for s in init):
            raise refuse("a loop declares several pointers", init[0].loc)
        if len(init) > 1 and isinstance(init[0], ir.Decl):
            rest = [self.decl(s).split(" ", 1) for s in init if isinstance(s, ir.Decl)]
            words = len(self.spelled(init[0].type).split())
            return self.decl(init[0]) + "".join(
                ", " + " ".join(self.decl(s).split(" ")[words:]) for s in init[1:] if isinstance(s, ir.Decl) and rest)
        return super().init(init)

    def for_head(self, s: ir.For) -> str:
        return super().for_head(replace(s, var=self.name(s.var)))

    def type_name(self, t: ir.CType) -> str:
        return self.spelled(t)

    def stmt(self, s: ir.Stmt, depth: int) -> list[str]:
        if isinstance(s, ir.Decl) and s.space:
            self.hoist(s)
            return []
        if isinstance(s, ir.Assign) and s.op == "=" and not isinstance(s.target, ir.Var):
            t = self.type_of(s.target)
            if t is not None and t.base == "bool" and not t.pointer:
                return [f"{INDENT * depth}{self.expr(s.target, UNARY)} = {self.truth(s.value)};"]
        return super().stmt(s, depth)

    def hoist(self, d: ir.Decl) -> None:
        """Local and constant arrays stand at kernel scope; the dynamic one is a parameter."""
        if d.space == "extern shared":
            self.dynamic.append(f"__local {self.base(d.type.base, d.loc)}* {self.name(d.name)}")
        else:
            self.hoisted.append(f"{INDENT}{self.decl(d)};")

    def barrier(self) -> str:
        return "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)"

    def opaque(self, s: ir.Opaque, depth: int) -> list[str]:
        first = s.text.split("\n")[0][:60]
        raise refuse(f"'{first}' ({s.reason.replace('_', ' ')}) is kept as text and cannot be translated", s.loc)
