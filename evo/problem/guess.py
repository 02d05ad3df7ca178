"""A problem file for a bare ``.cu``: what the kernel's text tells is filled in, the rest is left as ``"?"``."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evo.problem.dtypes import spell
from evo.problem.launches import find_launch
from evo.problem.roles import array_use
from genome import ir
from genome.errors import InputError
from genome.expressions import evaluate
from genome.frontend.coords import literal_block
from genome.poly import Poly, coord_symbol, from_expr
from genome.walk import root, walk

if TYPE_CHECKING:
    from genome.unit import SourceUnit

BLOCKS = {1: (256, 1, 1), 2: (16, 16, 1), 3: (8, 8, 4)}


def problem_file_for(source: Path) -> Path:
    """The problem file of ``source``: one beside it that names it, else a new one, which always ends in an InputError
    that says what is still to be filled in."""
    beside = [source.parent / "evo.toml", source.with_suffix(".toml")]
    for file in beside:
        if file.is_file() and _names(file, source.name):
            return file
    target = next((f for f in beside if not f.exists()), None)
    if target is None:
        raise InputError(f"{beside[0]} and {beside[1]} exist and neither names {source.name}",
                         remedy="give evo the problem file of this kernel")
    text, missing = _draft(source)
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as e:
        raise InputError(f"cannot write {target}: {e.strerror}",
                         remedy="copy the kernel to a folder that you may write to") from None
    raise InputError(f"wrote {target} with what {source.name} tells; what cannot be guessed is marked \"?\" there: "
                     f"{', '.join(missing)}", remedy=f"fill it in, then: evo run {target}")


def _names(file: Path, source: str) -> bool:
    try:
        kernel = tomllib.loads(file.read_text(encoding="utf-8")).get("kernel")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return file.name == "evo.toml"  # let the reader complain about it, with the line
    return isinstance(kernel, dict) and kernel.get("source") == source


def _draft(source: Path) -> tuple[str, list[str]]:
    from genome.unit import list_kernels

    found = [e.name.split("<")[0] for e in list_kernels(source)]
    if len(found) != 1:
        what = f"has {len(found)} kernels ({', '.join(found)})" if found else "has no __global__ kernel"
        raise InputError(what, file=str(source), remedy=f"name one: evo init {source} {found[0]}" if found else
                         "give it a .cu file with a kernel")
    return draft(source, found[0])


def draft(source: Path, name: str, include: Sequence[str] = (), defines: Mapping[str, object] | None = None
          ) -> tuple[str, list[str]]:
    """The text of a problem file for a kernel (``name<args>`` for an instance of a template), and what is left to be
    filled in. Every guess carries a comment. Raises :class:`InputError`."""
    from genome.frontend.read import read_source
    from genome.unit import load_unit

    macros = defines or {}
    host = read_source(source, macros, include).raw.decode("utf-8", "replace")
    plain = load_unit(source, name, defines=macros, include=include).kernel
    params = [p.name for p in plain.params]
    seen = find_launch(host, name.split("<")[0], params)
    written_for = literal_block(plain)
    fixed = (seen.block if seen else None) or written_for
    unit = load_unit(source, name, defines=macros, include=include, block=fixed)
    kernel = unit.kernel
    grid = grid_guess(kernel)
    block = fixed or BLOCKS[len(grid)]
    block_note = f"    # as in the launch at line {seen.line}" if seen and seen.block else \
        "    # the extents that the kernel is written for" if written_for else \
        "    # a guess: write the block that you launch with"
    grid_note = "    # a guess from the kernel's guards" if "?" not in grid else ""
    if seen and seen.grid and "?" not in seen.grid and len(seen.grid) >= len(grid):
        grid, grid_note = list(seen.grid), f"    # as in the launch at line {seen.line}"
    grid = [re.sub(rf"ceil_div\((.*), {b}\)", rf"ceil_div(\1, block_{a})", g)
            for g, b, a in zip(grid, block, "xyz", strict=False)]
    shapes = guess_shapes(unit, block, grid)
    use = array_use(kernel)
    scalars = [p.name for p in kernel.params if not p.type.pointer]
    args = []
    for p in kernel.params:
        if not p.type.pointer:
            args.append(f'{p.name} = {{ value = "{p.name}" }}    # {spell(p.type)}')
            continue
        shape = shapes.get(p.name, "?")
        role = "" if p.name not in use.written else ', role = "inout"' if p.name in _read_first(kernel, p.name) \
            else ', role = "out"'
        note = [spell(p.type)]
        if shape != "?":
            note.append("shape guessed from the largest subscript")
        if role.endswith('"out"'):
            note.append('"inout" when its old content matters')
        elif p.name in use.maybe and p.name not in use.written and not p.type.const:
            note.append('perhaps written: then role = "inout"')
        args.append(f'{p.name} = {{ shape = "{shape}"{role} }}    # {"; ".join(note)}')
    missing = [f"the shape of {p.name}" for p in kernel.params if p.type.pointer and p.name not in shapes]
    missing += [f"the grid along {a}" for a, g in zip("xyz", grid, strict=False) if g == "?"]
    missing.append("the sizes to tune for")
    sizes = ", ".join(f'{s} = "?"' for s in scalars) or 'N = "?"'
    quoted = ", ".join(f'"{g}"' for g in grid)
    lines = ["[kernel]", f'source = "{source.name}"', f'name = "{name}"',
             f"block = [{', '.join(map(str, block))}]{block_note}", f"grid = [{quoted}]{grid_note}"]
    if seen and seen.shared != "0":
        lines.append(f"shared_bytes = 0    # the launch at line {seen.line} asks for {seen.shared}")
    if include:
        lines.append(f"include = [{', '.join(json.dumps(i) for i in include)}]")
    if macros:
        lines.append(f"defines = {{ {', '.join(f'{k} = {json.dumps(str(v))}' for k, v in macros.items())} }}")
    lines += ["", "[args]    # shape: number of elements, over the scalars: \"M*K\"", *args, "", "[sizes]",
              f"tune = [{{ {sizes} }}]", ""]
    return "\n".join(lines), missing


def block_of(unit: SourceUnit, source: Path, include: Sequence[str],
             defines: Mapping[str, object]) -> tuple[int, int, int] | None:
    """The block of the kernel's launch in the file, else the one that its literals are written for."""
    from genome.frontend.read import read_source

    host = read_source(source, defines, include).raw.decode("utf-8", "replace")
    seen = find_launch(host, unit.kernel.name, [p.name for p in unit.kernel.params])
    return (seen.block if seen else None) or literal_block(unit.kernel)


