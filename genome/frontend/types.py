"""C types: from syntax to :class:`genome.ir.CType` with a normalised base name."""

from __future__ import annotations

from dataclasses import dataclass, field

from tree_sitter import Node

from genome.ir import CType

ALIASES = {"uint": "unsigned int", "uchar": "unsigned char", "ushort": "unsigned short", "ulong": "unsigned long",
           "signed": "int", "unsigned": "unsigned int"}
INTEGERS = {"char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int", "long",
            "unsigned long", "long long", "unsigned long long", "size_t", "ptrdiff_t", "int8_t", "uint8_t", "int16_t",
            "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "bool", "intptr_t", "uintptr_t"}
FLOATS = {"float", "double"}
SCALARS = INTEGERS | FLOATS | {"half", "__half", "__nv_bfloat16"}
VECTORS = {f"{b}{n}" for b in ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "longlong",
                               "ulonglong", "float", "double") for n in (1, 2, 3, 4)} | {"half2", "__half2", "dim3"}
BUILTIN_TYPES = SCALARS | VECTORS | {"void"}
UNSIGNED = {"unsigned char", "unsigned short", "unsigned int", "unsigned long", "unsigned long long", "size_t",
            "uint8_t", "uint16_t", "uint32_t", "uint64_t", "uintptr_t"}
SIZED = {"unsigned", "signed", "long", "short", "int", "char", "double"}  # words of a type of several
WIDTHS = {"bool": 1, "char": 1, "signed char": 1, "unsigned char": 1, "int8_t": 1, "uint8_t": 1, "short": 2,
          "unsigned short": 2, "int16_t": 2, "uint16_t": 2, "int": 4, "unsigned int": 4, "int32_t": 4, "uint32_t": 4,
          "float": 4}


def width(base: str) -> int:
    """Bytes of a scalar type (LP64); 8 for everything that is not listed."""
    return WIDTHS.get(base, 8)


def normalise_base(words: list[str]) -> str:
    """``["unsigned", "long", "int", "long"]`` → ``unsigned long long``."""
    if not any(w in ("unsigned", "signed", "long", "short") for w in words):
        name = " ".join(words)
        return ALIASES.get(name, name)
    longs = words.count("long")
    if "double" in words:
        return "long double" if longs else "double"
    core = "long long" if longs >= 2 else "long" if longs else "short" if "short" in words else \
        "char" if "char" in words else "int"
    if "unsigned" in words:
        return f"unsigned {core}"
    return "signed char" if core == "char" else core


@dataclass
class Specifiers:
    """What stands before the declarators of a declaration."""

    base: str = ""
    const: bool = False
    volatile: bool = False
    space: str = ""
    align: int = 0
    align_text: str = ""
    others: list[str] = field(default_factory=list)
    unknown: str = ""


def text_of(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "surrogateescape")


def squeeze(text: str) -> str:
    return " ".join(text.split())


def read_specifiers(node: Node) -> Specifiers:
    """Reads qualifiers, storage classes and the type of a declaration, parameter or type descriptor."""
    spec = Specifiers()
    declarators = set()
    for i, child in enumerate(node.children):
        if node.field_name_for_child(i) in ("declarator", "default_value", "value"):
            declarators.add(child.id)
    for i, child in enumerate(node.children):
        if child.id in declarators:
            continue
        kind, text = child.type, text_of(child)
        if node.field_name_for_child(i) == "type":
            if kind == "sized_type_specifier":
                words: list[str] = []
                for sub in child.children:  # "unsigned const int" is legal
                    word = text_of(sub)
                    if word == "const":
                        spec.const = True
                    elif word == "volatile":
                        spec.volatile = True
                    else:
                        words += word.split()
                spec.base = normalise_base(words)
                if not SIZED.issuperset(words):  # unsigned real: no type of C's
                    spec.unknown = spec.unknown or kind
            elif kind in ("primitive_type", "type_identifier", "qualified_identifier", "template_type",
                          "placeholder_type_specifier", "auto", "dependent_type"):
                spec.base = normalise_base([squeeze(text)])
            elif kind in ("struct_specifier", "enum_specifier", "class_specifier", "union_specifier") \
                    and child.child_by_field_name("body") is None:
                spec.base = squeeze(text)
            else:
                spec.unknown = spec.unknown or kind
        elif kind in ("type_qualifier", "storage_class_specifier"):
            _qualifier(spec, squeeze(text), child)
        elif kind in ("__shared__", "__constant__", "__device__", "__managed__"):
            _qualifier(spec, kind, child)
        elif kind in ("alignas_specifier", "alignas_qualifier"):
            _align(spec, child)
        elif kind in (",", ";", "=", "comment", "typedef", "attribute_declaration"):
            continue
        else:
            spec.unknown = spec.unknown or kind
    if not spec.base:
        spec.unknown = spec.unknown or "no type"
    return spec


