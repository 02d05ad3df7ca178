"""One parsed file: its tree, its ``__global__`` functions, and errors in the user's terms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser, Query, QueryCursor, Tree

from genome.errors import InputError
from genome.frontend.chunks import blanked, top_level
from genome.frontend.preprocess import Expanded, mask
from genome.frontend.types import text_of

LANGUAGE = Language(tree_sitter_cuda.language())
TEMPLATES = Query(LANGUAGE, "[(template_function) (template_method) (template_type)] @t")
CASTS = Query(LANGUAGE, "(cast_expression) @t")
TYPE_NAMES = Query(LANGUAGE, """[(struct_specifier name: (_) @t) (class_specifier name: (_) @t)
                                 (enum_specifier name: (_) @t) (union_specifier name: (_) @t)
                                 (alias_declaration name: (_) @t) (type_definition declarator: (_) @t)
                                 (type_parameter_declaration (_) @t)]""")
DECLARATIONS = Query(LANGUAGE, "[(parameter_declaration) (declaration) (optional_parameter_declaration)] @d")
CONTAINERS = {"translation_unit", "linkage_specification", "declaration_list", "namespace_definition",
              "template_declaration", "preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "ERROR"}


@dataclass(frozen=True)
class Source:
    """``raw`` is the expanded text, ``tree`` the parse of its masked twin (equal offsets), ``pragmas`` the unroll
    pragmas by start offset. ``expanded`` knows which lines come from the user's own headers; ``lost``: the first lines
    of what was left out because it cannot be parsed and no kernel is in it."""

    file: str
    raw: bytes
    tree: Tree
    pragmas: dict[int, tuple[int, str]]
    expanded: Expanded
    code: bytes  # what was parsed
    lost: tuple[int, ...] = ()

    def origin(self, line: int) -> tuple[str, int]:
        """File and line that a line of ``raw`` comes from."""
        if line > self.expanded.lines:
            for h in reversed(self.expanded.headers):
                if line >= h.start:
                    return h.file, line - h.start + h.line
        return self.file, line

    def order(self, line: int) -> int:
        """What sorts a line of ``raw`` into the order of the translation unit: headers stand where they are included,
        just before the line of their ``#include``."""
        if line > self.expanded.lines:
            for h in reversed(self.expanded.headers):
                if line >= h.start:
                    return 2 * h.at - 1
        return 2 * line


def parse(text: str, file: str, expanded: Expanded | None = None) -> Source:
    masked, pragmas = mask(text)
    code = masked.encode("utf-8", "surrogateescape")
    tree = Parser(LANGUAGE).parse(code)
    lost: tuple[int, ...] = ()
    if tree.root_node.has_error:
        code, lost = _without_unreadable(code)
        if lost:
            tree = Parser(LANGUAGE).parse(code)
    if MAYBE_CAST.search(code):
        for _ in range(4):
            names = _false_casts(tree.root_node)
            if not names:
                break
            patched = bytearray(code)
            for start, end in names:
                patched[start], patched[end - 1] = ord(" "), ord(" ")
            code = bytes(patched)
            tree = Parser(LANGUAGE).parse(code)
    if MAYBE_TEMPLATE.search(code):
        for _ in range(8):  # each pass sees through one more level of nesting
            swaps = _false_templates(tree.root_node, code)
            if not swaps:
                break
            patched = bytearray(code)
            for at in swaps:
                patched[at] = ord("<")
                if code[at + 1:at + 2] == b">":  # a < b >> c
                    patched[at + 1] = ord("<")
            code = bytes(patched)
            tree = Parser(LANGUAGE).parse(code)
    return Source(file, text.encode("utf-8", "surrogateescape"), tree, pragmas,
                  expanded or Expanded(text, text.count("\n") + 1), code, lost)


@dataclass(frozen=True)
class Edit:
    """Bytes ``start`` to ``end`` become ``new``; ``hidden``: inside of what the parser sees as a comment, perhaps at
    its end, which then is kept (``new`` has two bytes at least)."""

    start: int
    end: int
    new: bytes
    start_point: tuple[int, int]
    end_point: tuple[int, int]
    hidden: bool = False


