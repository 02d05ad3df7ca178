"""The C++ header that launches an exported kernel: checks its preconditions, computes the grid, launches."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from genome import ir
from genome.errors import InputError
from genome.expressions import ExpressionError, names
from genome.program import Launch, Workspace, workspaces_of
from genome.workload import Workload
from results import cxx

_DISJOINT = re.compile(r"^\s*disjoint\(\s*(\w+)\s*,\s*(\w+)\s*\)\s*$")
_KEYWORDS = frozenset({"evo_stream", "evo_status"})


@dataclass(frozen=True)
class Parameter:
    """One kernel parameter: ``type`` as written in C++ (``const float*``), ``shape`` the number of elements of what a
    pointer points to, ``value`` the expression that gives a scalar its value."""

    type: str
    name: str
    shape: str | None = None
    value: str | None = None

    @property
    def pointer(self) -> bool:
        return self.type.rstrip().removesuffix("__restrict__").rstrip().endswith("*")

    @property
    def whole(self) -> bool:
        """An integer scalar."""
        return not self.pointer and not re.search(r"\b(float|double|half|__half)\b", self.type)


def from_kernel(kernel: ir.Kernel, workload: Workload | None = None) -> tuple[Parameter, ...]:
    """The parameter list of a kernel; shapes and values from the workload, whose arguments are in its order."""
    arguments = workload.arguments if workload is not None else ()
    result = []
    for i, p in enumerate(kernel.params):
        a = arguments[i] if i < len(arguments) else None
        text = ("const " if p.type.const else "") + ("volatile " if p.type.volatile else "") + p.type.base
        result.append(Parameter(text + "*" * p.type.pointer, p.name, a.shape if a else None, a.value if a else None))
    return tuple(result)


def from_dicts(data: Sequence[Mapping[str, Any]]) -> tuple[Parameter, ...]:
    """What ``problem["parameters"]`` of a run holds: tables with ``type``, ``name``, ``shape``, ``value``."""
    return tuple(Parameter(d["type"], d["name"], d.get("shape"), d.get("value")) for d in data)


def function_name(kernel: str) -> str:
    return "evo_launch_" + re.sub(r"[^A-Za-z0-9_]+", "_", kernel).strip("_")


def header(parameters: Sequence[Parameter], launches: Sequence[Launch], preconditions: Sequence[str] = (),
           include: str = "best.cu", select: str = "", name: str = "") -> str:
    """Text of ``launch.cuh``. ``select`` is a dispatch table's (:class:`genome.program.Program`); ``name`` the
    function's, the first kernel's where it is empty.

    Scalars of the problem that no parameter carries become parameters of the function, after
    the kernel's own. Raises InputError when an expression or a name cannot be put into C++."""
    taken = {p.name for p in parameters}
    if taken & _KEYWORDS:
        raise InputError(f"a parameter is called {min(taken & _KEYWORDS)}, which the launcher uses",
                         remedy="rename it in the kernel")
    known, extra = _scalars(parameters, launches, (*preconditions, select) if select else preconditions)
    arguments = [f"{p.type} {p.name}" for p in parameters] + [f"long long {n}" for n in extra]
    name = function_name(name or launches[0].kernel)
    checks = [f"    if (!({_condition(p, parameters, known)})) return cudaErrorInvalidValue;  // {p}"
              for p in preconditions]
    numbers = sorted({launch.version for launch in launches}) if select else [launches[0].version]
    body, sizes = [], []
    for v in numbers:
        some = [(i, launch) for i, launch in enumerate(launches) if launch.version == v or not select]
        own = workspaces_of([launch for _, launch in some])
        lines = [*_pointers(own, known), *(x for i, launch in some for x in _launch(i, launch, parameters, known))]
        body += _when(v, lines) if select else lines
        sizes += _when(v, _sizes(own, known)) if select else _sizes(own, known)
    version = [f"    const long long evo_version = {cxx.expression(select, known)[0]};"] if select else []
    body = version + body
    companion = ""
    if workspaces_of(launches):
        companion = _companion(name, arguments, version + sizes)
        arguments.append("void* evo_workspace")
    needs = "\n".join(f"//   {p}" for p in preconditions) or "//   none"
    return f"""\
// Launches the kernel of {include}. Returns cudaSuccess, or
//   cudaErrorInvalidValue          a precondition does not hold: call your original kernel instead
//   cudaErrorInvalidConfiguration  the grid is beyond what CUDA launches
//   anything else                  what the launch itself said
// Preconditions:
{needs}
// The kernel's text is included here; define EVO_KERNEL_DECLARED first where it is declared already.
#pragma once
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#ifndef EVO_KERNEL_DECLARED
#include "{include}"
#endif

#ifndef EVO_DETAIL
#define EVO_DETAIL
{cxx.HELPERS}#endif

{companion}inline cudaError_t {name}({", ".join([*arguments, "cudaStream_t evo_stream"])}) {{
{chr(10).join(checks + body)}
    return cudaSuccess;
}}
"""


