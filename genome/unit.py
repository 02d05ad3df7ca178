"""A user's ``.cu`` file as evo works on it: one kernel as typed IR, and everything that it needs around it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from tree_sitter import Node

from genome import ir, walk
from genome.errors import InputError, Loc
from genome.frontend import device_part
from genome.frontend.coords import recognise
from genome.frontend.expressions import Context, location, too_deep
from genome.frontend.loops import label_loops, recognise_loops
from genome.frontend.read import read_source
from genome.frontend.source import (
    HEAD,
    Function,
    Source,
    deepest_line,
    find_kernel,
    first_error,
    function_declarator,
    functions,
    kernels_of,
    marked,
)
from genome.frontend.statements import Converter, constant, parameters
from genome.frontend.templates import guess_instance, instantiate, split_name, template_parameters
from genome.frontend.types import read_specifiers, text_of
from genome.normal import alpha_rename
from genome.printer import cuda as cuda_printer
from genome.printer import opencl as opencl_printer

NO_DEFINES: Mapping[str, object] = {}


@dataclass(frozen=True)
class DeviceFunction:
    """A ``__device__`` helper; ``body is None`` where it is a template or not understood (its text is kept)."""

    name: str
    returns: ir.CType
    params: tuple[ir.Param, ...]
    body: tuple[ir.Stmt, ...] | None
    text: str
    loc: Loc = field(default=ir.NOWHERE, compare=False)


@dataclass(frozen=True)
class SourceUnit:
    """``kernel``: the kernel's IR with unique local names. ``functions``: the ``__device__`` helpers it reaches.
    ``other_kernels``: the names of the file's other ``__global__`` functions."""

    file: str
    kernel: ir.Kernel
    functions: tuple[DeviceFunction, ...]
    other_kernels: tuple[str, ...]
    parts: tuple[device_part.Part, ...] = field(repr=False)
    original: str = field(repr=False)
    declarations: tuple[ir.Decl, ...] = field(default=(), repr=False)
    c_linkage: bool = False
    notes: tuple[str, ...] = ()  # what was left out of the translation unit, and why

    @cached_property
    def names(self) -> frozenset[str]:
        """Every identifier that occurs in the translation unit."""
        texts = [p.text for p in self.parts if p.text is not None] + [self.original]
        return frozenset(w for t in texts for w in re.findall(r"[A-Za-z_]\w*", t))

    def cuda(self, kernel: ir.Kernel | None = None, *more: ir.Kernel) -> str:
        """The translation unit to compile, with ``kernel`` (default: the loaded one) printed in its place, and
        ``more`` kernels behind it."""
        printed = cuda_printer.print_kernel(kernel or self.kernel, *more)
        texts = [printed.rstrip("\n") if p.text is None else p.text.strip("\n") for p in self.parts]
        return "\n".join(t for t in texts if t.strip()) + "\n"

    def cuda_original(self) -> str:
        """The same with the kernel's own (macro-expanded) text; ``#line`` gives the compiler the user's lines."""
        out = []
        name = self.file.replace("\\", "/").replace('"', "")
        for p in self.parts:
            text = self.original if p.text is None else p.text
            if text.strip():
                out.append(f'#line {p.line} "{p.file or name}"\n{text.strip(chr(10))}')
        return "\n".join(out) + "\n"

    def opencl(self, kernel: ir.Kernel | None = None, *more: ir.Kernel, contract: bool = True) -> str:
        """An OpenCL C 1.2 translation unit; :class:`genome.errors.Refusal` ``opencl-untranslatable`` otherwise.

        ``contract=False`` forbids contraction into fused multiply-add."""
        return opencl_printer.print_unit(self, (kernel or self.kernel, *more), contract)