def edited(source: Source, edits: list[Edit]) -> Source:
    """The source after edits that are in order and apart from each other; the parser looks at those places only."""
    raw: list[bytes] = []
    code: list[bytes] = []
    at = 0
    for e in edits:
        raw += [source.raw[at:e.start], e.new]
        code += [source.code[at:e.start], b" " * (len(e.new) - 2) + b"*/" if e.hidden else e.new]
        at = e.end
    raw.append(source.raw[at:])
    code.append(source.code[at:])
    tree = source.tree.copy()
    for e in reversed(edits):
        lines = e.new.count(b"\n")
        last = len(e.new) - e.new.rfind(b"\n") - 1
        row, column = e.start_point
        tree.edit(start_byte=e.start, old_end_byte=e.end, new_end_byte=e.start + len(e.new),
                  start_point=e.start_point, old_end_point=e.end_point,
                  new_end_point=(row + lines, last if lines else column + len(e.new)))
    whole = b"".join(raw)
    tree = Parser(LANGUAGE).parse(b"".join(code), tree)
    return Source(source.file, whole, tree, mask(whole.decode("utf-8", "surrogateescape"))[1], source.expanded,
                  b"".join(code), source.lost)


def _without_unreadable(code: bytes) -> tuple[bytes, tuple[int, ...]]:
    """The code without the bodies of host functions that the grammar cannot take, and without pieces of which it
    makes nothing at all; so they cannot swallow a kernel. With the first line of each."""
    lost: list[int] = []
    parser = Parser(LANGUAGE)
    for chunk in top_level(code):
        root = parser.parse(code[chunk.start:chunk.end]).root_node
        if not root.has_error:
            continue
        if chunk.host and chunk.body is not None:
            code = blanked(code, chunk.body[0] + 1, chunk.body[1] - 1)
        elif b"__global__" in chunk.head or any(
                c.type in ("function_definition", "template_declaration") for c in root.children):
            continue  # its own error is reported, and it stands alone
        else:
            code = blanked(code, chunk.start, chunk.end)
        lost.append(code.count(b"\n", 0, chunk.start) + 1)
    return code, tuple(lost)


MAYBE_TEMPLATE = re.compile(rb"[\w\])]\s*<[^<>;{}]*>\s*[-(+*&!~>=]")


MAYBE_CAST = re.compile(rb"\(\s*\w+\s*\)\s*[-+*&]")


def _false_casts(root: Node) -> list[tuple[int, int]]:
    """Where ``(i)`` of ``(i) + nx * j``, which the grammar takes for a cast to a type ``i``, begins and ends. Without
    the parentheses the text parses as it is meant. A name counts as a variable when it is one of the function, or one
    of the file that is no type."""
    out: list[tuple[int, int]] = []
    variables: dict[int, frozenset[str]] = {}
    types: set[str] | None = None
    for node in QueryCursor(CASTS).captures(root).get("t", ()):
        kind, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        if kind is None or value is None or kind.named_child_count != 1 \
                or kind.named_children[0].type != "type_identifier" \
                or value.type not in ("unary_expression", "pointer_expression", "number_literal"):
            continue
        if value.children and value.children[0].type not in ("+", "-", "*", "&") or (
                not value.children and text_of(value)[:1] not in "+-"):
            continue
        name = text_of(kind)
        function = _function_around(node)
        if function is not None and function.id not in variables:
            variables[function.id] = _variables(function)
        local = function is not None and name in variables[function.id]
        if not local:
            if types is None:
                types = type_names(root)
                variables[root.id] = _variables(root)
            local = name in variables[root.id] and name not in types
        if local:
            open_paren = node.children[0]
            close = next(c for c in node.children if c.type == ")")
            out.append((open_paren.start_byte, close.end_byte))
    return out


def type_names(root: Node) -> set[str]:
    """The names that a file defines as types."""
    return {text_of(n) for n in QueryCursor(TYPE_NAMES).captures(root).get("t", ())}


