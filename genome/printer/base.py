"""What both languages share: precedence, minimal parentheses, statements and their indentation.

Parentheses are added exactly where C's grammar would otherwise build another tree; nothing is ever regrouped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from genome import ir

COMMA, ASSIGN, TERNARY, UNARY, POSTFIX, PRIMARY = 1, 2, 3, 15, 16, 17
BINARY = {",": 1, "||": 4, "&&": 5, "|": 6, "^": 7, "&": 8, "==": 9, "!=": 9, "<": 10, ">": 10, "<=": 10, ">=": 10,
          "<<": 11, ">>": 11, "+": 12, "-": 12, "*": 13, "/": 13, "%": 13}
KEYWORD_TYPES = {"char", "short", "int", "long", "float", "double", "bool", "unsigned", "signed", "void"}
ATOMIC = re.compile(r"[\w:.]+(?:\((?:[^()]|\([^()]*\))*\))?$")
INDENT = "    "


WIDTH = 120
SIMPLE = (ir.Decl, ir.Assign, ir.Eval, ir.Barrier, ir.Return, ir.Break, ir.Continue)
BREAKS = re.compile(r" (?=[-+*/%] |&& |\|\| |\? |: )|(?<=,) ")


def wrapped(line: str) -> list[str]:
    """A statement's line, broken at spaces before operators or after commas where it is too long. Lines that hold
    strings, comments or directives stay whole."""
    if len(line) <= WIDTH or '"' in line or "'" in line or line.lstrip().startswith(("//", "#")):
        return [line]
    lead = len(line) - len(line.lstrip())
    out = []
    pad = " " * (lead + 2 * len(INDENT))
    while len(line) > WIDTH:
        places = [m.start() for m in BREAKS.finditer(line, lead + 2 * len(INDENT), WIDTH)]
        if not places:
            break
        out.append(line[:places[-1]])
        line = pad + line[places[-1] + 1:]
    return [*out, line]


class Printer:
    """Prints expressions and statements; subclasses say how their language spells things."""

    pointer_prefix = ""

    # -- expressions -----------------------------------------------------------------------------------------
    def expr(self, e: ir.Expr, least: int = COMMA) -> str:
        """The text of ``e``, in parentheses when it binds less tightly than ``least``."""
        text, level = self.render(e)
        return f"({text})" if level < least else text

    def render(self, e: ir.Expr) -> tuple[str, int]:
        """Text and precedence level."""
        try:
            name = self.RENDER[type(e)]
        except KeyError:
            raise TypeError(f"{type(e).__name__} is no expression") from None
        result: tuple[str, int] = getattr(self, name)(e)
        return result

    def _int(self, e: ir.IntLit) -> tuple[str, int]:
        return f"{e.value}{e.suffix}", PRIMARY if e.value >= 0 else UNARY

    def _float(self, e: ir.FloatLit) -> tuple[str, int]:
        return e.text, UNARY if e.text.startswith(("-", "+")) else PRIMARY

    def _literal(self, e: ir.Literal) -> tuple[str, int]:
        return e.text, PRIMARY

    def _var(self, e: ir.Var) -> tuple[str, int]:
        return e.name, PRIMARY

    def _builtin(self, e: ir.Builtin) -> tuple[str, int]:
        return e.name, POSTFIX

    def _coord(self, e: ir.Coord) -> tuple[str, int]:
        return f"blockIdx.{e.axis} * blockDim.{e.axis} + threadIdx.{e.axis}", BINARY["+"]

    def postfixed(self, e: ir.Expr) -> str:
        """An operand of ``[]``, ``.`` or ``->``; ``0.x`` would be a literal."""
        text = self.expr(e, POSTFIX)
        return f"({text})" if isinstance(e, (ir.IntLit, ir.FloatLit)) and not text.startswith("(") else text

    def _index(self, e: ir.Index) -> tuple[str, int]:
        return self.postfixed(e.base) + "".join(f"[{self.expr(s, ASSIGN)}]" for s in e.subs), POSTFIX

    def _bin(self, e: ir.Bin) -> tuple[str, int]:
        level = BINARY[e.op]
        # the parser of the front-end takes "(a = b, c)" for a fold expression; with parentheses it does not
        least = TERNARY if e.op == "," and isinstance(e.left, ir.AssignExpr) else level
        left, right = self.expr(e.left, least), self.expr(e.right, level + 1)
        return (f"{left}, {right}" if e.op == "," else f"{left} {e.op} {right}"), level

    def _un(self, e: ir.Un) -> tuple[str, int]:
        operand = self.expr(e.operand, UNARY)
        if operand[0] in "+-&" and operand[0] == e.op[0]:
            operand = f"({operand})"
        return e.op + operand, UNARY

    def _incdec(self, e: ir.IncDec) -> tuple[str, int]:
        if e.prefix:
            operand = self.expr(e.target, UNARY)
            return e.op + (f"({operand})" if operand[0] in "+-" else operand), UNARY
        return self.expr(e.target, POSTFIX) + e.op, POSTFIX

    def _assign(self, e: ir.AssignExpr) -> tuple[str, int]:
        return f"{self.expr(e.target, UNARY)} {e.op} {self.expr(e.value, ASSIGN)}", ASSIGN

    def _call(self, e: ir.Call) -> tuple[str, int]:
        if e.args and e.func.startswith((".", "->", ir.GROUP_METHOD)):
            name = "." + e.func.removeprefix(ir.GROUP_METHOD) if e.func[0] not in ".-" else e.func
            return f"{self.postfixed(e.args[0])}{name}({', '.join(self.expr(a, ASSIGN) for a in e.args[1:])})", POSTFIX
        return f"{e.func}({', '.join(self.expr(a, ASSIGN) for a in e.args)})", POSTFIX

    def _cast(self, e: ir.Cast) -> tuple[str, int]:
        name = self.type_name(e.type)
        if e.style == "function" and re.fullmatch(r"[\w:]+", name):
            return f"{name}({self.expr(e.operand, ASSIGN)})", POSTFIX
        if e.style in ("static_cast", "reinterpret_cast", "const_cast"):
            return f"{e.style}<{name}>({self.expr(e.operand, ASSIGN)})", POSTFIX
        operand = self.expr(e.operand, UNARY)
        if operand[0] in "+-*&" and e.type.pointer == 0 and e.type.base.split()[0] not in KEYWORD_TYPES:
            operand = f"({operand})"  # (T)-x reads as a difference where T is not a keyword
        return f"({name}){operand}", UNARY

    def _ternary(self, e: ir.Ternary) -> tuple[str, int]:
        other = self.expr(e.other, TERNARY)
        return f"{self.expr(e.cond, TERNARY + 1)} ? {self.expr(e.then)} : {other}", TERNARY

    def _member(self, e: ir.Member) -> tuple[str, int]:
        return f"{self.postfixed(e.operand)}{'->' if e.arrow else '.'}{e.name}", POSTFIX

    def _init(self, e: ir.InitList) -> tuple[str, int]:
        return "{" + ", ".join(self.expr(i, ASSIGN) for i in e.items) + "}", PRIMARY

    def _opaque_expr(self, e: ir.OpaqueExpr) -> tuple[str, int]:
        return e.text, POSTFIX if ATOMIC.match(e.text) else COMMA - 1

    RENDER: dict[type, str] = {
        ir.IntLit: "_int", ir.FloatLit: "_float", ir.Literal: "_literal", ir.Var: "_var", ir.Builtin: "_builtin",
        ir.Coord: "_coord", ir.Index: "_index", ir.Bin: "_bin", ir.Un: "_un", ir.IncDec: "_incdec",
        ir.AssignExpr: "_assign", ir.Call: "_call", ir.Cast: "_cast", ir.Ternary: "_ternary", ir.Member: "_member",
        ir.InitList: "_init", ir.OpaqueExpr: "_opaque_expr",
    }

    # -- types and declarations ------------------------------------------------------------------------------
    def base_name(self, base: str) -> str:
        return base

    restrict = "__restrict__"

    def type_name(self, t: ir.CType) -> str:
        words = [w for w, on in (("const", t.const), ("volatile", t.volatile)) if on]
        text = " ".join([*words, self.base_name(t.base)]) + "*" * t.pointer
        return f"{text} {self.restrict}" if t.restrict else text

    SPACES = {"": "", "shared": "__shared__ ", "extern shared": "extern __shared__ ", "static": "static ",
              "constant": "__constant__ "}

    def decl(self, d: ir.Decl) -> str:
        """A declaration without its semicolon."""
        align = f"__align__({d.align}) " if d.align else ""
        return f"{self.SPACES[d.space]}{align}{self.type_name(d.type)} {self.declarator(d)}"

    def declarator(self, d: ir.Decl) -> str:
        dims = "".join("[]" if n is None else f"[{self.expr(n)}]" for n in d.dims)
        init = "" if d.init is None else f" = {self.expr(d.init, ASSIGN)}"
        return f"{d.name}{dims}{init}"

    # -- statements ------------------------------------------------------------------------------------------
    def body(self, body: Sequence[ir.Stmt], depth: int) -> list[str]:
        out: list[str] = []
        for s in body:
            out.extend(self.stmt(s, depth))
        return out

    def braced(self, head: str, body: Sequence[ir.Stmt], depth: int) -> list[str]:
        pad = INDENT * depth
        return [f"{pad}{head} {{" if head else f"{pad}{{", *self.body(body, depth + 1), f"{pad}}}"]

    def comment_lines(self, text: str, depth: int) -> list[str]:
        return [f"{INDENT * depth}// {line}".rstrip().rstrip("\\") for line in text.split("\n")] if text else []

    def stmt(self, s: ir.Stmt, depth: int) -> list[str]:
        """The lines of a statement."""
        if isinstance(s, SIMPLE):
            return [piece for line in self.simple(s, depth) for piece in wrapped(line)]
        return self.compound(s, depth)

    def simple(self, s: ir.Stmt, depth: int) -> list[str]:
        """A statement that holds no others."""
        pad = INDENT * depth
        if isinstance(s, ir.Decl):
            return [*self.comment_lines(s.comment, depth), f"{pad}{self.decl(s)};"]
        if isinstance(s, ir.Assign):
            return [f"{pad}{self.expr(s.target, UNARY)} {s.op} {self.expr(s.value, ASSIGN)};"]
        if isinstance(s, ir.Eval):
            return [f"{pad}{self.expr(s.expr)};"]
        if isinstance(s, ir.Barrier):
            return [f"{pad}{self.barrier()};"]
        if isinstance(s, ir.Return):
            return [f"{pad}return;" if s.value is None else f"{pad}return {self.expr(s.value)};"]
        return [f"{pad}{'break' if isinstance(s, ir.Break) else 'continue'};"]

    def compound(self, s: ir.Stmt, depth: int) -> list[str]:
        """Statements with bodies, comments and kept text."""
        if isinstance(s, ir.For):
            return [*self.comment_lines(s.comment, depth), *self.pragma(s.unroll, depth),
                    *self.braced(self.for_head(s), s.body, depth)]
        if isinstance(s, ir.Loop):
            return [*self.pragma(s.unroll, depth), *self.loop(s, depth)]
        if isinstance(s, ir.If):
            return self.branch(s, depth)
        if isinstance(s, ir.Block):
            return self.braced("", s.body, depth)
        if isinstance(s, ir.Comment):
            return self.comment_lines(s.text, depth)
        if isinstance(s, ir.Opaque):
            return self.opaque(s, depth)
        if isinstance(s, (ir.AsyncCopy, ir.AsyncCommit, ir.AsyncWait)):
            return [INDENT * depth + line for line in self.async_lines(s)]
        raise TypeError(f"{type(s).__name__} is no statement")

    def barrier(self) -> str:
        return "__syncthreads()"

    def async_lines(self, s: ir.AsyncCopy | ir.AsyncCommit | ir.AsyncWait) -> list[str]:
        """Calls of the helpers in :mod:`genome.printer.cuda`; nothing is read where the condition is false."""
        if isinstance(s, ir.AsyncCommit):
            return ["evo_commit_copies();"]
        if isinstance(s, ir.AsyncWait):
            return [f"evo_wait_copies<{s.pending}>();"]
        target, base = self.expr(s.target, UNARY), self.postfixed(s.source.base)
        if s.cond is None:
            return [f"evo_copy_async<{s.bytes}>(&{target}, &{self.expr(s.source, UNARY)}, true);"]
        # The block keeps the name from meeting the user's; they cannot begin with evo_.
        source = f"{base}[evo_in ? {self.expr(s.source.subs[0], TERNARY)} : 0]"
        return ["{", f"{INDENT}const bool evo_in = {self.expr(s.cond)};",
                f"{INDENT}evo_copy_async<{s.bytes}>(&{target}, &{source}, evo_in);", "}"]

    def opaque(self, s: ir.Opaque, depth: int) -> list[str]:
        return [INDENT * depth + s.text]

    def pragma(self, unroll: int | None, depth: int) -> list[str]:
        if unroll is None:
            return []
        return [f"{INDENT * depth}#pragma unroll{f' {unroll}' if unroll else ''}"]

    def for_head(self, s: ir.For) -> str:
        start = f"{s.var} = {self.expr(s.lo, ASSIGN)}"
        if s.type is not None:
            start = f"{self.type_name(s.type)} {start}"
        return f"for ({start}; {s.var} {s.cmp} {self.expr(s.hi, BINARY['<'] + 1)}; {self.update(s)})"

    def update(self, s: ir.For) -> str:
        step = s.step
        if isinstance(step, ir.IntLit) and not step.suffix:
            if step.value in (1, -1):
                return ("++" if step.value == 1 else "--") + s.var
            if step.value < 0:
                return f"{s.var} -= {-step.value}"
        if isinstance(step, ir.Un) and step.op == "-":
            return f"{s.var} -= {self.expr(step.operand, ASSIGN)}"
        return f"{s.var} += {self.expr(step, ASSIGN)}"

    def loop(self, s: ir.Loop, depth: int) -> list[str]:
        pad = INDENT * depth
        if s.kind == "while":
            return self.braced(f"while ({self.expr(s.cond or ir.Literal('true'))})", s.body, depth)
        if s.kind == "do":
            lines = self.braced("do", s.body, depth)
            return [*lines[:-1], f"{pad}}} while ({self.expr(s.cond or ir.Literal('true'))});"]
        if len(s.init) > 1 and not self.one_declaration(s.init):
            inner = replace(s, init=())
            return self.braced("", (*s.init, inner), depth)
        cond = "" if s.cond is None else " " + self.expr(s.cond)
        update = "" if s.update is None else " " + self.expr(s.update)
        return self.braced(f"for ({self.init(s.init)};{cond};{update})", s.body, depth)

    def one_declaration(self, init: tuple[ir.Stmt, ...]) -> bool:
        """Whether C can write all of a loop's initial statements as one declaration, or as one expression."""
        first = init[0]
        if isinstance(first, ir.Decl):
            return all(isinstance(d, ir.Decl) and (d.type.base, d.type.const, d.type.volatile, d.space, d.align) == (
                first.type.base, first.type.const, first.type.volatile, first.space, first.align) for d in init)
        return all(isinstance(s, (ir.Assign, ir.Eval)) for s in init)

    def init(self, init: tuple[ir.Stmt, ...]) -> str:
        texts: list[str] = []
        for i, s in enumerate(init):
            if isinstance(s, ir.Decl):
                stars = "*" * s.type.pointer + (f" {self.restrict} " if s.type.restrict else "")
                texts.append(self.decl(s) if i == 0 else stars + self.declarator(s))
            else:
                texts.append(self.stmt(s, 0)[0].rstrip(";"))
        return ", ".join(texts)

    def branch(self, s: ir.If, depth: int) -> list[str]:
        pad = INDENT * depth
        lines = self.braced(f"if ({self.expr(s.cond)})", s.then, depth)
        while s.other:
            if len(s.other) == 1 and isinstance(s.other[0], ir.If):
                s = s.other[0]
                lines[-1] = f"{pad}}} else if ({self.expr(s.cond)}) {{"
                lines += [*self.body(s.then, depth + 1), f"{pad}}}"]
            else:
                lines[-1] = f"{pad}}} else {{"
                return [*lines, *self.body(s.other, depth + 1), f"{pad}}}"]
        return lines
