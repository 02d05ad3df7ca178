"""Baseline and candidate on the same data: by interpretation of the lowered IR, or on a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks import _data, _device
from benchmarks._interpret import DTYPES, Fault, Machine, Unsupported
from benchmarks._sizes import applicable, sizes
from genome import ir
from genome.express import lowered
from genome.gene import Genome, to_json
from genome.initialiser import elements
from genome.program import Launch
from genome.scheduled import Scheduled
from genome.unit import SourceUnit
from genome.workload import Exactness, Size
from mutators.catalogue import CATALOGUE

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Wrong:
    """A genome whose kernel is not the baseline's."""

    problem: str
    genome: str
    size: str
    data: str
    reason: str

    def __str__(self) -> str:
        return f"{self.problem} {self.genome} at {self.size} ({self.data}): {self.reason}"


def reorders(genome: Genome) -> bool:
    """Whether sums may be taken in another order. Of tiles only those of a nest do that."""
    return any(CATALOGUE[g.mutator].exactness > Exactness.EXACT and (g.mutator != "TileLoops" or "," in g.site)
               for g in genome)


def mismatch(base: Scheduled, got: Arrays, want: Arrays, kind: str, loose: bool,
             left: Mapping[str, NDArray[np.bool_]]) -> str:
    """What differs, or "". ``left``: elements of pure outputs that the baseline does not write."""
    for a in base.workload.arguments:
        if not a.is_array:
            continue
        g, w = got[a.name], want[a.name]
        right = _data.close(g, w) if loose and not (kind == "integers" and _whole(w)) else _data.equal(g, w)
        if a.name in left:
            right = right | left[a.name]
        if not right.all():
            at = int(np.argmin(right))
            what = "input changed" if a.role == "in" else "value"
            return f"{what} {a.name}[{at}]: {g[at]!r}, baseline {w[at]!r}; {int((~right).sum())} of {right.size} differ"
    return ""


def _whole(a: NDArray[Any]) -> bool:
    """Small whole numbers: their sums are exact in any order."""
    return a.dtype.kind != "f" or bool(np.all(np.isfinite(a)) and np.all(a == np.rint(a)) and np.all(np.abs(a) < 2**22))


@dataclass
class Reference:
    arrays: Arrays
    left: dict[str, NDArray[np.bool_]]


class Engine(Protocol):
    def compare(self, base: Scheduled, state: Scheduled, genome: Genome) -> list[Wrong]: ...


@dataclass
class Interpreter:
    """References are kept per size and kind of data. ``problem`` names the kernel in reports."""

    problem: str
    seed: int = 0
    kinds: tuple[str, ...] = _data.KINDS
    ran: int = 0  # launches compared
    skipped: int = 0  # sizes at which the preconditions do not hold
    _references: dict[tuple[Size, str], Reference] = field(default_factory=dict)

    def compare(self, base: Scheduled, state: Scheduled, genome: Genome) -> list[Wrong]:
        kernels = lowered(state, 2**31)
        out: list[Wrong] = []
        for i, size in enumerate(sizes(base, state)):
            if not applicable(state, size):
                self.skipped += 1
                continue
            for kind in self.kinds[: 1 + (i % 2)] if i else self.kinds:
                reason = self._one(base, kernels, size, kind, reorders(genome))
                if reason:
                    out.append(Wrong(self.problem, to_json(genome), str(dict(size.values)), kind, reason))
                    break
        return out

    def reference(self, base: Scheduled, size: Size, kind: str) -> Reference:
        key = (size, kind)
        if key not in self._references:
            arrays = _data.arrays(base.workload, size, kind, self.seed)
            grid = base.launch.grid_at(base.workload.scalars(size))
            try:
                machine = run(base, base.unit.kernel, grid, base.launch.block, arrays, size, independent=False)
            except Unsupported:  # pointers, that the normal forms turn into subscripts
                arrays = _data.arrays(base.workload, size, kind, self.seed)
                machine = run(base, base.logical.kernel, grid, base.launch.block, arrays, size, independent=False)
            left = {a.name: ~machine.env[a.name].defined[: arrays[a.name].size] for a in base.workload.arguments
                    if a.is_array and a.role == "out"}
            self._references[key] = Reference(arrays, left)
        return self._references[key]

    def _one(self, base: Scheduled, kernels: list[tuple[ir.Kernel, Launch]], size: Size, kind: str,
             loose: bool) -> str:
        want = self.reference(base, size, kind)
        arrays = _data.arrays(base.workload, size, kind, self.seed)
        scalars = base.workload.scalars(size)
        spaces = _device.workspaces([launch for _, launch in kernels], scalars, _device.POISON[0])
        known = {name: np.zeros(a.size, bool) for name, a in spaces.items()}  # elements that a kernel has written
        for kernel, launch in kernels:
            grid = launch.grid_at(scalars)
            if min(grid) == 0:
                return f"empty grid {grid}"
            try:
                machine = run(base, kernel, grid, launch.block, {**arrays, **spaces}, size,
                              independent=base.logical.mapping_refusal is None, known=known)
            except Fault as e:
                return str(e)
            known = {name: machine.env[name].defined for name in spaces}
        self.ran += 1
        for name, left in want.left.items():
            defined = machine.env[name].defined[: left.size]
            if np.any(defined == left):
                return f"{name}[{int(np.argmax(defined == left))}] is written by one and left alone by the other"
        return mismatch(base, arrays, want.arrays, kind, loose, want.left)


def geometry(state: Scheduled, size: Size) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    from genome.program import Launch

    block = state.launch.block if state.same_mapping else state.schedule.block
    return Launch("", state.grid, block).grid_at(state.workload.scalars(size)), block


def run(base: Scheduled, kernel: ir.Kernel, grid: tuple[int, int, int], block: tuple[int, int, int], arrays: Arrays,
        size: Size, *, independent: bool, known: Mapping[str, NDArray[np.bool_]] | None = None) -> Machine:
    outs = frozenset(a.name for a in base.workload.arguments if a.is_array and a.role == "out")
    machine = Machine(kernel, grid, block, arrays, _data.scalars(base.workload, size), outs, independent,
                      helpers(base.unit), constants(base.unit), known or {})
    machine.run()
    return machine


def helpers(unit: SourceUnit) -> dict[str, tuple[tuple[ir.Param, ...], tuple[ir.Stmt, ...]]]:
    return {f.name: (f.params, f.body) for f in unit.functions if f.body is not None}


def constants(unit: SourceUnit) -> Arrays:
    """Tables of the file whose elements are literals."""
    out: Arrays = {}
    for d in unit.declarations:
        values = elements(d) if d.dims and d.init is not None else None
        if values is not None and d.type.base in DTYPES and all(isinstance(v, (ir.IntLit, ir.FloatLit))
                                                               for _, v in values):
            out[d.name] = np.array([float(v.text.rstrip("fF")) if isinstance(v, ir.FloatLit) else v.value  # type: ignore[union-attr]
                                    for _, v in values]).astype(DTYPES[d.type.base])
    return out


__all__ = ["Engine", "Fault", "Interpreter", "Reference", "Unsupported", "Wrong", "geometry", "mismatch", "reorders"]
