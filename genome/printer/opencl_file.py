"""What stands around a kernel in its file, as OpenCL C: structs, type names, constants."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tree_sitter import Node

from genome import ir
from genome.errors import Loc
from genome.frontend.device_part import SPECIFIERS
from genome.frontend.headers import INCLUDE
from genome.frontend.source import parse
from genome.frontend.types import make_type, read_declarator, read_specifiers, text_of
from genome.printer.opencl_types import BUILTIN_FUNCTIONS, base_name, refuse, stored

if TYPE_CHECKING:
    from genome.unit import SourceUnit

HARMLESS = {"stdint.h", "cstdint", "float.h", "cfloat", "limits.h", "climits", "math_constants.h", "limits",
            "vector_types.h", "vector_functions.h", "device_atomic_functions.h"}


@dataclass
class FileScope:
    """Printed declarations, names of types with what typedefs stand for, names of constants, struct members."""

    lines: list[str] = field(default_factory=list)
    types: set[str] = field(default_factory=set)
    aliases: dict[str, ir.CType] = field(default_factory=dict)
    members: dict[str, dict[str, ir.CType]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    constants: list[ir.Decl] = field(default_factory=list)


def translate(unit: SourceUnit) -> FileScope:
    """The file scope of a unit; raises the refusal for what OpenCL C has no counterpart for."""
    scope = FileScope()
    for part in unit.parts:
        if part.text is None:
            continue
        if part.syntax:
            if part.text.startswith("#"):
                raise refuse("the kernel stands inside a condition that only the CUDA compiler knows",
                             Loc(part.line))
            continue
        tree = parse(part.text, unit.file).tree
        for node in tree.root_node.children:
            _node(node, scope, unit, part.line)
    return scope


def _node(node: Node, scope: FileScope, unit: SourceUnit, line: int) -> None:
    kind, text = node.type, text_of(node)
    loc = Loc(line + node.start_point[0])
    if kind == "comment":
        scope.lines.append(text)
    elif kind == "preproc_include":
        m = INCLUDE.search(text)
        if m is None or m.group(2) not in HARMLESS:
            raise refuse(f"it includes {m.group(2) if m else 'a header'}", loc)
    elif kind in SPECIFIERS:
        _specifier(node, scope, loc)
    elif kind == "type_definition":
        _typedef(node, scope, loc)
    elif kind == "alias_declaration":
        _alias(node, scope, loc)
    elif kind == "declaration":
        _declaration(node, scope, unit, loc)
    elif kind in ("function_definition", ";") or "static_assert" in kind:
        return  # helpers are printed from the IR where they are called
    elif kind == "template_declaration":
        return  # a call of a template is refused where it stands
    elif kind in ("preproc_def", "preproc_function_def"):
        scope.lines.append(text.rstrip())
        name = node.child_by_field_name("name")
        scope.names |= set() if name is None else {text_of(name)}
    elif kind == "preproc_call" and text.startswith("#pragma"):
        return
    else:
        raise refuse(f"it has a {kind.replace('_', ' ')} at file scope", loc)


def _specifier(node: Node, scope: FileScope, loc: Loc, alias: str | None = None) -> None:
    body, name_node = node.child_by_field_name("body"), node.child_by_field_name("name")
    name = text_of(name_node) if name_node is not None else alias
    if node.type == "enum_specifier" and body is not None:
        if any(c.type in ("class", "struct") for c in node.children) or node.child_by_field_name("base") is not None:
            raise refuse("a scoped enumeration has no OpenCL counterpart", loc)
        for e in body.children:
            entry = e.child_by_field_name("name")
            if entry is not None:
                scope.names.add(text_of(entry))
        scope.lines.append(f"enum {name or ''} {text_of(body)};".replace("  ", " "))
        if name:
            scope.lines.append(f"typedef int {name};")
            scope.aliases[name] = ir.INT
            scope.types.add(name)
        return
    if node.type not in ("struct_specifier", "union_specifier") or body is None or not name:
        raise refuse(f"a {node.type.replace('_specifier', '')} like this has no OpenCL counterpart", loc)
    if any(c.type == "base_class_clause" for c in node.children):
        raise refuse(f"struct '{name}' has a base class", loc)
    fields: list[str] = []
    members: dict[str, ir.CType] = {}
    for child in body.children:
        if not child.is_named or child.type == "comment":
            continue
        if child.type != "field_declaration":
            raise refuse(f"struct '{name}' has a member that is no field", loc)
        spec = read_specifiers(child)
        entries = child.children_by_field_name("declarator")
        if spec.unknown or not entries or child.child_by_field_name("default_value") is not None:
            raise refuse(f"struct '{name}' has the field '{text_of(child)}'", loc)
        for entry in entries:
            d = read_declarator(entry)
            t = make_type(spec, d)
            if d.unknown or t.pointer:
                raise refuse(f"struct '{name}' has the field '{text_of(child)}'", loc)
            stored(t, loc)
            base = "uchar" if t.base == "bool" else base_name(t.base, frozenset(scope.types), loc)
            dims = "".join(f"[{'' if n is None else text_of(n)}]" for n in d.dims)
            fields.append(f"    {base} {d.name}{dims};")
            members[d.name] = ir.CType(t.base, len(d.dims))
    align = re.search(r"(?:alignas|__align__)\s*\(\s*(\d+)\s*\)", text_of(node).split("{")[0])
    attribute = f" __attribute__((aligned({align.group(1)})))" if align else ""
    keyword = "union" if node.type == "union_specifier" else "struct"
    scope.lines += [f"typedef {keyword} {name} {{", *fields, f"}}{attribute} {name};"]
    scope.types.add(name)
    scope.members[name] = members


def _typedef(node: Node, scope: FileScope, loc: Loc) -> None:
    inner = node.child_by_field_name("type")
    entries = node.children_by_field_name("declarator")
    if inner is not None and inner.type in SPECIFIERS and inner.child_by_field_name("body") is not None:
        if len(entries) != 1 or entries[0].type != "type_identifier":
            raise refuse("a typedef like this has no OpenCL counterpart", loc)
        alias = text_of(entries[0])
        _specifier(inner, scope, loc, alias)
        tag = inner.child_by_field_name("name")
        if tag is not None and text_of(tag) != alias:
            scope.lines.append(f"typedef {text_of(tag)} {alias};")
            scope.members[alias] = scope.members.get(text_of(tag), {})
            scope.types.add(alias)
        return
    spec = read_specifiers(node)
    for entry in entries:
        d = read_declarator(entry)
        if spec.unknown or d.unknown or d.pointer or d.dims:
            raise refuse("a typedef like this has no OpenCL counterpart", loc)
        _name_type(d.name, make_type(spec, d), scope, loc)


def _alias(node: Node, scope: FileScope, loc: Loc) -> None:
    name, descriptor = node.child_by_field_name("name"), node.child_by_field_name("type")
    if name is None or descriptor is None:
        raise refuse("an alias like this has no OpenCL counterpart", loc)
    spec = read_specifiers(descriptor)
    if spec.unknown or descriptor.child_by_field_name("declarator") is not None:
        raise refuse("an alias like this has no OpenCL counterpart", loc)
    _name_type(text_of(name), ir.CType(spec.base, const=spec.const), scope, loc)


def _name_type(name: str, t: ir.CType, scope: FileScope, loc: Loc) -> None:
    base = base_name(t.base, frozenset(scope.types), loc)
    scope.aliases[name] = scope.aliases.get(t.base, t)
    scope.types.add(name)
    if t.base in scope.members:
        scope.members[name] = scope.members[t.base]
    if name not in ("uint", "uchar", "ushort", "ulong", "size_t"):
        scope.lines.append(f"typedef {base} {name};")


def _declaration(node: Node, scope: FileScope, unit: SourceUnit, loc: Loc) -> None:
    for entry in node.children_by_field_name("declarator"):
        d = read_declarator(entry)
        if d.unknown == "function_declarator":
            return  # a prototype of a helper
        made = [x for x in unit.declarations if x.name == d.name]
        if not made or d.unknown:
            raise refuse(f"'{text_of(node).split('=')[0].strip()}' at file scope is not understood", loc)
        decl = made[0]
        if decl.init is None:
            raise refuse(f"'{decl.name}' is filled by the host program", loc)
        if not decl.type.const and decl.space != "constant":
            raise refuse(f"'{decl.name}' is a device variable, which OpenCL C 1.2 has none of", loc)
        if decl.name in BUILTIN_FUNCTIONS:
            raise refuse(f"'{decl.name}' is a function's name in OpenCL", loc)
        scope.names.add(decl.name)
        scope.constants.append(decl)