def _false_templates(root: Node, code: bytes) -> list[int]:
    """Offsets of the ``>`` in ``i < n && j > (m)``, which the grammar takes for a call of a template ``i<n && j>``.

    Replaced by ``<``, which binds alike, the text parses as it is meant; operators are read from the raw text."""
    out: list[int] = []
    variables: dict[int, frozenset[str]] = {}
    for node in QueryCursor(TEMPLATES).captures(root).get("t", ()):
        args = node.child_by_field_name("arguments")
        name = node.child_by_field_name("name")
        if args is None or name is None or not args.child_count or args.children[-1].type != ">":
            continue
        function = _function_around(node)
        if function is not None and function.id not in variables:
            variables[function.id] = _variables(function)
        logical = any(c.type == "binary_expression" and {"&&", "||"} & {k.type for k in c.children}
                      for c in args.children)
        shift = code[args.end_byte:args.end_byte + 1] == b">" and not _in_arguments(node)  # a < b >> c
        local = function is not None and text_of(name) in variables[function.id]
        if shift or local or (logical and node.type != "template_type"):
            out.append(args.children[-1].start_byte)
    return out


def _function_around(node: Node) -> Node | None:
    while node.parent is not None:
        node = node.parent
        if node.type == "function_definition":
            return node
    return None


def _in_arguments(node: Node) -> bool:
    """Whether a node stands among template arguments, so that ``>>`` may close two lists."""
    above = node.parent
    while above is not None and not above.type.endswith(("_statement", "_definition", "declaration")):
        if above.type == "template_argument_list":
            return True
        above = above.parent
    return False


def _variables(function: Node) -> frozenset[str]:
    """The names of a function's parameters and local variables."""
    found = QueryCursor(DECLARATIONS).captures(function).get("d", ())
    return frozenset({declared_name(d) for n in found for d in n.children_by_field_name("declarator")} - {""})


def declared_name(node: Node | None) -> str:
    """The name that a declarator declares; empty where it has none."""
    while node is not None:
        if node.type in ("identifier", "type_identifier", "field_identifier"):
            return text_of(node)
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next((c for c in node.children if c.is_named and ("declarator" in c.type
                                                                      or c.type == "identifier")), None)
        node = inner
    return ""


@dataclass(frozen=True)
class Function:
    """A function definition; ``node`` is the definition itself, ``outer`` with ``template <...>`` or ``extern "C"``
    where these belong to it alone."""

    name: str
    node: Node
    outer: Node
    template: Node | None
    c_linkage: bool


def function_declarator(node: Node) -> Node | None:
    """The ``function_declarator`` of a definition or prototype, below pointers and references."""
    d = node.child_by_field_name("declarator")
    while d is not None and d.type != "function_declarator":
        inner = d.child_by_field_name("declarator")
        if inner is None:
            inner = next((c for c in d.children if c.type == "function_declarator"), None)
        d = inner
    return d


def function_name(node: Node) -> str:
    d = function_declarator(node)
    name = d.child_by_field_name("declarator") if d is not None else None
    return "" if name is None else text_of(name)


def marked(node: Node, word: str) -> bool:
    """Whether a definition carries ``__global__``, ``__device__`` ..."""
    return any(c.type == word or (not c.children and text_of(c) == word) for c in node.children)


def functions(node: Node, outer: Node | None = None, template: Node | None = None,
              c_linkage: bool = False) -> Iterator[Function]:
    """All function definitions outside of classes."""
    for child in node.children:
        if child.type == "function_definition":
            yield Function(function_name(child), child, outer or child, template, c_linkage)
        elif child.type in CONTAINERS:
            lone, c = None, c_linkage
            t = template
            if child.type == "linkage_specification":
                c = True
                body = child.child_by_field_name("body")
                if body is not None and body.type != "declaration_list":
                    lone = outer or child
            elif child.type == "template_declaration":
                lone, t = outer or child, child
            yield from functions(child, lone, t, c)


def first_error(node: Node) -> Node | None:
    """The first ERROR or MISSING node at or below ``node``."""
    if node.is_error or node.is_missing:
        return node
    if not node.has_error:
        return None
    for child in node.children:
        found = first_error(child)
        if found is not None:
            return found
    return None


def deepest_line(source: Source) -> int:
    """The line of the most deeply nested node; no recursion."""
    depth, line = 0, 1
    stack = [(source.tree.root_node, 0)]
    while stack:
        node, d = stack.pop()
        if d > depth:
            depth, line = d, node.start_point[0] + 1
        stack.extend((c, d + 1) for c in node.children)
    return source.origin(line)[1]


