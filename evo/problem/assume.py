"""A workload for a kernel of which only the text is known: plausible, and every part of it marked as assumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evo.problem.dtypes import dtype_of
from evo.problem.guess import grid_guess, guess_shapes
from evo.problem.roles import array_use
from genome import ir
from genome.program import Launch
from genome.unit import SourceUnit
from genome.workload import Argument, Size, Workload

BLOCKS = {1: (256, 1, 1), 2: (16, 16, 1), 3: (8, 8, 4)}
EXTENT = {1: 1 << 20, 2: 1024, 3: 128}  # of a scalar that bounds something, by the number of axes


@dataclass(frozen=True)
class Assumed:
    workload: Workload
    launch: Launch
    notes: tuple[str, ...]


def assumed_problem(kernel: ir.Kernel, block: tuple[int, int, int] | None = None,
                    grid: Sequence[str] | None = None, shapes: Mapping[str, str] | None = None) -> Assumed:
    """Linear arrays of unknown shape, scalars of a usual size, a usual block, a grid from the kernel's guards."""
    grid = list(grid or grid_guess(kernel))
    while len(grid) > 1 and grid[-1] == "1":
        grid.pop()
    axes = len(grid)
    block = block or BLOCKS[axes]
    value = EXTENT[axes]
    use = array_use(kernel)
    arguments: list[Argument] = []
    sizes: list[tuple[str, int | float]] = []
    for p in kernel.params:
        dtype = dtype_of(p.type) or "float32"
        if p.type.pointer:
            role = "inout" if p.name in use.written | use.maybe and not p.type.const else "in"
            shape = (shapes or {}).get(p.name)
            arguments.append(Argument(p.name, dtype, shape=shape or f"elements_of_{p.name}", role=role, init="zeros"))
            if shape is None:
                sizes.append((f"elements_of_{p.name}", value))
        else:
            arguments.append(Argument(p.name, dtype, value=p.name))
            sizes.append((p.name, 1.0 if dtype.startswith("float") else value if dtype != "bool" else 1))
    filled = ["64" if g == "?" else g for g in grid] + ["1"] * (3 - axes)
    notes = [f"block {block[0]} x {block[1]} x {block[2]}", f"grid {', '.join(filled)}"]
    known = [f"{a.name} of {a.shape} elements" for a in arguments if a.name in (shapes or {})]
    notes += [f"shapes: {', '.join(known)}"] if known else []
    if any(a.is_array and a.name not in (shapes or {}) for a in arguments):
        notes.append("other arrays of unknown shape" if known else "arrays of unknown shape")
    if any(not p.type.pointer for p in kernel.params):
        notes.append("scalars " + ", ".join(f"{n} = {v}" for n, v in sizes if not n.startswith("elements_of_")))
    workload = Workload(tuple(arguments), (Size(tuple(sizes)),))
    return Assumed(workload, Launch(kernel.name, (filled[0], filled[1], filled[2]), block), tuple(notes))


def assumed_for(unit: SourceUnit, block: tuple[int, int, int] | None = None) -> Assumed:
    """The same with the shapes that the subscripts tell."""
    plain = assumed_problem(unit.kernel, block)
    grid = plain.launch.grid
    return assumed_problem(unit.kernel, plain.launch.block, grid, guess_shapes(unit, plain.launch.block, grid))