def load_unit(path: str | Path, kernel: str | None = None, *, defines: Mapping[str, object] = NO_DEFINES,
              include: Sequence[str] = (), block: tuple[int, int, int] | None = None,
              coordinates: bool = True, line: int | None = None) -> SourceUnit:
    """Reads one kernel of a ``.cu`` file.

    ``kernel`` may be left out when the file has one, and is ``name<args>`` for a template; ``line`` tells overloads
    apart. ``defines`` override the file's own macros. ``include``: the folders of the user's headers, beside the
    file's own; headers that are in none are left out, with a note. ``block``: the launch's
    block when it is fixed; then its literal extents count as ``blockDim``. ``coordinates=False`` leaves
    ``blockIdx.x * blockDim.x + threadIdx.x`` as it is written. Raises :class:`InputError`.
    """
    with shallow(path, defines, include):
        return _load(read_source(path, defines, include), kernel, block, coordinates, line)


@contextmanager
def shallow(path: str | Path, defines: Mapping[str, object], include: Sequence[str]) -> Iterator[None]:
    """:class:`InputError` with the line instead of Python's own error where a file is nested too deeply."""
    try:
        yield
    except RecursionError:
        raise too_deep(str(path), deepest_line(read_source(path, defines, include))) from None


def _load(source: Source, kernel: str | None, block: tuple[int, int, int] | None, coordinates: bool,
          line: int | None) -> SourceUnit:
    name, args = split_name(kernel)
    whole = "".join((kernel or "").split())
    if args is not None:  # a specialisation has the arguments in its name; the template itself may be at the line
        name, args = next(((f.name, None) for f in kernels_of(source) if "".join(f.name.split()) == whole
                           and line in (None, f.node.start_point[0] + 1)), (name, args))
    found, others = find_kernel(source, name, line)
    if found.template is not None:
        source = instantiate(source, found, args)
        found, _ = find_kernel(source, found.name.split("<")[0], found.node.start_point[0] + 1)
    elif args is not None:
        raise InputError(f"kernel '{found.name}' is no template", file=source.file,
                         line=found.node.start_point[0] + 1, remedy=f"name it \"{found.name}\"")
    return _build(source, found, others, block, coordinates)


@dataclass(frozen=True)
class KernelEntry:
    """A kernel of a file. ``name`` is what :func:`load_unit` takes; for a template an instance with ``guessed``
    arguments. ``line`` is that of the definition in the file's (expanded) text."""

    name: str
    line: int
    guessed: bool = False
    problem: str = ""  # why it cannot be named at all


def list_kernels(path: str | Path, *, defines: Mapping[str, object] = NO_DEFINES,
                 include: Sequence[str] = ()) -> list[KernelEntry]:
    """All ``__global__`` functions that a file (not its headers) defines, in order, those that the parser lost too.
    Raises :class:`InputError` where the file cannot be read at all."""
    with shallow(path, defines, include):
        return _entries(read_source(path, defines, include))


def _entries(source: Source) -> list[KernelEntry]:
    out: list[KernelEntry] = []
    seen: set[str] = set()
    for f in kernels_of(source):
        line = f.node.start_point[0] + 1
        seen.add(f.name)
        if line > source.expanded.lines:
            continue
        if f.template is not None and not template_parameters(f.template):  # template <> void k<float>(...)
            out.append(KernelEntry(f.name, line))
            continue
        args = guess_instance(source, f) if f.template is not None else []
        if args is None:
            out.append(KernelEntry(f.name, line, problem="a template over packs or templates"))
        else:
            name = f"{f.name}<{', '.join(args)}>" if f.template is not None else f.name
            out.append(KernelEntry(name, line, f.template is not None))
    for m in HEAD.finditer(source.raw):
        name, line = m.group(1).decode(), source.raw.count(b"\n", 0, m.start()) + 1
        leaf = source.tree.root_node.descendant_for_byte_range(m.start(), m.start() + 1)
        if leaf is not None and leaf.type == "comment":
            continue
        if name not in seen and line <= source.expanded.lines and _has_body(source.raw, m.end()):
            seen.add(name)
            out.append(KernelEntry(name, line))
    return sorted(out, key=lambda e: e.line)


def _has_body(raw: bytes, at: int) -> bool:
    """Whether ``{`` comes before ``;`` behind the parameter list that opens before ``at``."""
    depth = 1
    for i in range(at, min(len(raw), at + 20000)):
        c = raw[i:i + 1]
        depth += (c == b"(") - (c == b")")
        if depth <= 0 and c in (b"{", b";"):
            return c == b"{"
    return False