def _align(spec: Specifiers, node: Node) -> None:
    inner = [c for c in node.children if c.is_named]
    if len(inner) == 1 and inner[0].type == "number_literal" and text_of(inner[0]).isdigit():
        spec.align = int(text_of(inner[0]))
    else:
        spec.unknown = spec.unknown or "alignment"


def _qualifier(spec: Specifiers, word: str, node: Node) -> None:
    if word.startswith("alignas"):
        _align(spec, node.children[0] if node.children and node.children[0].type.startswith("alignas") else node)
    elif word in ("const", "constexpr"):
        spec.const = True
        if word == "constexpr":
            spec.others.append(word)
    elif word == "volatile":
        spec.volatile = True
    elif word == "__shared__":
        spec.space = "extern shared" if spec.space == "extern" else "shared"
    elif word == "extern":
        spec.space = "extern shared" if spec.space == "shared" else "extern"
    elif word == "static":
        spec.space = spec.space or "static"
    elif word == "__constant__":
        spec.space = "constant"
    elif word in ("register", "inline", "__inline__", "__device__"):
        pass
    elif word in ("__restrict__", "__restrict", "restrict"):
        spec.others.append("restrict")
    else:
        spec.unknown = spec.unknown or word


@dataclass
class Declarator:
    """A declarator taken apart: ``const float* p[4]`` has one pointer and one dimension."""

    name: str = ""
    pointer: int = 0
    restrict: bool = False
    volatile_pointer: bool = False
    const_inner: bool = False
    dims: list[Node | None] = field(default_factory=list)
    init: Node | None = None
    arguments: Node | None = None  # of ``T x(a, b)``
    unknown: str = ""


def read_declarator(node: Node | None) -> Declarator:
    """Takes pointers, array extents and the initialiser off a declarator; ``unknown`` names what it cannot."""
    d = Declarator()
    seen_array = False
    while node is not None:
        kind = node.type
        if kind == "init_declarator":
            d.init = node.child_by_field_name("value")
            if d.init is not None and d.init.type == "argument_list":
                d.arguments, d.init = d.init, None
            elif d.init is None:
                d.unknown = d.unknown or "constructor call"
            node = node.child_by_field_name("declarator")
        elif kind in ("pointer_declarator", "abstract_pointer_declarator"):
            if seen_array:
                d.unknown = d.unknown or "pointer to array"
            d.pointer += 1
            for child in node.children:
                if child.type in ("type_qualifier", "ms_restrict_modifier") or "restrict" in child.type:
                    word = text_of(child)
                    if "restrict" in word:
                        d.restrict = True
                    elif word == "volatile":
                        d.volatile_pointer = True
                    elif word == "const" and d.pointer > 1:
                        d.const_inner = True
            node = node.child_by_field_name("declarator")
        elif kind in ("array_declarator", "abstract_array_declarator"):
            seen_array = True
            d.dims.insert(0, node.child_by_field_name("size"))
            node = node.child_by_field_name("declarator")
        elif kind in ("identifier", "field_identifier", "type_identifier"):
            d.name = text_of(node)
            node = None
        else:
            d.unknown = d.unknown or kind
            node = None
    return d


def make_type(spec: Specifiers, d: Declarator) -> CType:
    return CType(spec.base, d.pointer, spec.const, spec.volatile, d.restrict or "restrict" in spec.others)


def read_type(node: Node) -> CType | None:
    """A ``type_descriptor`` (in a cast), or None where it is not understood."""
    spec = read_specifiers(node)
    d = read_declarator(node.child_by_field_name("declarator"))
    if spec.unknown or d.unknown or d.dims or d.const_inner or spec.space:
        return None
    return make_type(spec, d)