def kernels_of(source: Source) -> list[Function]:
    """The kernels that have a body, in the file's order."""
    return [f for f in functions(source.tree.root_node) if marked(f.node, "__global__")]


def hides_statement(node: Node) -> Node | None:
    """The statement that ``NAME(...)`` without a semicolon stands before: a macro that is not known here and that may
    be the head of a loop. None where it is none of that."""
    if node.type != "expression_statement" or not node.children or not node.children[-1].is_missing:
        return None
    call, after = node.children[0], node.next_named_sibling
    if call.type != "call_expression" or after is None or not after.type.endswith("_statement"):
        return None
    f = call.child_by_field_name("function")
    return after if f is not None and f.type == "identifier" and not call.has_error else None


def kernel_error(node: Node) -> Node | None:
    """The first error below a kernel, macros that stand for the head of a statement left aside."""
    if node.is_error or node.is_missing:
        return node
    if not node.has_error:
        return None
    if hides_statement(node) is not None:
        return None
    return next((e for c in node.children if (e := kernel_error(c)) is not None), None)


def find_kernel(source: Source, name: str | None, line: int | None = None) -> tuple[Function, tuple[str, ...]]:
    """The ``__global__`` function called ``name`` (or the only one; of several, the one at ``line``) and the names of
    the others."""
    kernels = kernels_of(source)
    names = list(dict.fromkeys(f.name for f in kernels))
    listing = ", ".join(names)
    if not kernels or (name is not None and name not in names):
        _broken_kernel(source, name)
    if not kernels:
        raise InputError("there is no __global__ function that can be read here", file=source.file,
                         remedy="name a file that defines a kernel")
    if name is None:
        if len(names) > 1:
            raise InputError(f"the file has {len(names)} kernels", file=source.file,
                             remedy=f"say which one: {listing}")
        name = names[0]
    for f in kernels:
        if f.name == name and (line is None or f.node.start_point[0] + 1 == line):
            check_errors(f.node, source, name)
            return f, tuple(n for n in names if n != name)
    raise InputError(f"there is no kernel '{name}'", file=source.file, remedy=f"kernels here: {listing}")


HEAD = re.compile(rb"__global__(?:[^;{}(]|__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)|"
                  rb"__attribute__\s*\(\([^()]*\)\))*?"
                  rb"\b(?!__launch_bounds__|__attribute__)(\w+)\s*\(")


def _broken_kernel(source: Source, name: str | None) -> None:
    """Raises the error inside a kernel that is so broken that the parser found no function."""
    for m in HEAD.finditer(source.raw):
        found = m.group(1).decode()
        if name is not None and found != name:
            continue
        bad = first_error(source.tree.root_node)
        if bad is None:
            continue
        depth, end = 0, len(source.raw)
        for at in range(m.end(), len(source.raw)):
            c = source.raw[at:at + 1]
            depth += (c == b"{") - (c == b"}")
            if c == b"}" and depth <= 0:
                end = at + 1
                break
        # the function alone, in its place
        alone = bytes(c if m.start() <= i < end or c == 10 else 32 for i, c in enumerate(source.raw))
        inner = first_error(Parser(LANGUAGE).parse(alone).root_node) or bad
        while not inner.is_missing:  # the innermost error is nearest to the cause
            deeper = next((e for c in inner.children if (e := first_error(c)) is not None), None)
            if deeper is None:
                break
            inner = deeper
        line = inner.start_point[0] + 1
        raise InputError(f"kernel '{found}' cannot be parsed", file=source.file, line=line,
                         remedy="the kernel must compile as it stands")


def check_errors(node: Node, source: Source, name: str) -> None:
    bad = kernel_error(node)
    if bad is None:
        return
    file, line = source.origin(bad.start_point[0] + 1)
    if bad.is_missing:
        message = f"kernel '{name}': '{bad.type}' is missing"
    else:
        near = source.raw[bad.start_byte:bad.end_byte].decode("utf-8", "replace").split("\n")[0].strip()[:40]
        message = f"kernel '{name}' cannot be parsed near '{near}'"
    raise InputError(message, file=file, line=line, remedy="the kernel must compile as it stands")