def _build(source: Source, found: Function, others: tuple[str, ...], block: tuple[int, int, int] | None,
           coordinates: bool) -> SourceUnit:
    parts = device_part.collect(source, found)
    cx = _context(source)
    declarations = _file_scope(source, cx)
    known = {d.name: str(d.init.value) for d in declarations if isinstance(d.init, ir.IntLit) and not d.dims
             and d.type.const}
    bounds, unknown = _launch_bounds(found.node, known)
    pragmas = {at: (end, _with_values(argument, known)) for at, (end, argument) in source.pragmas.items()}
    kernel = recognise_loops(alpha_rename(_kernel(source, found, cx, pragmas)))
    kernel = replace(kernel, launch_bounds=bounds)
    if coordinates:
        kernel = recognise(kernel, block)
    kept = "\n".join(p.text for p in parts if p.text is not None)
    helpers = tuple(_device_function(source, f, cx) for f in functions(source.tree.root_node)
                    if f.node.id != found.node.id and not marked(f.node, "__global__")
                    and source.raw[f.outer.start_byte:f.outer.end_byte].decode("utf-8", "surrogateescape") in kept)
    file, line = source.origin(kernel.loc.line)
    kernel = moved(label_loops(kernel), line - kernel.loc.line)
    notes = device_part.left_out(source)
    if unknown:
        notes += (f"{file}:{line}: __launch_bounds__({unknown}) is left out: no numbers",)
    return SourceUnit(file, kernel, helpers, others, tuple(parts), _original(source, found), declarations,
                      found.c_linkage, notes)


def moved(kernel: ir.Kernel, lines: int) -> ir.Kernel:
    """A kernel of a header, whose lines are not those of the expanded text."""
    if not lines:
        return kernel

    def one(n: Any) -> Any:
        return replace(n, loc=Loc(n.loc.line + lines, n.loc.column)) if n.loc.line else n

    params = tuple(one(p) for p in kernel.params)
    whole: ir.Kernel = one(kernel)
    return replace(whole, params=params, body=walk.rewrite(kernel.body, one))


def _original(source: Source, found: Function) -> str:
    raw = source.raw[found.node.start_byte:found.node.end_byte]
    for child in found.node.children:  # extern "C" excludes static; inline says nothing here
        if child.type == "storage_class_specifier" and text_of(child) in ("static", "inline"):
            a, b = child.start_byte - found.node.start_byte, child.end_byte - found.node.start_byte
            raw = raw[:a] + b" " * (b - a) + raw[b:]
    text = raw.decode("utf-8", "surrogateescape")
    return f'extern "C" {text}'


def _context(source: Source) -> Context:
    types: set[str] = set()
    stack = [source.tree.root_node]
    while stack:
        n = stack.pop()
        if n.type in ("type_definition", "alias_declaration", *device_part.SPECIFIERS):
            if n.type == "type_definition":
                for d in n.children_by_field_name("declarator"):
                    types |= device_part._declared(d)
            else:
                name = n.child_by_field_name("name")
                if name is not None:
                    types.add(text_of(name))
        if n.type not in ("function_definition",):
            stack.extend(n.children)
    return Context(source.raw, types, file=source.file)


def _file_scope(source: Source, cx: Context) -> tuple[ir.Decl, ...]:
    """Constants, ``__constant__`` and ``__device__`` arrays of the file, also entered into the context's scope."""
    out: list[ir.Decl] = []
    converter = Converter(cx, {})
    stack: list[Node] = [source.tree.root_node]
    while stack:
        n = stack.pop()
        for child in n.children:
            if child.type == "declaration" and function_declarator(child) is None:
                made = converter.declarators(child) if not first_error(child) else None
                out += [d for d in made or () if isinstance(d, ir.Decl)]
            elif child.type in ("linkage_specification", "declaration_list", "namespace_definition", "preproc_if",
                                "preproc_ifdef"):
                stack.append(child)
    return tuple(out)


