"""Checks that need no device time: the device's limits, the user's constraints, launch preconditions."""

from __future__ import annotations

import re
from collections.abc import Mapping

from genome.errors import InputError
from genome.expressions import ExpressionError, Number, evaluate, names
from genome.program import Launch, Program
from genome.workload import Size, Workload
from gpu.records import DeviceInfo, Resources

CONSTRAINT_NAMES = frozenset({"registers", "spill_bytes", "stack_bytes", "shared_bytes", "occupancy", "threads"})
_DISJOINT = re.compile(r"\s*disjoint\s*\(.*\)\s*$")


def over_block_limits(program: Program, device: DeviceInfo) -> str:
    """Why a launch cannot run on the device whatever the size, or ""."""
    for launch in program.launches:
        x, y, z = launch.block
        mx, my, mz = device.max_block
        if min(launch.block) < 1:
            return f"block {x}x{y}x{z} of {launch.kernel} has an empty axis"
        if x * y * z > device.max_threads_per_block:
            return (f"block {x}x{y}x{z} of {launch.kernel} has {x * y * z} threads, "
                    f"the device admits {device.max_threads_per_block}")
        if x > mx or y > my or z > mz:
            return f"block {x}x{y}x{z} of {launch.kernel} exceeds the device's {mx}x{my}x{mz}"
        if launch.shared_bytes > device.max_shared_optin:
            return (f"{launch.kernel} asks for {launch.shared_bytes} bytes of dynamic shared memory, "
                    f"the device admits {device.max_shared_optin}")
    return ""


def grid_of(launch: Launch, scalars: Mapping[str, Number]) -> tuple[int, int, int]:
    """The grid, or :class:`InputError` for an expression that has no value."""
    try:
        return launch.grid_at(scalars)
    except ExpressionError as e:
        raise InputError(f"grid of {launch.kernel}: {e}") from e


def over_grid_limits(program: Program, scalars: Mapping[str, Number], device: DeviceInfo) -> str:
    """Why the grid cannot run at these scalars, or "" (evaluator.md C16: a grid over the limit silently runs nothing).
    """
    for launch in (program.launches[i] for i in program.at(scalars)):
        grid = grid_of(launch, scalars)
        for axis, extent, limit in zip("xyz", grid, device.max_grid, strict=True):
            if extent < 1:
                return f"grid.{axis} of {launch.kernel} is {extent}"
            if extent > limit:
                return f"grid.{axis} of {launch.kernel} is {extent}, the device admits {limit}"
    return ""


def over_memory(workload: Workload, size: Size, device: DeviceInfo) -> str:
    """Why the arrays do not fit (three copies of in-out data, guard zones and the reference included), or ""."""
    import numpy as np
    total = sum(workload.elements(a.name, size) * np.dtype(a.dtype).itemsize for a in workload.arguments if a.is_array)
    if device.memory_bytes and total * 2 > device.memory_bytes:
        return f"arrays of {total} bytes at size {size}: with the reference they exceed the device's memory"
    return ""


def device_memory(workload: Workload, program: Program, stack_bytes: int, device: DeviceInfo) -> int:
    """Bytes that a program needs on the device at the largest tune size: arrays, workspaces, and on CUDA the local
    memory of as many threads as can be resident."""
    import numpy as np

    from gpu import data
    most = 0
    for size in workload.tune:
        total = sum(workload.elements(a.name, size) * np.dtype(a.dtype).itemsize
                    for a in workload.arguments if a.is_array)
        for w in program.workspaces:
            count, dtype = data.workspace(w, workload.scalars(size))
            total += count * dtype.itemsize
        most = max(most, total)
    resident = device.multiprocessors * device.max_threads_per_multiprocessor if device.backend == "cuda" else 0
    return most + max(stack_bytes, 0) * resident


def check_constraints(constraints: tuple[str, ...]) -> None:
    """Raises :class:`InputError` for a constraint that is no expression over the known names."""
    for text in constraints:
        try:
            unknown = names(text) - CONSTRAINT_NAMES
        except ExpressionError as e:
            raise InputError(f"constraint: {e}") from e
        if unknown:
            raise InputError(f"constraint '{text}': unknown name {sorted(unknown)[0]}",
                             remedy="known are " + ", ".join(sorted(CONSTRAINT_NAMES)))


def over_resources(program: Program, resources: Resources) -> str:
    """Why a launch needs more registers or shared memory than a block can have, as its occupancy tells, or ""."""
    if resources.occupancy != 0.0 or resources.registers < 0:
        return ""
    threads = max((x * y * z for x, y, z in (launch.block for launch in program.launches)), default=0)
    return (f"a block of {threads} threads with {resources.registers} registers each and {resources.shared_bytes} "
            "bytes of shared memory does not fit on a multiprocessor")


def over_constraints(constraints: tuple[str, ...], program: Program, resources: Resources) -> str:
    """The first constraint that is not met, with the values it read, or ""."""
    threads = max((x * y * z for x, y, z in (launch.block for launch in program.launches)), default=0)
    values: dict[str, Number] = {
        "registers": resources.registers, "spill_bytes": resources.spill_bytes, "stack_bytes": resources.stack_bytes,
        "shared_bytes": resources.shared_bytes, "occupancy": resources.occupancy, "threads": threads}
    for text in constraints:
        read = names(text)
        if any(n in ("registers", "occupancy") and values[n] < 0 for n in read):
            continue  # the back end cannot know: said once by the gate
        if not evaluate(text, values):
            return f"{text}: " + ", ".join(f"{n} is {values[n]:g}" for n in sorted(read))
    return ""


def applies(program: Program, scalars: Mapping[str, Number]) -> bool:
    """Whether the launcher would choose this program at these scalars. Every array here has its own buffer, so
    ``disjoint`` holds."""
    for text in program.preconditions:
        if _DISJOINT.match(text):
            continue
        try:
            if not evaluate(text, scalars):
                return False
        except ExpressionError:
            return False
    return True
