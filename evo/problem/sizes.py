"""``[sizes]``: assignments of the scalars, and everything that must hold at each of them."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy

from evo.problem.dtypes import INTEGER_RANGE, LARGEST_FLOAT
from evo.problem.table import LARGEST, Table, nearest, number_text
from genome.errors import InputError
from genome.expressions import ExpressionError, Number, evaluate, names
from genome.program import Launch
from genome.workload import Argument, Size, Workload, block_values

BACKENDS = ("cuda", "opencl", "replay")
MAX_GRID = (2**31 - 1, 65535, 65535)


@dataclass(frozen=True)
class PlacedSize:
    """A size and the table that it was read from (for messages)."""

    size: Size
    table: Table


def read_sizes(sizes: Table, backend: str, assumed: list[str]) -> tuple[list[PlacedSize], list[PlacedSize]]:
    """Tune and check sizes for ``backend``: its own table where the file has one, else the general ones."""
    sizes.only("tune", "check", *BACKENDS)
    for name in BACKENDS:
        sizes.table(name).only("tune", "check")
    own = sizes.table(backend)
    source = own if "tune" in own else sizes
    if "tune" not in source:
        where = f"[sizes] and [sizes.{backend}] have" if "tune" in sizes.values or own.values else "[sizes] has"
        sizes.fail(f"{where} no tune sizes", remedy="write tune = [{ N = 1024 }] with a value for each scalar")
    tune = [_size(t) for t in source.tables("tune")]
    if not tune:
        source.fail("the list of tune sizes is empty", "tune")
    check = [_size(t) for t in (own if "check" in own or source is own else sizes).tables("check")]
    if source is own:
        assumed.append(f"sizes: those of [sizes.{backend}]")
    if not check:
        assumed.append("no check sizes: nothing is verified at a size that blocks and tiles do not divide evenly"
                       " beyond the evaluator's own small ones")
    return tune, check


def _size(t: Table) -> PlacedSize:
    weight = t.number("weight", 1.0)
    if weight == 0:
        t.fail("a size of weight 0 would not count", "weight", remedy="move it to check")
    values: list[tuple[str, Number]] = []
    for name, value in t.values.items():
        if name == "weight":
            continue
        if not name.isidentifier():
            t.fail(f"'{name}' is no name of a scalar", name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            shown = f'"{value}"' if isinstance(value, str) else value
            t.fail(f"'{t.title(name)}' must be a number, not {shown}", name)
        if isinstance(value, float) and not math.isfinite(value):
            t.fail(f"'{t.title(name)}' is {value}; a size is finite", name)
        values.append((name, value))
    if not values:
        t.fail("an empty size: no scalar has a value", remedy="write { N = 1024 }")
    return PlacedSize(Size(tuple(values), weight), t)


def check_sizes(placed: list[PlacedSize], workload: Workload, launch: Launch, args: Table, kernel: Table,
                accept: Table) -> None:
    """Raises InputError for the first expression, limit or assumption that fails at some size."""
    scalars = {a.name for a in workload.arguments if a.value is not None}
    for item in placed:
        _complete(item, workload, launch, args, kernel)
        values = _evaluate_scalars(item, workload, args)
        _memory_fits(sum(_array_bytes(a, values, item, args) for a in workload.arguments if a.is_array), item)
        _grid_fits(launch, values, item, kernel)
        for n, text in enumerate(workload.assume):
            if not text.startswith("disjoint") and not _value(text, values, item, accept, "assume", n):
                item.table.fail(f"size {item.size} breaks the assumption '{text}' of [accept]",
                                remedy="change the size or drop the assumption")
    known = {n for item in placed for n, _ in item.size.values}
    used = scalars | _needed(workload, launch) | {n for t in workload.assume if not t.startswith("disjoint")
                                                  for n in names(t)}
    for item in placed:
        for name, _ in item.size.values:
            if name not in used:
                item.table.fail(f"the size sets '{name}', which no argument, grid or assumption uses", name,
                                remedy=nearest(name, sorted(used - known) or sorted(used)))


def _needed(workload: Workload, launch: Launch) -> set[str]:
    """Scalars that a size must set: read by some expression, and not computed by a scalar argument."""
    out: set[str] = set()
    computed: set[str] = set()
    for a in workload.arguments:
        if a.value is not None:
            out |= names(a.value) - computed
            computed.add(a.name)
    later = {n for a in workload.arguments if a.shape is not None for n in names(a.shape)}
    later |= {n for g in launch.grid for n in names(g)} - {"block_x", "block_y", "block_z"}
    return out | (later - computed)


def _complete(item: PlacedSize, workload: Workload, launch: Launch, args: Table, kernel: Table) -> None:
    given = item.size.as_dict()
    for name in sorted(_needed(workload, launch) - set(given)):
        user = next((f"argument '{a.name}'" for a in workload.arguments
                     if name in names(a.value or "0") | names(a.shape or "0")), "the grid")
        item.table.fail(f"size {item.size} gives no value to '{name}', which {user} needs",
                        remedy=f"add {name} = ... to the size")


def _evaluate_scalars(item: PlacedSize, workload: Workload, args: Table) -> dict[str, Number]:
    values = item.size.as_dict()
    for a in workload.arguments:
        if a.value is None:
            continue
        value = _value(a.value, values, item, args, a.name, "value")
        if a.dtype in INTEGER_RANGE:
            low, high = INTEGER_RANGE[a.dtype]
            if value != int(value) or not low <= value <= high:
                item.table.fail(f"at size {item.size} the {a.dtype} argument '{a.name}' would be "
                                f"{number_text(value)}", a.name, remedy=f"it holds whole numbers from {low} to {high}")
            value = int(value)
        elif abs(value) > (largest := LARGEST_FLOAT.get(a.dtype, LARGEST)):
            item.table.fail(f"at size {item.size} the {a.dtype} argument '{a.name}' would be {number_text(value)}",
                            a.name, remedy=f"it holds numbers up to {largest:g}")
        values[a.name] = value
    return values


def _array_bytes(a: Argument, values: dict[str, Number], item: PlacedSize, args: Table) -> int:
    assert a.shape is not None
    count = _value(a.shape, values, item, args, a.name, "shape")
    if count != int(count) or count < 1:
        args.fail(f"shape '{a.shape}' of '{a.name}' is {number_text(count)} elements at size {item.size}", a.name,
                  "shape", remedy="an array has a positive whole number of elements")
    return int(count) * numpy.dtype(a.dtype).itemsize


def _memory_fits(total: int, item: PlacedSize) -> None:
    """Inputs and expected outputs are kept on the host, so what is over its memory cannot be verified."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if total > memory:
        item.table.fail(f"the arrays take {number_text(total >> 20)} MiB at size {item.size}, and this machine has "
                        f"{memory >> 20} MiB", remedy="take a smaller size")