def _scalars(parameters: Sequence[Parameter], launches: Sequence[Launch],
             preconditions: Sequence[str]) -> tuple[dict[str, tuple[str, bool]], list[str]]:
    """C++ text and kind of every scalar that is needed, and those that no parameter carries."""
    known: dict[str, tuple[str, bool]] = {}
    for p in parameters:
        if not p.pointer:
            scalar = (f"static_cast<{'long long' if p.whole else 'double'}>({p.name})", p.whole)
            known[p.name] = scalar
            if p.value is not None and re.fullmatch(r"\s*[A-Za-z_]\w*\s*", str(p.value)):
                known.setdefault(str(p.value).strip(), scalar)  # "n = { value = "N" }": n carries N
    needed: set[str] = set()
    texts: list[str] = [g for launch in launches for g in launch.grid] + [w.elements for w in workspaces_of(launches)]
    for condition in preconditions:
        pair = _DISJOINT.match(condition)
        texts += [p.shape or "" for p in parameters if pair and p.name in pair.groups()] if pair else [condition]
    for text in filter(None, texts):
        try:
            needed |= names(str(text))
        except ExpressionError as e:
            raise InputError(f"no launcher can be written: {e}", remedy="see the problem file") from e
    extra = sorted(needed - set(known) - {"block_x", "block_y", "block_z"})
    pointers = {p.name for p in parameters if p.pointer}
    for name in extra:
        if name in pointers:
            raise InputError(f"no launcher can be written: {name} is a pointer where a scalar is needed")
        known[name] = (name, True)
    return known, extra


def _when(version: int, lines: Sequence[str]) -> list[str]:
    return [f"    if (evo_version == {version}) {{", *(f"    {line}" for line in lines), "    }"] if lines else []


def _bytes(w: Workspace, known: Mapping[str, tuple[str, bool]]) -> str:
    count, whole = cxx.expression(w.elements, known)
    n = count if whole else f"static_cast<long long>({count})"
    return f"(static_cast<size_t>({n}) * sizeof({w.type}) + 255) / 256 * 256"


def _sizes(own: Sequence[Workspace], known: Mapping[str, tuple[str, bool]]) -> list[str]:
    return [f"    evo_bytes += {_bytes(w, known)};" for w in own]


def _pointers(own: Sequence[Workspace], known: Mapping[str, tuple[str, bool]]) -> list[str]:
    """The workspaces, one behind the other."""
    out = ["    char* evo_at = static_cast<char*>(evo_workspace);"] if own else []
    for i, w in enumerate(own):
        out.append(f"    {w.type}* const {w.name} = reinterpret_cast<{w.type}*>(evo_at);")
        if i + 1 < len(own):
            out.append(f"    evo_at += {_bytes(w, known)};")
    return out


def _companion(name: str, arguments: Sequence[str], sizes: Sequence[str]) -> str:
    """The function that tells how large the workspace must be."""
    return f"""\
// Bytes of device memory that evo_workspace must point to (aligned as cudaMalloc does); its content means nothing.
inline size_t {name}_workspace_bytes({", ".join(arguments)}) {{
    {" ".join(f"static_cast<void>({a.split()[-1].lstrip('*')});" for a in arguments)}
    size_t evo_bytes = 0;
{chr(10).join(sizes)}
    return evo_bytes;
}}

"""


def _condition(text: str, parameters: Sequence[Parameter], known: Mapping[str, tuple[str, bool]]) -> str:
    pair = _DISJOINT.match(text)
    if pair is None:
        return cxx.expression(text, known)[0]
    by_name = {p.name: p for p in parameters}
    sides = []
    for name in pair.groups():
        p = by_name.get(name)
        if p is None or not p.pointer or p.shape is None:
            raise InputError(f"no launcher can check '{text}': the size of {name} is not known",
                             remedy="give its shape in [args]")
        elements, whole = cxx.expression(p.shape, known)
        count = elements if whole else f"static_cast<long long>({elements})"
        sides.append(f"{name}, {count} * static_cast<long long>(sizeof(*{name}))")
    return f"evo_detail::disjoint({', '.join(sides)})"


def _launch(index: int, launch: Launch, parameters: Sequence[Parameter],
            known: Mapping[str, tuple[str, bool]]) -> list[str]:
    block = {f"block_{a}": (f"{n}LL", True) for a, n in zip("xyz", launch.block, strict=True)}
    grid = []
    for text in launch.grid:
        c, whole = cxx.expression(text, {**known, **block})
        grid.append(c if whole else f"static_cast<long long>({c})")
    i, kernel = index, launch.kernel
    x, y, z = (f"evo_grid{i}_{a}" for a in "xyz")
    lines = [f"    const long long {x} = {grid[0]}, {y} = {grid[1]}, {z} = {grid[2]};",
             f"    if ({x} < 0 || {y} < 0 || {z} < 0 || {x} > 2147483647LL || {y} > 65535 || {z} > 65535) "
             "return cudaErrorInvalidConfiguration;",
             f"    if ({x} > 0 && {y} > 0 && {z} > 0) {{  // an empty grid is no work, which CUDA calls an error"]
    if launch.shared_bytes > 49152:
        lines += [f"        const cudaError_t evo_status = cudaFuncSetAttribute({kernel}, "
                  f"cudaFuncAttributeMaxDynamicSharedMemorySize, {launch.shared_bytes});",
                  "        if (evo_status != cudaSuccess) return evo_status;"]
    a, b, c_ = launch.block
    dimensions = ", ".join(f"static_cast<unsigned>({n})" for n in (x, y, z))
    lines += [f"        {kernel}<<<dim3({dimensions}), "
              f"dim3({a}, {b}, {c_}), {launch.shared_bytes}, evo_stream>>>("
              f"{', '.join([*(p.name for p in parameters), *(w.name for w in launch.workspaces)])});",
              f"        const cudaError_t evo_launched{i} = cudaGetLastError();",
              f"        if (evo_launched{i} != cudaSuccess) return evo_launched{i};", "    }"]
    return lines

