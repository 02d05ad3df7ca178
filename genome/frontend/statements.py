"""Statements: from tree-sitter nodes to the IR's typed statements."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace

from tree_sitter import Node

from genome import ir
from genome.frontend.expressions import SYNC, Context, convert, deeper, identifiers, is_group, location, named
from genome.frontend.source import hides_statement
from genome.frontend.types import SCALARS, make_type, read_declarator, read_specifiers, squeeze, text_of

Pragmas = dict[int, tuple[int, str]]


@dataclass
class Converter:
    """Converts one function body. ``pragmas``: start offset → (end offset, argument) of the unroll pragmas."""

    cx: Context
    pragmas: Pragmas

    def __post_init__(self) -> None:
        self.starts = sorted(self.pragmas)

    # -- bodies --------------------------------------------------------------------------------------------
    def body(self, node: Node) -> tuple[ir.Stmt, ...]:
        """The statements of a compound statement, or of a single statement used as a body."""
        self.cx.scopes.append({})
        try:
            if node.type != "compound_statement":
                return self.statement(node)
            out: list[ir.Stmt] = []
            skip = None
            for child in named(node):
                hidden = hides_statement(child)
                if hidden is not None:
                    out.append(self.macro_head(child, hidden))
                elif child != skip:
                    out.extend(self.statement(child))
                skip = hidden
            return tuple(out)
        finally:
            self.cx.scopes.pop()

    def statement(self, node: Node) -> tuple[ir.Stmt, ...]:
        handler = {
            "declaration": self.declaration, "expression_statement": self.expression, "if_statement": self.branch,
            "for_statement": self.loop, "while_statement": self.loop, "do_statement": self.loop,
            "compound_statement": self.block, "return_statement": self.leave, "break_statement": self.leave,
            "continue_statement": self.leave, "comment": self.nothing, ";": self.nothing,
        }.get(node.type)
        with deeper(node, self.cx):
            result = handler(node) if handler else None
        return (self.opaque(node, node.type),) if result is None else result

    def nothing(self, node: Node) -> tuple[ir.Stmt, ...]:
        return ()

    def opaque(self, node: Node, reason: str) -> ir.Opaque:
        text = self.cx.text(node).strip()
        names = identifiers(text)
        if reason in ir.COMPILE_TIME or (text.startswith("#pragma") and "\n" not in text):
            return ir.Opaque(text, names, frozenset(), reason if reason in ir.COMPILE_TIME else "pragma",
                             loc=location(node))
        if text.startswith("#"):
            reason = "preprocessor"
        elif reason == "function_definition":  # LOOP(i, n) { ... } reads like one
            reason = "unknown macro"
        barrier = SYNC.search(text) is not None or reason in ("goto_statement", "unknown macro")
        return ir.Opaque(text, names, names, reason, barrier, location(node))

    def macro_head(self, node: Node, body: Node) -> ir.Opaque:
        """``LOOP(i, n) { ... }`` with an unknown macro: kept as one piece of text."""
        text = self.cx.raw[node.start_byte:body.end_byte].decode("utf-8", "surrogateescape").strip()
        names = identifiers(text)
        return ir.Opaque(text, names, names, "unknown macro", True, location(node))

    def block(self, node: Node) -> tuple[ir.Stmt, ...]:
        return (ir.Block(self.body(node), location(node)),)

    def leave(self, node: Node) -> tuple[ir.Stmt, ...] | None:
        loc = location(node)
        if node.type == "break_statement":
            return (ir.Break(loc),)
        if node.type == "continue_statement":
            return (ir.Continue(loc),)
        values = named(node)
        if not values:
            return (ir.Return(loc),)
        return (ir.Return(loc, convert(values[0], self.cx)),) if len(values) == 1 else None

    # -- declarations --------------------------------------------------------------------------------------
    def declaration(self, node: Node) -> tuple[ir.Stmt, ...] | None:
        named_type = node.child_by_field_name("type")
        known = self.cx.lookup(text_of(named_type)) if named_type is not None else None
        if known is not None and known[0].base != "?":  # "x * y[i];" of a variable x: a product that nobody uses
            return (self.opaque(node, "expression_statement"),)
        decls = self.declarators(node)
        if decls is None:
            for child in node.children_by_field_name("declarator"):
                d = read_declarator(child)
                if d.name:
                    self.cx.scopes[-1][d.name] = (ir.CType("?"), 0)
        return decls

    def declarators(self, node: Node) -> tuple[ir.Stmt, ...] | None:
        spec = read_specifiers(node)
        if spec.unknown or spec.space == "extern":
            return None
        out: list[ir.Stmt] = []
        entries = node.children_by_field_name("declarator")
        if not entries:
            return None
        for entry in entries:
            d = read_declarator(entry)
            if d.unknown or not d.name or d.const_inner or d.volatile_pointer:
                return None
            if spec.base == "auto" and d.pointer:
                return None
            ctype = make_type(spec, d)
            init = None if d.init is None else convert(d.init, self.cx)
            if d.arguments is not None:
                init = self.constructed(d.arguments, ctype)
                if init is None or spec.space or d.dims or spec.base == "auto":
                    return None
            dims = tuple(None if n is None else convert(n, self.cx) for n in d.dims)
            group = spec.base == "auto" and init is not None and is_group(init, self.cx)
            self.cx.scopes[-1][d.name] = (ir.CType("thread_group") if group else ctype, len(dims))
            out.append(ir.Decl(ctype, d.name, dims, init, spec.space, spec.align, loc=location(entry)))
        return tuple(out)

    def constructed(self, node: Node, ctype: ir.CType) -> ir.Expr | None:
        """The initialiser that ``T x(a, b)`` means: ``T(a, b)``, which C++17 constructs in place."""
        args = tuple(convert(c, self.cx) for c in named(node))
        if ctype.pointer or ctype.base in SCALARS:
            return args[0] if len(args) == 1 else None
        return ir.Call(ctype.base, args, location(node))

    def template_declaration(self, node: Node, name: Node, init: Node | None) -> tuple[ir.Stmt, ...]:
        """``ns::tile<32> name = ...;``, see :func:`_template_declaration`."""
        base = squeeze(self.cx.raw[node.start_byte:name.start_byte].decode("utf-8", "surrogateescape"))
        ctype = ir.CType(base.replace(" ,", ","))
        value = None if init is None else convert(init, self.cx)
        self.cx.scopes[-1][text_of(name)] = (ctype, 0)
        return (ir.Decl(ctype, text_of(name), (), value, loc=location(node)),)

    # -- expressions as statements ---------------------------------------------------------------------------
    def expression(self, node: Node) -> tuple[ir.Stmt, ...] | None:
        inner = named(node)
        if not inner:
            return ()
        if len(inner) != 1:
            return None
        if inner[0].type == "gnu_asm_expression":
            return None
        declared = _template_declaration(inner[0])
        if declared is not None:
            return self.template_declaration(node, *declared)
        expr = convert(inner[0], self.cx)
        if isinstance(expr, ir.OpaqueExpr):
            return None
        if isinstance(expr, ir.Call) and expr.func == "__syncthreads" and not expr.args:
            return (ir.Barrier(location(node)),)
        if isinstance(expr, ir.AssignExpr):
            return (ir.Assign(expr.target, expr.op, expr.value, location(node)),)
        return (ir.Eval(expr, location(node)),)

    # -- control flow ----------------------------------------------------------------------------------------
    def condition(self, node: Node) -> ir.Expr | None:
        """The value of ``(cond)``; None for a condition that declares something."""
        cond = node.child_by_field_name("condition")
        if cond is None:
            return None
        if cond.type == "condition_clause":
            if cond.child_by_field_name("initializer") is not None:
                return None
            value = cond.child_by_field_name("value")
            if value is None or value.type == "declaration":
                return None
            return convert(value, self.cx)
        return convert(cond, self.cx)

    def branch(self, node: Node) -> tuple[ir.Stmt, ...] | None:
        cond, then = self.condition(node), node.child_by_field_name("consequence")
        if cond is None or then is None:
            return None
        other: tuple[ir.Stmt, ...] = ()
        alternative = node.child_by_field_name("alternative")
        if alternative is not None:
            inner = named(alternative)
            if alternative.type != "else_clause" or len(inner) != 1:
                return None
            other = self.body(inner[0])
        return (ir.If(cond, self.body(then), other, location(node)),)

    def unroll(self, node: Node, body: Node) -> tuple[bool, int | None]:
        """(understood, factor) of the pragma before the loop or between its head and its body."""
        found = None
        i = bisect_left(self.starts, node.start_byte)
        for start in reversed(self.starts[:i]):
            between = self.cx.raw[self.pragmas[start][0]:node.start_byte]
            if between.strip() and not _only_comments(between):
                break
            found = self.pragmas[start][1]
            break
        if body.type not in ("for_statement", "while_statement", "do_statement"):  # else it is the inner loop's
            for start in self.starts[i:]:
                if start >= body.start_byte:
                    break
                found = self.pragmas[start][1]
        if found is None:
            return True, None
        if not found:
            return True, 0
        try:
            return True, max(1, int(found.rstrip("uUlL"), 0))
        except ValueError:
            value = constant(found)
            return (value is not None, value)

    def with_pragma(self, node: Node) -> ir.Opaque:
        """A loop kept as text, with the pragma before it (one inside is part of its text anyway)."""
        kept = self.opaque(node, "unroll pragma")
        before = self.starts[:bisect_left(self.starts, node.start_byte)]
        if before:
            between = self.cx.raw[self.pragmas[before[-1]][0]:node.start_byte]
            if not between.strip() or _only_comments(between):
                text = self.cx.raw[before[-1]:self.pragmas[before[-1]][0]].decode("utf-8", "surrogateescape")
                return replace(kept, text=f"{text.strip()}\n{kept.text}")
        return kept

    def loop(self, node: Node) -> tuple[ir.Stmt, ...] | None:
        body_node = node.child_by_field_name("body")
        if body_node is None:
            return None
        understood, unroll = self.unroll(node, body_node)
        if not understood:
            return (self.with_pragma(node),)
        kind = {"for_statement": "for", "while_statement": "while", "do_statement": "do"}[node.type]
        self.cx.scopes.append({})
        try:
            init: tuple[ir.Stmt, ...] = ()
            update: ir.Expr | None = None
            cond: ir.Expr | None = None
            if kind == "for":
                start = node.child_by_field_name("initializer")
                if start is not None:
                    made = self.declaration(start) if start.type == "declaration" else self.initialiser(start)
                    if made is None:
                        return None
                    init = made
                cond_node, update_node = (node.child_by_field_name(f) for f in ("condition", "update"))
                cond = None if cond_node is None else convert(cond_node, self.cx)
                update = None if update_node is None else convert(update_node, self.cx)
            else:
                cond = self.condition(node)
                if cond is None:
                    return None
            return (ir.Loop(kind, kind, init, cond, update, self.body(body_node), unroll, location(node)),)
        finally:
            self.cx.scopes.pop()

    def initialiser(self, node: Node) -> tuple[ir.Stmt, ...] | None:
        if node.type == "expression_statement":
            return self.expression(node)
        expr = convert(node, self.cx)
        if isinstance(expr, ir.AssignExpr):
            return (ir.Assign(expr.target, expr.op, expr.value, location(node)),)
        return (ir.Eval(expr, location(node)),)


def _template_declaration(node: Node) -> tuple[Node, Node | None] | None:
    """The name and the initialiser that ``ns::tile<32> name = ...;`` declares, which the grammar takes for the
    comparison ``ns::tile < 32 > (name = ...)``: a statement that compares and drops the result is no C that anybody
    writes."""
    init: Node | None = None
    if node.type == "assignment_expression":  # (ns::tile < 32 > name) = ...
        init, left = node.child_by_field_name("right"), node.child_by_field_name("left")
        if left is None or left.type != "binary_expression":
            return None
        node = left
    op, right = node.child_by_field_name("operator"), node.child_by_field_name("right")
    if node.type != "binary_expression" or op is None or op.type != ">" or right is None:
        return None
    if right.type == "assignment_expression":
        init, right = right.child_by_field_name("right"), right.child_by_field_name("left")
    return (right, init) if right is not None and right.type == "identifier" else None


def _only_comments(raw: bytes) -> bool:
    import re

    return not re.sub(rb"/\*.*?\*/|//[^\n]*|#[^\n]*", b"", raw, flags=re.S).strip()


def constant(text: str) -> int | None:
    """The value of a constant integer expression over literals, or None."""
    import ast

    try:
        tree = ast.parse(text.replace("/", "//").strip(), mode="eval")
    except (SyntaxError, ValueError):
        return None
    allowed = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv,
               ast.Mod, ast.LShift, ast.RShift, ast.USub, ast.UAdd)
    if not all(isinstance(n, allowed) and (not isinstance(n, ast.Constant) or isinstance(n.value, int))
               for n in ast.walk(tree)) or len(text) > 200:
        return None
    try:
        return int(eval(compile(tree, "<constant>", "eval"), {"__builtins__": {}}))
    except (ArithmeticError, ValueError):
        return None


def parameters(node: Node | None) -> list[ir.Param] | str:
    """The parameters of a function declarator, or what is not understood."""
    if node is None:
        return "parameter list"
    out: list[ir.Param] = []
    for child in named(node):
        if child.type not in ("parameter_declaration", "optional_parameter_declaration"):  # a launch gives all values
            return f"{child.type.replace('_', ' ')} '{text_of(child)}'"
        spec, d = read_specifiers(child), read_declarator(child.child_by_field_name("declarator"))
        if spec.base == "void" and not d.name and not d.pointer:
            continue
        if spec.unknown or d.unknown:
            return f"parameter '{text_of(child)}'"
        ctype = make_type(spec, d)
        if d.const_inner:  # const float* const* rows: what is pointed to is a type of its own
            inner = " ".join(["const"] * spec.const + [spec.base]) + "*" * (d.pointer - 1) + " const"
            ctype = ir.CType(inner, 1, False, spec.volatile, d.restrict)
        if d.dims:
            if len(d.dims) > 1:
                return f"parameter '{text_of(child)}'"
            ctype = ir.CType(ctype.base, ctype.pointer + 1, ctype.const, ctype.volatile, ctype.restrict)
        out.append(ir.Param(ctype, d.name, location(child)))
    return out
