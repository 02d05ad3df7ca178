"""Instantiation of kernel templates by textual substitution of their parameters."""

from __future__ import annotations

import re

from tree_sitter import Node

from genome.errors import InputError
from genome.frontend.source import Edit, Function, Source, edited, function_declarator, type_names
from genome.frontend.types import BUILTIN_TYPES, text_of


def split_name(name: str | None) -> tuple[str | None, list[str] | None]:
    """``"sgemm<float, 16>"`` → ``("sgemm", ["float", "16"])``; no list without ``<...>``."""
    if name is None:
        return None, None
    m = re.fullmatch(r"\s*([\w:]+)\s*<(.*)>\s*", name, re.S)
    if m is None:
        return name.strip(), None
    args, depth, start = [], 0, 0
    inside = m.group(2)
    for i, c in enumerate(inside):
        depth += c in "<(["
        depth -= c in ">)]"
        if c == "," and depth == 0:
            args.append(inside[start:i].strip())
            start = i + 1
    args.append(inside[start:].strip())
    return m.group(1), [a for a in args if a]


def template_parameters(template: Node) -> list[tuple[str, str | None]]:
    """Names of the template parameters with their defaults."""
    out: list[tuple[str, str | None]] = []
    params = template.child_by_field_name("parameters")
    for p in params.children if params is not None else []:
        if not p.is_named or p.type == "comment":
            continue
        default = p.child_by_field_name("default_type") or p.child_by_field_name("default_value")
        name = p.child_by_field_name("name") or p.child_by_field_name("declarator")
        if name is None:
            names = [c for c in p.children if c.type in ("type_identifier", "identifier")]
            name = names[0] if names else None
        out.append(("" if name is None else text_of(name), None if default is None else text_of(default)))
    return out


def instantiate(source: Source, kernel: Function, args: list[str] | None) -> Source:
    """The file with the template replaced by the plain function for ``args``; line numbers are kept."""
    assert kernel.template is not None
    params = template_parameters(kernel.template)
    line = kernel.node.start_point[0] + 1
    wanted = ", ".join(p for p, _ in params)
    values: dict[str, str] = {}
    given = args or []
    if len(given) > len(params):
        raise InputError(f"kernel '{kernel.name}' has {len(params)} template parameters ({wanted}), "
                         f"{len(given)} were given", file=source.file, line=line)
    for i, (param, default) in enumerate(params):
        value = given[i] if i < len(given) else default
        if value is None:
            raise InputError(f"kernel '{kernel.name}' is a template over {wanted}", file=source.file, line=line,
                             remedy=f"name an instance: \"{kernel.name}<{', '.join('...' for _ in params)}>\"")
        values[param] = value
    raw, edits = source.raw, []
    node, outer = kernel.node, kernel.outer
    header = raw[outer.start_byte:node.start_byte]
    edits.append(Edit(outer.start_byte, node.start_byte, (b'extern "C" ' if b'"C"' in header else b"")
                      + b"\n" * header.count(b"\n"), outer.start_point, node.start_point))
    declarator = function_declarator(node)
    own = declarator.child_by_field_name("declarator") if declarator is not None else None
    arguments = own.child_by_field_name("arguments") if own is not None and own.type == "template_function" else None
    if arguments is not None:  # a specialisation gets the template's own name
        edits.append(Edit(arguments.start_byte, arguments.end_byte, b"", arguments.start_point, arguments.end_point))
    for leaf in _leaves(node):
        name = text_of(leaf)
        if arguments is not None and arguments.start_byte <= leaf.start_byte < arguments.end_byte:
            continue
        if leaf.type in ("identifier", "type_identifier") and name in values:
            value = values[name]
            is_called = leaf.parent is not None and leaf.parent.type == "call_expression" \
                and leaf.parent.child_by_field_name("function") == leaf
            if not re.fullmatch(r"[\w:.]+", value) and (is_called or leaf.type == "identifier"
                                                       and re.search(r"\d", value[:2])):
                value = f"({value})"
            edits.append(Edit(leaf.start_byte, leaf.end_byte, value.encode(), leaf.start_point, leaf.end_point))
        elif leaf.type == "comment" and leaf.start_byte in source.pragmas:  # #pragma unroll N
            row, column = leaf.start_point
            for m in WORD.finditer(raw, leaf.start_byte, leaf.end_byte):
                if m.group().decode() in values and m.end() == leaf.end_byte:
                    before, after = m.start() - leaf.start_byte, m.end() - leaf.start_byte
                    edits.append(Edit(m.start(), m.end(), values[m.group().decode()].encode().ljust(2),
                                      (row, column + before), (row, column + after), hidden=True))
    return edited(source, sorted(edits, key=lambda e: e.start))


WORD = re.compile(rb"[A-Za-z_]\w*")


def _leaves(node: Node) -> list[Node]:
    out: list[Node] = []
    stack = [node]
    while stack:
        n = stack.pop()
        if n.children:
            stack.extend(reversed(n.children))
        else:
            out.append(n)
    return out


VALUE_GUESSES = (("bool", "true"), ("float", "1.0f"), ("double", "1.0"))


def guess_instance(source: Source, kernel: Function) -> list[str] | None:
    """Arguments for a kernel template: those of a launch or an explicit instantiation in the file where all of them
    are literals and known types, else a default or a plausible value for each parameter; None where there is no
    plausible one (template template parameters, packs)."""
    assert kernel.template is not None
    text = source.raw.decode("utf-8", "surrogateescape")
    types = type_names(source.tree.root_node) - {p for p, _ in template_parameters(kernel.template)}
    for m in re.finditer(rf"\b{re.escape(kernel.name)}\s*<(?!<)([^;{{}}]*?)>\s*(?:<<<|\()", text):
        _, args = split_name(f"k<{m.group(1)}>")
        if args and all(re.fullmatch(r"-?\d+[uUlL]*|true|false", a) or a.split("::")[-1] in BUILTIN_TYPES
                        or set(re.findall(r"[A-Za-z_]\w*", a)) <= types | BUILTIN_TYPES for a in args):
            return args
    out: list[str] = []
    params = kernel.template.child_by_field_name("parameters")
    for p in params.children if params is not None else []:
        if not p.is_named or p.type == "comment":
            continue
        if p.type in ("variadic_type_parameter_declaration", "variadic_parameter_declaration",
                      "template_template_parameter_declaration"):
            return None
        if p.child_by_field_name("default_type") is not None or p.child_by_field_name("default_value") is not None:
            break  # the rest have defaults too
        if p.type == "type_parameter_declaration":
            name = text_of(p).split()[-1].lower()
            out.append("int" if re.search(r"idx|index|offset|int", name) else "float")
        else:
            kind = text_of(p.child_by_field_name("type") or p)
            out.append(next((v for k, v in VALUE_GUESSES if kind.startswith(k)), _plausible(text_of(p))))
    return out


def _plausible(parameter: str) -> str:
    """A value for an integer template parameter, from its name."""
    name = parameter.split()[-1].lower()
    if re.search(r"block|thread|tile|bm|bn", name):
        return "32" if "tile" in name else "128"
    return "8" if re.search(r"bk|size|dim", name) else "4"
