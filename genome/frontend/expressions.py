"""Expressions: from tree-sitter nodes to the IR's typed expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from genome import ir
from genome.errors import InputError, Loc
from genome.frontend.types import BUILTIN_TYPES, read_type, squeeze, text_of

BUILTINS = {f"{b}.{a}" for b in ("threadIdx", "blockIdx", "blockDim", "gridDim") for a in "xyz"}
IDENT = re.compile(r"(?<![\w.])(?<!->)[A-Za-z_]\w*")
KEYWORDS = frozenset(
    "alignas alignof asm auto bool break case catch char class const constexpr const_cast continue default delete do "
    "double dynamic_cast else enum explicit extern false float for friend goto if inline int long mutable namespace "
    "new noexcept nullptr operator private public register reinterpret_cast return short signed sizeof static "
    "static_cast struct switch template this throw true try typedef typeid typename union unsigned using virtual void "
    "volatile wchar_t while size_t threadIdx blockIdx blockDim gridDim warpSize __shared__ __asm__ __volatile__ "
    "__restrict__ and or not xor bitand bitor compl not_eq".split())
SYNC = re.compile(r"__sync|__shfl|__ballot|__any|__all|__match|__reduce_|__activemask|atomic|\basm\b|__asm|\bgoto\b|"
                  r"\.sync|barrier|__threadfence|cooperative_groups|\bcg::|mma|this_thread_block|this_grid|pipeline")
STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|//[^\n]*|/\*.*?\*/', re.S)
CASTS = ("static_cast", "reinterpret_cast", "const_cast")
INT_LITERAL = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)([uUlLzZ]*)$")


def identifiers(text: str) -> frozenset[str]:
    """All identifiers in a piece of code that could name data; strings, comments and member names left out."""
    return frozenset(IDENT.findall(STRINGS.sub(" ", text))) - KEYWORDS


@dataclass
class Context:
    """What the conversion knows of the surroundings.

    ``types``: names that are types; ``arrays``: declared arrays → number of dimensions (file scope and enclosing
    scopes, innermost last); ``raw``: the unmasked bytes, for text that is kept.
    """

    raw: bytes
    types: set[str]
    scopes: list[dict[str, tuple[ir.CType, int]]] = field(default_factory=lambda: [{}])
    file: str = ""
    depth: int = 0  # of the node under conversion

    def text(self, node: Node) -> str:
        return self.raw[node.start_byte:node.end_byte].decode("utf-8", "surrogateescape")

    def lookup(self, name: str) -> tuple[ir.CType, int] | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def is_type(self, name: str) -> bool:
        return (name in self.types or name in BUILTIN_TYPES) and self.lookup(name) is None


def location(node: Node) -> Loc:
    return Loc(node.start_point[0] + 1, node.start_point[1] + 1)


def integer(text: str) -> tuple[int, str] | None:
    """Value and suffix; a hexadecimal literal that C makes unsigned gets the suffix that keeps it so in decimal."""
    m = INT_LITERAL.match(text.replace("'", ""))
    if m is None:
        return None
    digits, suffix = m.groups()
    if digits[:2] in ("0x", "0X", "0b", "0B"):
        value = int(digits, 0)
    elif len(digits) > 1 and digits[0] == "0":
        try:
            value = int(digits, 8)
        except ValueError:
            return None
    else:
        return int(digits), suffix
    if "u" not in suffix.lower():
        if 2**31 <= value < 2**32 and "l" not in suffix.lower():
            suffix += "u"
        elif value >= 2**63:
            suffix = "ull"
    return value, suffix


def opaque(node: Node, cx: Context, reason: str, *, pure: bool = False) -> ir.OpaqueExpr:
    text = squeeze(cx.text(node)) if "//" not in cx.text(node) and '"' not in cx.text(node) else cx.text(node)
    names = identifiers(text)
    return ir.OpaqueExpr(text, names, frozenset() if pure else names, reason, location(node))


def convert(node: Node, cx: Context) -> ir.Expr:
    """The IR of an expression: what is not understood becomes an :class:`genome.ir.OpaqueExpr`. Raises
    :class:`InputError` for one that is nested too deeply."""
    handler = HANDLERS.get(node.type)
    with deeper(node, cx):
        result = handler(node, cx) if handler else None
    return opaque(node, cx, node.type) if result is None else result


DEEPEST = 200  # levels of expressions or statements in each other: analyses recurse over them


@contextmanager
def deeper(node: Node, cx: Context) -> Iterator[None]:
    """One level further down. Raises :class:`InputError` with the line where that is too far."""
    if cx.depth >= DEEPEST:
        raise too_deep(cx.file, node.start_point[0] + 1)
    cx.depth += 1
    try:
        yield
    finally:
        cx.depth -= 1


def too_deep(file: str, line: int) -> InputError:
    return InputError(f"code is nested more than {DEEPEST} levels deep", file=file, line=line,
                      remedy="give parts of the expression names of their own")


def _field(node: Node, name: str, cx: Context) -> ir.Expr | None:
    child = node.child_by_field_name(name)
    return None if child is None else convert(child, cx)


def named(node: Node) -> list[Node]:
    return [c for c in node.children if c.is_named and c.type != "comment"]


def _number(node: Node, cx: Context) -> ir.Expr | None:
    text = text_of(node)
    if text[0] in "+-":  # the grammar takes a sign into the literal
        start = location(node)
        inner = _unsigned_number(text[1:].lstrip(), start)
        return None if inner is None else ir.Un(text[0], inner, start)
    return _unsigned_number(text, location(node))


def _unsigned_number(text: str, loc: Loc) -> ir.Expr | None:
    number = integer(text)
    if number is not None:
        return ir.IntLit(number[0], number[1], loc)
    return ir.FloatLit(text, loc) if re.match(r"[\d.]", text) else None


def _literal(node: Node, cx: Context) -> ir.Expr | None:
    return ir.Literal(cx.text(node), location(node))


def _identifier(node: Node, cx: Context) -> ir.Expr | None:
    name = text_of(node)
    if name == "warpSize":
        return ir.Builtin(name, location(node))
    if name == "NULL":
        return ir.Literal(name, location(node))
    return ir.Var(name, location(node))


def _qualified(node: Node, cx: Context) -> ir.Expr | None:
    return opaque(node, cx, "qualified name", pure=True)


def _parenthesized(node: Node, cx: Context) -> ir.Expr | None:
    inner = named(node)
    return convert(inner[0], cx) if len(inner) == 1 else None


def _bare_type(node: Node | None, cx: Context) -> str | None:
    """``T`` of a ``(T)`` that was parsed as a parenthesised name although ``T`` is a type."""
    if node is None or node.type != "parenthesized_expression":
        return None
    inner = named(node)
    if len(inner) == 1 and inner[0].type == "identifier" and cx.is_type(text_of(inner[0])):
        return text_of(inner[0])
    return None


def _binary(node: Node, cx: Context) -> ir.Expr | None:
    op_node, left, right = (node.child_by_field_name(f) for f in ("operator", "left", "right"))
    if op_node is None or left is None or right is None:
        return None
    op = ALTERNATIVE.get(cx.text(op_node), cx.text(op_node))
    name = _bare_type(left, cx)
    if name is not None and op in ("-", "+", "*", "&"):  # (T)-x
        return ir.Cast(ir.CType(name), ir.Un(op, convert(right, cx), location(right)), "c", location(node))
    if op not in BINARY:
        return None
    return ir.Bin(op, convert(left, cx), convert(right, cx), location(node))


ALTERNATIVE = {"and": "&&", "or": "||", "not": "!", "not_eq": "!=", "bitand": "&", "bitor": "|", "xor": "^",
               "compl": "~"}
BINARY = frozenset(["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "&&", "||", "==", "!=", "<", ">", "<=",
                       ">=", ","])


def _comma(node: Node, cx: Context) -> ir.Expr | None:
    """tree-sitter nests ``a, b, c`` to the right; the operator associates to the left."""
    parts: list[Node] = []
    rest: Node | None = node
    while rest is not None and rest.type == "comma_expression":
        left = rest.child_by_field_name("left")
        if left is None:
            return None
        parts.append(left)
        rest = rest.child_by_field_name("right")
    if rest is None:
        return None
    result = convert(parts[0], cx)
    for part in [*parts[1:], rest]:
        result = ir.Bin(",", result, convert(part, cx), location(node))
    return result


def _unary(node: Node, cx: Context) -> ir.Expr | None:
    op_node, operand = node.child_by_field_name("operator"), _field(node, "argument", cx)
    if op_node is None or operand is None:
        return None
    op = ALTERNATIVE.get(text_of(op_node), text_of(op_node))
    return ir.Un(op, operand, location(node)) if op in ("-", "+", "!", "~", "*", "&") else None


def _update(node: Node, cx: Context) -> ir.Expr | None:
    op, target = node.child_by_field_name("operator"), node.child_by_field_name("argument")
    if op is None or target is None:
        return None
    if op.start_byte < target.start_byte:
        return ir.IncDec(text_of(op), convert(target, cx), True, location(node))
    return _postfix(target, text_of(op), location(node), cx)


def _postfix(target: Node, op: str, loc: Loc, cx: Context) -> ir.Expr:
    """The grammar reads ``-a++`` as ``(-a)++``; the postfix operator binds first."""
    inner = target.child_by_field_name("value" if target.type == "cast_expression" else "argument")
    if target.type in ("unary_expression", "cast_expression", "pointer_expression") and inner is not None:
        outer = convert(target, cx)
        if isinstance(outer, (ir.Un, ir.Cast)):
            return replace(outer, operand=_postfix(inner, op, loc, cx))
    return ir.IncDec(op, convert(target, cx), False, loc)


def _assignment(node: Node, cx: Context) -> ir.Expr | None:
    op, left, right = node.child_by_field_name("operator"), _field(node, "left", cx), _field(node, "right", cx)
    if op is None or left is None or right is None:
        return None
    return ir.AssignExpr(left, text_of(op), right, location(node))


def _conditional(node: Node, cx: Context) -> ir.Expr | None:
    cond, then, other = (_field(node, f, cx) for f in ("condition", "consequence", "alternative"))
    if cond is None or then is None or other is None:
        return None
    return ir.Ternary(cond, then, other, location(node))


def _cast(node: Node, cx: Context) -> ir.Expr | None:
    type_node, value = node.child_by_field_name("type"), node.child_by_field_name("value")
    ctype = read_type(type_node) if type_node is not None else None
    if ctype is None or value is None:
        return None
    return ir.Cast(ctype, convert(value, cx), "c", location(node))


def _arguments(node: Node | None, cx: Context) -> tuple[ir.Expr, ...]:
    return () if node is None else tuple(convert(c, cx) for c in named(node))


def _call(node: Node, cx: Context) -> ir.Expr | None:
    func, arg_node = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if func is None or arg_node is None or arg_node.type != "argument_list":
        return None
    if func.type == "template_function":
        name, targs = func.child_by_field_name("name"), func.child_by_field_name("arguments")
        if name is not None and text_of(name) in CASTS and targs is not None:
            descriptors, args = named(targs), _arguments(arg_node, cx)
            ctype = read_type(descriptors[0]) if len(descriptors) == 1 else None
            if ctype is None or len(args) != 1:
                return None
            return ir.Cast(ctype, args[0], text_of(name), location(node))
    bare = _bare_type(func, cx)
    args = _arguments(arg_node, cx)
    if bare is not None and args:  # (T)(x)
        inner = args[0]
        for a in args[1:]:
            inner = ir.Bin(",", inner, a, location(arg_node))
        return ir.Cast(ir.CType(bare), inner, "c", location(node))
    if func.type in ("primitive_type", "identifier", "type_identifier") and len(args) == 1 \
            and cx.is_type(text_of(func)) and not isinstance(args[0], ir.InitList):
        return ir.Cast(ir.CType(text_of(func)), args[0], "function", location(node))
    if func.type in ("identifier", "template_function", "qualified_identifier", "primitive_type"):
        return ir.Call(squeeze(text_of(func)), args, location(node))
    return _method(func, args, node, cx) if func.type == "field_expression" else None


GROUP_TYPE = re.compile(r"(?:\w+::)*(?:thread_block|thread_block_tile<.*>|grid_group|coalesced_group|thread_group|"
                        r"multi_grid_group|cluster_group)$")
GROUP_MAKER = re.compile(r"(?:\w+::)*(?:this_thread_block|this_grid|this_cluster|this_multi_grid|coalesced_threads|"
                         r"tiled_partition|labeled_partition|binary_partition)(?:<.*>)?$")


def is_group(e: ir.Expr, cx: Context) -> bool:
    """Whether ``e`` is a handle of cooperative groups."""
    if isinstance(e, ir.Call):
        return GROUP_MAKER.match(e.func) is not None
    known = cx.lookup(e.name) if isinstance(e, ir.Var) else None
    return known is not None and not known[0].pointer and GROUP_TYPE.match(known[0].base) is not None


def _method(func: Node, args: tuple[ir.Expr, ...], node: Node, cx: Context) -> ir.Expr | None:
    """``x.f(a)`` is the call of ``.f`` with the object first; ``cg.f`` where the object is a handle of cooperative
    groups, whose methods are known."""
    argument, name = func.child_by_field_name("argument"), func.child_by_field_name("field")
    if argument is None or name is None or name.type != "field_identifier":
        return None
    owner = convert(argument, cx)
    if isinstance(owner, ir.OpaqueExpr):
        return None
    arrow = any(c.type == "->" for c in func.children)
    prefix = "->" if arrow else ir.GROUP_METHOD if is_group(owner, cx) else "."
    return ir.Call(prefix + text_of(name), (owner, *args), location(node))


def _member(node: Node, cx: Context) -> ir.Expr | None:
    text = "".join(text_of(node).split())
    if text in BUILTINS and cx.lookup(text.split(".")[0]) is None:
        return ir.Builtin(text, location(node))
    argument, name = node.child_by_field_name("argument"), node.child_by_field_name("field")
    if argument is None or name is None or name.type != "field_identifier":
        return None
    arrow = any(c.type == "->" for c in node.children)
    return _innermost(convert(argument, cx), argument,
                      lambda e: ir.Member(e, text_of(name), arrow, location(node)))


def _innermost(e: ir.Expr, node: Node, make: Callable[[ir.Expr], ir.Expr]) -> ir.Expr:
    """The grammar reads ``-a++.x`` as ``(-a)++.x``: the member is that of ``a++``, under what stands before it."""
    if node.type in ("update_expression", "field_expression", "subscript_expression") and isinstance(
            e, (ir.Un, ir.Cast)):
        return replace(e, operand=_innermost(e.operand, node, make))
    return make(e)


def _subscript(node: Node, cx: Context) -> ir.Expr | None:
    chain: list[ir.Expr] = []
    base: Node | None = node
    while base is not None and base.type == "subscript_expression":
        indices = base.child_by_field_name("indices")
        inner = named(indices) if indices is not None else []
        if len(inner) != 1:
            return None
        chain.insert(0, convert(inner[0], cx))
        base = base.child_by_field_name("argument")
    if base is None:
        return None
    expr = convert(base, cx)
    if isinstance(expr, ir.Var):
        known = cx.lookup(expr.name)
        dims = known[1] if known else 0
        if dims > 1 and len(chain) > 1:
            expr = ir.Index(expr, tuple(chain[:dims]), location(node))
            chain = chain[dims:]
    for sub in chain:
        expr = _innermost(expr, base, lambda e, sub=sub: ir.Index(e, (sub,), location(node)))  # type: ignore[misc]
    return expr


def _init_list(node: Node, cx: Context) -> ir.Expr | None:
    items = named(node)
    if any(c.type in ("initializer_pair", "preproc_if", "preproc_ifdef") for c in items):
        return None
    return ir.InitList(tuple(convert(c, cx) for c in items), location(node))


def _sizeof(node: Node, cx: Context) -> ir.Expr | None:
    return opaque(node, cx, "sizeof", pure=True)


Handler = Callable[[Node, Context], "ir.Expr | None"]
HANDLERS: dict[str, Handler] = {
    "number_literal": _number, "char_literal": _literal, "string_literal": _literal, "raw_string_literal": _literal,
    "concatenated_string": _literal, "true": _literal, "false": _literal, "nullptr": _literal, "null": _literal,
    "identifier": _identifier, "qualified_identifier": _qualified, "parenthesized_expression": _parenthesized,
    "binary_expression": _binary, "comma_expression": _comma, "unary_expression": _unary,
    "pointer_expression": _unary, "update_expression": _update, "assignment_expression": _assignment,
    "conditional_expression": _conditional, "cast_expression": _cast, "call_expression": _call,
    "field_expression": _member, "subscript_expression": _subscript, "initializer_list": _init_list,
    "sizeof_expression": _sizeof,
}