def _grid_fits(launch: Launch, values: dict[str, Number], item: PlacedSize, kernel: Table) -> None:
    values = {**values, **block_values(launch.block)}
    grid = [_value(g, values, item, kernel, "grid", n) for n, g in enumerate(launch.grid)]
    for axis, count, limit in zip("xyz", grid, MAX_GRID, strict=True):
        if count < 1 or count != int(count):
            kernel.fail(f"grid.{axis} is {number_text(count)} at size {item.size}", "grid",
                        remedy="a grid is a whole number of blocks, at least one")
        if count > limit:
            kernel.fail(f"grid.{axis} is {number_text(count)} at size {item.size}, over the limit of {limit}", "grid",
                        remedy="put the longest axis on x, or give more points to a block")


def _value(text: str, values: Mapping[str, Number], item: PlacedSize, table: Table, *keys: str | int) -> Number:
    file, line = table.file, table.line(*keys)
    try:
        value = evaluate(text, values)
    except TypeError:  # too many or too few arguments, or arithmetic on a complex root
        raise InputError(f"at size {item.size}: '{text}' cannot be evaluated: a function has a wrong number of "
                         "arguments, or a root is not real", remedy="ceil_div takes two, abs one, min and max any",
                         file=file, line=line) from None
    except (ExpressionError, OverflowError, ValueError) as e:
        raise InputError(f"at size {item.size}: {e}", file=file, line=line) from None
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        raise InputError(f"at size {item.size}: '{text}' is {value}, which is no finite number", file=file, line=line)
    return value