def _read_first(kernel: ir.Kernel, name: str) -> set[str]:
    """``{name}`` where the array is also read: by ``+=``, by ``++`` or in some expression."""
    def elements(e: object) -> bool:
        return any(isinstance(n, ir.Index) and root(n) == name for n in walk(e))

    for n in walk(kernel.body):
        if isinstance(n, (ir.Assign, ir.AssignExpr)):
            if (n.op != "=" and root(n.target) == name) or elements(n.value):
                return {name}
        elif isinstance(n, (ir.IncDec, ir.Call)) and elements(n):
            return {name}
        elif isinstance(n, ir.Decl) and n.init is not None and elements(n.init):
            return {name}
    return set()


def guess_shapes(unit: SourceUnit, block: tuple[int, int, int], grid: Sequence[str]) -> dict[str, str]:
    """For each array whose subscripts are understood: one more than the largest subscript, over the scalars."""
    from evo.problem.assume import assumed_problem
    from genome.scheduled import schedule_kernel

    assumed = assumed_problem(unit.kernel, block, grid)
    logical = schedule_kernel(unit, assumed.workload, assumed.launch).logical
    scalars = {p.name for p in unit.kernel.params if not p.type.pointer}
    top: dict[str, Poly] = {coord_symbol(a.name): a.poly - Poly.const(1) for a in logical.axes}
    for info in logical.loops.values():
        up = info.node.cmp in ("<", "<=")
        limit = from_expr(info.node.hi if up else info.node.lo, logical.polys.get)
        if limit is not None:
            top[info.node.var] = limit - Poly.const(1 if up and info.node.cmp == "<" else 0)
    out: dict[str, str] = {}
    for name in logical.arrays:
        ends = [_largest(a.poly, top) for a in logical.accesses if a.array == name]
        known = [e for e in ends if e is not None and e.symbols <= scalars]
        if known and len(known) == len(ends):
            values = assumed.workload.scalars(assumed.workload.tune[0])
            best = max(known, key=lambda e: float(evaluate(str(e), values)))
            text = _shape(best + Poly.const(1), [a.poly for a in logical.accesses if a.array == name and a.poly])
            if evaluate(text, values) >= 1:
                out[name] = text
    return out


