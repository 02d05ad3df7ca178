"""The part of a file that its kernel needs: what the kernel reaches by name, without host code and host headers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tree_sitter import Node

from genome.frontend.headers import verdict
from genome.frontend.source import CONTAINERS, Function, Source, declared_name, function_declarator, marked
from genome.frontend.types import text_of


@dataclass
class Item:
    """A top-level piece: what it defines, what it uses, and whether it needs a call to be reached."""

    node: Node
    names: set[str]
    used: set[str]
    called: set[str]
    always: bool = False
    host_function: bool = False
    never: bool = False


@dataclass(frozen=True)
class Part:
    """A piece of the translation unit to emit; ``text is None`` stands for the kernel. ``syntax``: a keyword, name or
    brace of a namespace or linkage block around the kernel."""

    line: int
    text: str | None
    syntax: bool = False
    file: str = ""  # the user's header that it is from; empty for the file itself


SPECIFIERS = ("struct_specifier", "class_specifier", "union_specifier", "enum_specifier")
NAME_NODES = ("identifier", "type_identifier", "namespace_identifier", "statement_identifier")


_USES: dict[bytes, tuple[frozenset[str], frozenset[str]]] = {}  # the same text is asked for with every kernel


def uses(node: Node) -> tuple[set[str], set[str]]:
    """(names that are used but not declared inside, names that are called)."""
    text = node.text or b""
    if text not in _USES:
        if len(_USES) > 4000:
            _USES.clear()
        used, called = _uses(node)
        _USES[text] = frozenset(used), frozenset(called)
    return set(_USES[text][0]), set(_USES[text][1])


def _uses(node: Node) -> tuple[set[str], set[str]]:
    used: set[str] = set()
    declared: set[str] = set()
    called: set[str] = set()
    stack = [node]
    while stack:
        n = stack.pop()
        kind = n.type
        if kind in NAME_NODES:
            used.add(text_of(n))
        elif kind in ("parameter_declaration", "declaration", "for_range_loop"):
            for d in n.children_by_field_name("declarator"):
                declared |= _declared(d)
        elif kind == "call_expression":
            f = n.child_by_field_name("function")
            if f is not None:
                called |= set(re.findall(r"[A-Za-z_]\w*", text_of(f)))
        stack.extend(n.children)
    return used - (declared - called), called


def _declared(node: Node | None) -> set[str]:
    return {declared_name(node)} - {""}


def _tags(node: Node) -> set[str]:
    """Names of the types and enumerators that are defined at or directly below a node."""
    out: set[str] = set()
    for n in [node, *node.children]:
        if n.type in SPECIFIERS:
            name = n.child_by_field_name("name")
            if name is not None:
                out.add(text_of(name))
            body = n.child_by_field_name("body")
            if n.type == "enum_specifier" and body is not None:
                for e in body.children:
                    entry = e.child_by_field_name("name")
                    if entry is not None:
                        out.add(text_of(entry))
    return out


def describe(node: Node, source: Source, kernel: Function) -> Item:
    """What a top-level node is to the device part."""
    kind = node.type
    item = Item(node, set(), set(), set())
    text = source.raw[node.start_byte:node.end_byte].decode("utf-8", "surrogateescape")
    if kind == "preproc_include":
        kind, item.names = verdict(text)
        item.never, item.always = kind in ("host", "unknown"), kind == "device"
    elif kind in ("preproc_def", "preproc_function_def"):
        item.always = True
    elif kind == "namespace_alias_definition":
        name = node.child_by_field_name("name")
        item.names = set() if name is None else {text_of(name)}
        item.used = set(re.findall(r"[A-Za-z_]\w*", text)) - item.names - {"namespace"}
    elif kind == "preproc_call":
        item.always = not re.match(r"#\s*(pragma\s+(once|comment)|error|warning|line)", text)
    elif kind == "using_declaration":
        item.always = "std" not in text.split("::")[0]
    elif kind == "function_definition":
        item.used, item.called = uses(node)
        item.names = _declared(node.child_by_field_name("declarator") or node)
        d = function_declarator(node)
        name = d.child_by_field_name("declarator") if d is not None else None
        if name is not None:
            words = re.findall(r"[A-Za-z_]\w*", text_of(name))
            item.names = set(words[-1:])
            item.always = "operator" in words and (marked(node, "__device__") or marked(node, "constexpr"))
        item.host_function = not (marked(node, "__device__") or marked(node, "__global__"))
        item.never = kernel.name in item.names and marked(node, "__global__")
    elif kind == "template_declaration":
        inner = next((c for c in reversed(node.children) if c.is_named and c.type != "comment"), None)
        if inner is not None:
            item = describe(inner, source, kernel)
            used, called = uses(node)
            item.node, item.used, item.called = node, used, called
    elif kind == "linkage_specification":
        body = node.child_by_field_name("body")
        if body is not None and body.type != "declaration_list":
            item = describe(body, source, kernel)
            item.node = node
        elif body is not None:
            _merge(item, [describe(c, source, kernel) for c in body.children if c.is_named])
    elif kind in ("namespace_definition", "preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif",
                  "declaration_list"):
        _merge(item, [describe(c, source, kernel) for c in node.children if c.is_named])
        if kind == "namespace_definition":
            name = node.child_by_field_name("name")
            if name is not None:
                item.names.add(text_of(name))
    elif kind == "declaration":
        item.used, item.called = uses(node)
        item.names = set().union(*(_declared(d) for d in node.children_by_field_name("declarator")), _tags(node))
        prototype = function_declarator(node) is not None
        item.host_function = prototype and not marked(node, "__device__")
        item.never = prototype and (kernel.name in item.names or marked(node, "__global__"))
    elif kind in SPECIFIERS:
        item.used, item.called = uses(node)
        item.names = _tags(node)
    elif kind == "type_definition":
        item.used, item.called = uses(node)
        item.names = set().union(*(_declared(d) for d in node.children_by_field_name("declarator")), _tags(node))
    elif kind == "alias_declaration":
        item.used, item.called = uses(node)
        name = node.child_by_field_name("name")
        item.names = set() if name is None else {text_of(name)}
    else:
        item.never = True
    return item


def _merge(item: Item, children: list[Item]) -> None:
    for c in children:
        if not c.never and not c.host_function:
            item.names |= c.names
            item.used |= c.used
            item.called |= c.called
            item.always |= c.always and c.node.type not in ("preproc_include", "using_declaration")


def collect(source: Source, kernel: Function) -> list[Part]:
    """The parts of the translation unit in file order, the kernel in its place."""
    around: set[int] = set()  # nodes that contain the kernel
    node: Node | None = kernel.outer.parent
    while node is not None:
        around.add(node.id)
        node = node.parent
    items: list[Item] = []
    _items(source.tree.root_node, around, kernel, source, items)
    used, called = uses(kernel.node)
    used |= pragma_names(kernel.node, source)
    reached = _reach(items, used, called)
    parts: list[Part] = []
    _emit(source.tree.root_node, around, kernel, source, reached, parts)
    if not source.expanded.headers:
        return parts
    parts.sort(key=lambda p: source.order(p.line))
    return [p if p.line <= source.expanded.lines else replace(p, line=line, file=file)
            for p in parts for file, line in (source.origin(p.line),)]


def pragma_names(node: Node, source: Source) -> set[str]:
    """Names in the arguments of the unroll pragmas inside, which the grammar sees as comments."""
    return {name for start, (_, argument) in source.pragmas.items() if node.start_byte <= start < node.end_byte
            for name in re.findall(r"[A-Za-z_]\w*", argument)}


def left_out(source: Source) -> tuple[str, ...]:
    """One line for each header that nobody has, and for what the grammar could not take."""
    out: list[str] = []
    stack = [source.tree.root_node]
    while stack:
        n = stack.pop()
        for c in n.children:
            if c.type == "preproc_include":
                text = " ".join(text_of(c).split())
                if verdict(text)[0] == "unknown":
                    file, line = source.origin(c.start_point[0] + 1)
                    out.append(f"{file}:{line}: {text} is not found and is left out")
            elif c.type in CONTAINERS:
                stack.append(c)
    out += [f"{f}:{n}: host code that cannot be parsed is left out" for f, n in map(source.origin, source.lost)]
    return tuple(out)


def _items(node: Node, around: set[int], kernel: Function, source: Source, out: list[Item]) -> None:
    for child in node.children:
        if child.id == kernel.outer.id:
            continue
        if child.id in around:
            _items(child, around, kernel, source, out)
        elif child.is_named:
            item = describe(child, source, kernel)
            item.used |= pragma_names(child, source)
            out.append(item)


def _reach(items: list[Item], used: set[str], called: set[str]) -> set[int]:
    kept: set[int] = set()
    used, called = set(used), set(called)
    changed = True
    while changed:
        changed = False
        for item in items:
            if item.node.id in kept or item.never:
                continue
            if item.always or item.names & (called if item.host_function else used):
                kept.add(item.node.id)
                used |= item.used
                called |= item.called
                changed = True
    return kept


def _emit(node: Node, around: set[int], kernel: Function, source: Source, reached: set[int],
          parts: list[Part]) -> None:
    children = node.children
    for i, child in enumerate(children):
        line = child.start_point[0] + 1
        text = source.raw[child.start_byte:child.end_byte].decode("utf-8", "surrogateescape")
        if child.id == kernel.outer.id:
            parts.append(Part(line, None))
        elif child.id in around:
            _emit(child, around, kernel, source, reached, parts)
        elif child.type == "comment":
            following = next((c for c in children[i + 1:] if c.type != "comment"), None)
            if following is not None and (following.id in reached or following.id == kernel.outer.id):
                parts.append(Part(line, text))
        elif child.id in reached:
            end = children[i + 1] if i + 1 < len(children) else None
            if end is not None and end.type == ";" and not text.endswith(";"):
                text += ";"
            parts.append(Part(line, text))
        elif node.type not in ("translation_unit", "ERROR") and child.type != ";" and (
                not child.is_named or node.field_name_for_child(i) in ("name", "condition", "value")):
            parts.append(Part(line, text, True))
