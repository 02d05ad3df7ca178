"""A problem file for a bare ``.cu``: what the kernel's text tells is filled in, the rest is left as ``"?"``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from evo.problem.roles import array_use
from genome import ir
from genome.errors import InputError
from genome.walk import walk

BLOCKS = {1: (256, 1, 1), 2: (16, 16, 1), 3: (8, 8, 4)}
KERNEL = re.compile(r"__global__\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?"
                    r"(\w+)\s*\(")


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
    from genome.unit import load_unit

    try:
        text = source.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError("not UTF-8 text", file=str(source)) from None
    code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    found = list(dict.fromkeys(KERNEL.findall(code)))
    if len(found) != 1:
        what = f"has {len(found)} kernels ({', '.join(found)})" if found else "has no __global__ kernel"
        raise InputError(what, file=str(source), remedy="write a problem file that names the kernel; "
                         "see docs/problem-file.md" if found else "give it a .cu file with a kernel")
    kernel = load_unit(source, found[0], defines={}, include=(), block=BLOCKS[2]).kernel
    grid = grid_guess(kernel)
    block = BLOCKS[len(grid)]
    use = array_use(kernel)
    scalars = [p.name for p in kernel.params if not p.type.pointer]
    args = []
    for p in kernel.params:
        if not p.type.pointer:
            args.append(f'{p.name} = {{ value = "{p.name}" }}')
        elif p.name in use.written:
            args.append(f'{p.name} = {{ shape = "?", role = "out" }}    # or "inout", when its old content matters')
        else:
            args.append(f'{p.name} = {{ shape = "?" }}')
    missing = [f"the shape of {p.name}" for p in kernel.params if p.type.pointer]
    missing += [f"the grid along {a}" for a, g in zip("xyz", grid, strict=False) if g == "?"]
    missing.append("the sizes to tune for")
    sizes = ", ".join(f'{s} = "?"' for s in scalars) or 'N = "?"'
    quoted = ", ".join(f'"{g}"' for g in grid)
    lines = ["[kernel]", f'source = "{source.name}"', f'name = "{found[0]}"',
             f"block = [{', '.join(map(str, block))}]    # a guess: write the block that you launch with",
             f"grid = [{quoted}]", "", "[args]    # shape: number of elements, over the scalars: \"M*K\"", *args, "",
             "[sizes]", f"tune = [{{ {sizes} }}]", ""]
    return "\n".join(lines), missing


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
        if isinstance(n, ir.Bin) and n.op in ("<", ">="):
            left = n.left.operand if isinstance(n.left, ir.Cast) else n.left
            axis = axis_of.get(left.name) if isinstance(left, ir.Var) else None
            if isinstance(left, ir.Coord):
                axis = left.axis
            if axis is not None and axis not in extent and isinstance(n.right, ir.Var) and n.right.name in scalars:
                extent[axis] = n.right.name
    last = max((("xyz").index(a) for a in axes), default=0)
    return [f"ceil_div({extent[a]}, block_{a})" if a in extent else "?" for a in "xyz"[:last + 1]]