def _largest(poly: Poly | None, top: Mapping[str, Poly]) -> Poly | None:
    """The largest value of a subscript: every variable at its end, subtracted ones at zero."""
    for _ in range(8):
        if poly is None:
            return None
        moving = [s for s in poly.symbols if s in top]
        if not moving:
            return poly
        for s in moving:
            falls = all(c < 0 for m, c in poly.terms if s in m)
            poly = poly.substitute({s: Poly.const(0) if falls else top[s]})
    return None


def _shape(p: Poly, accesses: Sequence[Poly]) -> str:
    """The polynomial as a shape. A product ``M*K`` has its outermost extent first (that which is no stride); of a sum
    such as ``H*W + 2*W`` only the product is kept, because what is beside it comes from guarded borders."""
    degree = max((len(m) for m, _ in p.terms), default=0)
    leading = [(m, c) for m, c in p.terms if len(m) == degree]
    if degree < 2 or len(leading) != 1:
        return str(p)
    (factors, c), = leading

    def strides(s: str) -> int:
        return max(sum(s in m and len(m) > 1 for m, _ in a.terms) for a in accesses)

    product = "*".join(sorted(factors, key=strides))
    return product if c == 1 else f"{c}*{product}"


def grid_guess(kernel: ir.Kernel) -> list[str]:
    """An expression for each grid axis that the kernel uses: from guards ``coordinate < scalar``, "?" where there is
    none."""
    scalars = {p.name for p in kernel.params if not p.type.pointer}
    axis_of = {n.name: n.init.axis for n in walk(kernel.body)
               if isinstance(n, ir.Decl) and isinstance(n.init, ir.Coord)}
    axes = {n.axis for n in walk(kernel.body) if isinstance(n, ir.Coord)}
    axes |= {n.name[-1] for n in walk(kernel.body) if isinstance(n, ir.Builtin) and n.name[-2:-1] == "."}
    extent: dict[str, str] = {}
    for n in walk(kernel.body):
        if isinstance(n, ir.For) and n.cmp in ("<", "<="):  # a grid-stride loop starts at the coordinate
            n = ir.Bin(n.cmp, n.lo, n.hi)
        if isinstance(n, ir.Bin) and n.op in ("<", ">=", "<=", ">"):
            left = n.left.operand if isinstance(n.left, ir.Cast) else n.left
            axis = axis_of.get(left.name) if isinstance(left, ir.Var) else None
            if isinstance(left, ir.Coord):
                axis = left.axis
            right = n.right
            if isinstance(right, ir.Bin) and right.op in ("+", "-") and isinstance(right.right, ir.IntLit):
                right = right.left  # x < N - 1
            if axis is not None and axis not in extent and isinstance(right, ir.Var) and right.name in scalars:
                extent[axis] = right.name
    last = max((("xyz").index(a) for a in axes), default=0)
    return [f"ceil_div({extent[a]}, block_{a})" if a in extent else "?" for a in "xyz"[:last + 1]]