def _kernel(source: Source, found: Function, cx: Context, pragmas: dict[int, tuple[int, str]]) -> ir.Kernel:
    line = found.node.start_point[0] + 1
    declarator = function_declarator(found.node)
    params = parameters(declarator.child_by_field_name("parameters") if declarator is not None else None)
    if isinstance(params, str):
        raise InputError(f"kernel '{found.name}': {params} is not supported", file=source.file, line=line,
                         remedy="use scalars, structs by value and plain pointers as parameters")
    body = found.node.child_by_field_name("body")
    if body is None or body.type != "compound_statement":
        raise InputError(f"kernel '{found.name}' has no body", file=source.file, line=line)
    params = _named(params, text_of(found.node))
    cx.scopes.append({p.name: (p.type, 0) for p in params})
    try:
        statements = Converter(cx, pragmas).body(body)
    finally:
        cx.scopes.pop()
    return ir.Kernel(found.name, tuple(params), statements, None, True, location(found.node))


def _with_values(text: str, known: Mapping[str, str]) -> str:
    """Integer constants of the file by their values."""
    return re.sub(r"[A-Za-z_]\w*", lambda m: known.get(m[0], m[0]), text)


def _named(params: list[ir.Param], text: str) -> list[ir.Param]:
    """Parameters that have no name get one, because arguments are given by name: ``unused_3``."""
    out = []
    for i, p in enumerate(params, 1):
        name = p.name or f"unused_{i}"
        while not p.name and name in text:
            name += "_"
        out.append(replace(p, name=name))
    return out


def _launch_bounds(node: Node, known: Mapping[str, str]) -> tuple[tuple[int, int] | None, str]:
    """The bounds, and their text where they are no numbers. ``known``: integer constants of the file."""
    for child in node.children:
        if child.type == "launch_bounds":
            texts = [text_of(c) for c in child.children if c.is_named and c.type not in ("comment",
                                                                                        "__launch_bounds__")]
            values = [constant(re.sub(r"(?<=\d)[uU]\b", "", _with_values(t, known))) for t in texts]
            if not values or None in values[:2]:
                return None, ", ".join(texts)
            return (values[0] or 0, (values[1] or 0) if len(values) > 1 else 0), ""
    return None, ""


_HELPERS: dict[object, DeviceFunction] = {}  # every kernel of a file asks for the same


def _device_function(source: Source, f: Function, cx: Context) -> DeviceFunction:
    text = source.raw[f.outer.start_byte:f.outer.end_byte].decode("utf-8", "surrogateescape")
    key = (text, f.node.start_point, frozenset(cx.types), tuple(cx.scopes[0].items()))
    if key not in _HELPERS:
        if len(_HELPERS) > 1000:
            _HELPERS.clear()
        _HELPERS[key] = _read_function(source, f, cx, text)
    return _HELPERS[key]


def _read_function(source: Source, f: Function, cx: Context, text: str) -> DeviceFunction:
    spec = _return_type(f.node)
    declarator = function_declarator(f.node)
    params = parameters(declarator.child_by_field_name("parameters") if declarator is not None else None)
    body_node = f.node.child_by_field_name("body")
    body: tuple[ir.Stmt, ...] | None = None
    if not isinstance(params, str) and f.template is None and body_node is not None and not f.node.has_error \
            and body_node.type == "compound_statement" and spec is not None:
        cx.scopes.append({p.name: (p.type, 0) for p in params})
        try:
            body = Converter(cx, source.pragmas).body(body_node)
        finally:
            cx.scopes.pop()
        shell = recognise(recognise_loops(alpha_rename(ir.Kernel(f.name, tuple(params), body))))
        body = label_loops(shell).body
    return DeviceFunction(f.name, spec or ir.CType("?"), () if isinstance(params, str) else tuple(params), body, text,
                          location(f.node))


def _return_type(node: Node) -> ir.CType | None:
    """The return type of a definition, or None."""
    spec = read_specifiers(node)
    pointer = 0
    d = node.child_by_field_name("declarator")
    while d is not None and d.type != "function_declarator":
        if d.type != "pointer_declarator":
            return None
        pointer += 1
        d = d.child_by_field_name("declarator")
    return ir.CType(spec.base, pointer, spec.const) if spec.base else None

