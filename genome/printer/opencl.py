"""OpenCL C 1.2 from the IR: a kernel with its file scope and the helpers that it calls. What has no counterpart raises
the refusal ``opencl-untranslatable``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from genome import ir
from genome.printer.opencl_file import FileScope, translate
from genome.printer.opencl_function import OpenCLPrinter
from genome.printer.opencl_types import BUILTIN_FUNCTIONS, RESERVED, refuse, stored

if TYPE_CHECKING:
    from genome.unit import DeviceFunction, SourceUnit

LETTERS = {"global": "g", "local": "l", "constant": "c", "private": "p"}


class Clones:
    """The variants of helpers that are called, by the address spaces of their pointer parameters."""

    def __init__(self, scope: FileScope, helpers: dict[str, DeviceFunction]) -> None:
        self.scope, self.helpers = scope, helpers
        self.names: dict[tuple[str, tuple[str, ...]], str] = {}
        self.open: list[tuple[str, tuple[str, ...]]] = []
        self.prototypes: list[str] = []
        self.definitions: list[str] = []

    def want(self, name: str, spaces: tuple[str, ...]) -> str:
        key = (name, spaces)
        if key not in self.names:
            plain = f"{name}_" if name in BUILTIN_FUNCTIONS or name in RESERVED else name
            others = any(n == name for n, _ in self.names)
            suffix = "_" + "".join(LETTERS[s] for s in spaces) if others and spaces else ""
            self.names[key] = plain + suffix
            self.open.append(key)
        return self.names[key]

    def finish(self) -> None:
        """Prints every wanted clone, and those that they want."""
        while self.open:
            name, spaces = self.open.pop(0)
            f = self.helpers[name]
            assert f.body is not None
            pointers = iter(spaces)
            by_name = {p.name: next(pointers) for p in f.params if p.type.pointer}
            printer = OpenCLPrinter(self.scope, self.helpers, self, f.params, f.body, by_name)
            if f.returns.pointer:
                raise refuse(f"'{name}' returns a pointer", f.loc)
            params = ", ".join(f"{printer.spelled(p.type, by_name.get(p.name), f.loc)} {printer.name(p.name)}"
                               for p in f.params) or "void"
            head = f"{printer.spelled(f.returns, None, f.loc)} {self.names[name, spaces]}({params})"
            lines = printer.body(f.body, 1)
            if printer.hoisted or printer.dynamic:
                raise refuse(f"'{name}' declares shared memory or static data of its own", f.loc)
            self.prototypes.append(f"{head};")
            self.definitions += [f"{head} {{", *lines, "}", ""]


def print_kernel(kernel: ir.Kernel, scope: FileScope | None = None, clones: Clones | None = None) -> str:
    """The kernel alone as OpenCL C."""
    scope = scope or FileScope()
    clones = clones or Clones(scope, {})
    spaces = {p.name: "global" for p in kernel.params if p.type.pointer}
    printer = OpenCLPrinter(scope, clones.helpers, clones, kernel.params, kernel.body, spaces)
    lines = printer.body(kernel.body, 1)
    params = []
    for p in kernel.params:
        t = printer.plain(p.type)
        assert t is not None
        base = "uchar" if t.base == "bool" and not t.pointer else None
        if not t.pointer:
            stored(t, p.loc)
        text = base or printer.spelled(p.type, "global" if t.pointer else None, p.loc)
        params.append(f"{text} {printer.name(p.name)}")
    if len(printer.dynamic) > 1:
        raise refuse("the kernel declares several dynamic shared arrays", kernel.loc)
    head = f"__kernel void {kernel.name}({', '.join([*params, *printer.dynamic])}) {{"
    return "\n".join([head, *printer.hoisted, *lines, "}"]) + "\n"


def print_expr(expr: ir.Expr, params: Sequence[ir.Param] = ()) -> str:
    """An expression over ``params`` as OpenCL C."""
    scope = FileScope()
    spaces = {p.name: "global" for p in params if p.type.pointer}
    return OpenCLPrinter(scope, {}, Clones(scope, {}), params, (), spaces).expr(expr)


def _constant(d: ir.Decl, scope: FileScope) -> str:
    """A file-scope constant: an enumerator where it may be an array's extent."""
    if not d.dims and d.type.base == "int" and not d.type.pointer and d.init is not None:
        return f"enum {{ {d.name} = {print_constant(d.init, scope)} }};"
    scope_printer = OpenCLPrinter(scope, {}, Clones(scope, {}), (), (), {})
    return f"{scope_printer.decl(replace(d, space='constant'))};" if d.dims else \
        f"__constant {scope_printer.spelled(replace(d.type, const=False))} {d.name} = {scope_printer.expr(d.init)};" \
        if d.init is not None else ""


def print_constant(e: ir.Expr, scope: FileScope) -> str:
    return OpenCLPrinter(scope, {}, Clones(scope, {}), (), (), {}).expr(e)


def print_unit(unit: SourceUnit, kernels: Sequence[ir.Kernel], contract: bool = True) -> str:
    """The translation unit of kernels. ``contract=False`` forbids contraction into fused multiply-add."""
    if any(p.text is not None and OPERATOR.search(without_comments(p.text)) for p in unit.parts):
        raise refuse("it overloads operators", kernels[0].loc)
    scope = translate(unit)
    helpers: dict[str, Any] = {}
    for f in unit.functions:
        if f.name in helpers:
            helpers[f.name] = replace(f, body=None)
        else:
            helpers[f.name] = f
    clones = Clones(scope, helpers)
    text = "\n".join(print_kernel(k, scope, clones) for k in kernels)
    clones.finish()
    constants = [_constant(d, scope) for d in scope.constants]
    lines = [*scope.lines, *constants, *clones.prototypes, *clones.definitions]
    whole = "\n".join([*lines, text])
    head = []
    if _uses_double(whole):
        head.append("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
    if not contract:
        head.append("#pragma OPENCL FP_CONTRACT OFF")
    return "\n".join([*head, whole])


OPERATOR = re.compile(r"\boperator\b")
DOUBLE = re.compile(r"\bdouble[234]?\b|(?<![\w.])(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?(?![\w.])")


def _uses_double(text: str) -> bool:
    return DOUBLE.search(without_comments(text)) is not None


def without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
