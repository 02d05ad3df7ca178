"""``[kernel]``: the source file and how the kernel is launched and built."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evo.problem.table import Table
from genome.expressions import ExpressionError, names
from genome.program import Launch

MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024


@dataclass(frozen=True)
class KernelSection:
    source: Path
    launch: Launch
    defines: dict[str, str]
    include: tuple[str, ...]
    flags: tuple[str, ...]


def read_kernel(t: Table, folder: Path) -> KernelSection:
    """The ``[kernel]`` table. The source file exists; block and grid are well formed (the grid's values are checked
    against the sizes later)."""
    t.only("source", "name", "block", "grid", "shared_bytes", "defines", "include", "flags")
    source = folder / t.text("source")
    if not source.is_file():
        t.fail(f"there is no source file {source}", "source", remedy="paths are relative to the problem file")
    include = tuple(str((folder / d).resolve()) for d in t.texts("include"))
    for n, d in enumerate(include):
        if not Path(d).is_dir():
            t.fail(f"there is no include folder {d}", "include", n)
    launch = Launch(t.text("name"), _grid(t), _block(t), t.integer("shared_bytes", 0))
    return KernelSection(source, launch, _defines(t.table("defines")), include, t.texts("flags"))


def _block(t: Table) -> tuple[int, int, int]:
    if "block" not in t:
        t.fail("'kernel.block' is missing", remedy="write block = [256, 1, 1]")
    value = t.values["block"]
    value = value if isinstance(value, list) else [value]
    if not 1 <= len(value) <= 3 or any(isinstance(v, bool) or not isinstance(v, int) for v in value):
        t.fail(f"'kernel.block' must be one to three integers, not {value}", "block",
               remedy="write block = [16, 16, 1]")
    x, y, z = (*value, 1, 1)[:3]
    for axis, v, limit in zip("xyz", (x, y, z), MAX_BLOCK, strict=True):
        if not 1 <= v <= limit:
            t.fail(f"block.{axis} is {v}; it must be from 1 to {limit}", "block")
    if x * y * z > MAX_THREADS:
        t.fail(f"a block of {x} x {y} x {z} has {x * y * z} threads, over the limit of {MAX_THREADS}", "block",
               remedy="make the block smaller")
    return x, y, z


def _grid(t: Table) -> tuple[str, str, str]:
    if "grid" not in t:
        t.fail("'kernel.grid' is missing", remedy='write grid = ["ceil_div(N, block_x)", 1, 1]')
    value = t.values["grid"]
    value = value if isinstance(value, list) else [value]
    if not 1 <= len(value) <= 3 or any(isinstance(v, bool) or not isinstance(v, (int, str)) for v in value):
        t.fail(f"'kernel.grid' must be one to three expressions, not {value}", "grid",
               remedy='write grid = ["ceil_div(N, block_x)", 1, 1]')
    for n, v in enumerate(value):
        if str(v).strip() == "?":
            t.fail("'kernel.grid' is still to be filled in", "grid", n, remedy='write "ceil_div(N, block_x)"')
        try:
            names(str(v))
        except ExpressionError as e:
            t.fail(str(e), "grid", n, remedy='write "ceil_div(N, block_x)"')
    x, y, z = (*(str(v) for v in value), "1", "1")[:3]
    return x, y, z


def _defines(t: Table) -> dict[str, str]:
    out: dict[str, str] = {}
    for name, value in t.values.items():
        if not name.isidentifier():
            t.fail(f"'{name}' is no macro name", name)
        if not isinstance(value, (str, int, float)):
            t.fail(f"macro '{name}' must be a string or a number", name)
        if isinstance(value, str) and len(value.splitlines()) > 1:
            t.fail(f"macro '{name}' has several lines", name, remedy="write it on one line")
        out[name] = str(int(value)) if isinstance(value, bool) else str(value)
    return out
