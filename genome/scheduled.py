"""A kernel with its schedule: the state that genes transform."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from genome.build import build_logical
from genome.errors import Refusal
from genome.expressions import ExpressionError, evaluate
from genome.footprint import StagePlan, stage_plan
from genome.logical import LogicalKernel
from genome.lower.lowering import tiled_loop_is_structural
from genome.lower.mapping import WARP, grid, grid_size, keeps_launch
from genome.program import Launch
from genome.schedule import AxisMap, Schedule, Split
from genome.split import SplitKernels, split_kernels, sums_schedule
from genome.workload import Workload

if TYPE_CHECKING:
    from genome.unit import SourceUnit


FEWEST_REGISTERS = 24  # a thread: addresses alone take that many
REACH = 2**31 - 2**20  # points along an axis: coordinates are ints, and the last block may reach past the extent


@dataclass(frozen=True)
class Limits:
    """What the device allows: threads a block, block and grid shape, shared memory in bytes a block."""

    threads: int = 1024
    block: tuple[int, int, int] = (1024, 1024, 64)
    grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    shared_bytes: int = 49152
    async_copy: bool = True  # cp.async: sm_80 and later (OpenCL copies at once, which is right but no faster)
    registers: int = 65536  # of a multiprocessor; 0: not known
    resident: int = 2048  # threads that a multiprocessor holds
    multiprocessors: int = 0  # how many blocks it takes to fill the device; 0: not known
    items: int = 256  # points a thread: more would not fit into registers, and take minutes to compile


@dataclass(frozen=True, eq=False)
class Scheduled:
    """``baseline`` is the schedule that the user's own launch amounts to."""

    unit: SourceUnit
    logical: LogicalKernel
    workload: Workload
    launch: Launch
    baseline: Schedule
    schedule: Schedule
    limits: Limits = Limits()
    preconditions: tuple[str, ...] = ()
    _plans: dict[Schedule, tuple[StagePlan, ...]] = field(default_factory=dict, repr=False)
    _splits: dict[tuple[tuple[str, ...], Split], SplitKernels] = field(default_factory=dict, repr=False)

    def with_schedule(self, schedule: Schedule, preconditions: tuple[str, ...] = ()) -> Scheduled:
        added = tuple(p for p in preconditions if p not in self.preconditions)
        return replace(self, schedule=schedule, preconditions=self.preconditions + added)

    @property
    def edited(self) -> bool:
        return self.schedule != self.baseline

    @property
    def same_mapping(self) -> bool:
        return keeps_launch(self.schedule, self.baseline)

    @property
    def grid(self) -> tuple[str, str, str]:
        return grid(self.logical, self.schedule, self.launch.grid, self.same_mapping)

    def plans(self) -> tuple[StagePlan, ...]:
        """Plans of all stages; raises the :class:`Refusal` of the first that is not legal."""
        if self.schedule not in self._plans:
            self._plans[self.schedule] = tuple(stage_plan(self.logical, self.schedule, s) for s in self.schedule.stages)
        return self._plans[self.schedule]

    def split_kernels(self) -> SplitKernels:
        """The two kernels of a split reduction; only for a schedule that has one."""
        split = self.schedule.split
        assert split is not None
        key = self.schedule.order, split
        if key not in self._splits:
            self._splits[key] = split_kernels(self.logical, self.workload, self.launch, self.schedule.order,
                                              split.label, split.parts, self.unit.names)
        return self._splits[key]

    def require_free_mapping(self) -> None:
        """Raises the refusal that says why points cannot be redistributed over threads."""
        refusal = self.logical.mapping_refusal
        if refusal is not None:
            raise Refusal(refusal.code, refusal.reason, refusal.loc)

    def disjoint(self) -> tuple[str, ...]:
        """Preconditions of another order of the points: what is written overlaps nothing else, and coordinates that
        the kernel does not hold in ints fit into ints all the same, which emitted code counts in."""
        names = sorted(self.logical.arrays)
        fits = tuple(f"{a.text} <= {REACH}" for a in self.logical.axes
                     if a.name in self.logical.wide_axes and not a.poly.is_constant)
        return fits + tuple(f"disjoint({w}, {a})" for w in names for a in names
                     if w in self.logical.written and a != w and not (a in self.logical.written and a < w))

    def validate(self) -> None:
        """Conditions on the whole, re-checked after every gene; raises one named refusal per cause."""
        s, limits = self.schedule, self.limits
        if self.edited and s.axes and not self.same_mapping:
            if s.threads > limits.threads:
                raise Refusal("too-many-threads", f"{s.threads} threads a block, the device allows {limits.threads}")
            for have, allowed, name in zip(s.block, limits.block, "xyz", strict=True):
                if have > allowed:
                    raise Refusal("block-shape-over-limit", f"{have} threads along {name}, the device allows {allowed}")
            points = 1
            for _, m in s.axes:
                points *= m.items
            if points > limits.items:
                raise Refusal("too-many-items", f"{points} points a thread, {limits.items} are the most that is tried")
            for size in (*self.workload.tune, *self.workload.check):
                values = self.workload.scalars(size)
                for a in self.logical.axes:
                    if a.name in self.logical.wide_axes and evaluate(a.text, values) > REACH:
                        raise Refusal("axis-over-int", f"{a.text} points along {a.name} at size {size}: more than an "
                                      "int counts")
                for text, allowed, name in zip(self.grid, limits.grid, "xyz", strict=True):
                    try:
                        n = grid_size(text, values)
                    except ExpressionError as e:
                        raise Refusal("grid-not-computable", str(e)) from e
                    if n > allowed:
                        raise Refusal("grid-over-limit", f"{n} blocks along {name} at size {size}, the device allows "
                                      f"{allowed}")
        if s.split is not None:
            self._validate_split(s.split)
        if s.min_blocks:
            self._validate_registers(s.min_blocks)
        if s.lanes and (len(s.order) < 2 or s.block[0] % s.lanes or s.block[1] % (WARP // s.lanes)):
            raise Refusal("warp-tile-shape", f"a block of {s.block} does not divide into warps of {s.lanes} by "
                          f"{WARP // s.lanes} threads")
        total = sum(p.bytes * self.schedule.depth_of(p.stage.scope) for p in self.plans())
        if total > limits.shared_bytes:
            raise Refusal("shared-memory-over-limit", f"{total} bytes of shared memory a block, {limits.shared_bytes} "
                          "are allowed")

    def _validate_registers(self, blocks: int) -> None:
        x, y, z = self.launch.block if self.same_mapping else self.schedule.block
        threads = -(-x * y * z // WARP) * WARP * blocks
        if threads > self.limits.resident:
            raise Refusal("too-many-blocks", f"{blocks} blocks of {x * y * z} threads are more than the "
                          f"{self.limits.resident} threads that a multiprocessor holds")
        if self.limits.registers and self.limits.registers // threads < FEWEST_REGISTERS:
            raise Refusal("too-few-registers", f"{blocks} blocks of {x * y * z} threads leave "
                          f"{self.limits.registers // threads} registers a thread")

    def _validate_split(self, split: Split) -> None:
        s = self.schedule
        if not tiled_loop_is_structural(self.logical, s, split.label):
            raise Refusal("split-loop-differs", f"loop {split.label} would run once per point of a thread, so its "
                          "tiles could not be dealt out", self.logical.loops[split.label].node.loc)
        sums = sums_schedule(s.order)
        for size in (*self.workload.tune, *self.workload.check):
            values = self.workload.scalars(size)
            for text, allowed in zip(grid(self.logical, sums, self.launch.grid, False), self.limits.grid, strict=True):
                if grid_size(text, values) > allowed:
                    raise Refusal("grid-over-limit", f"the kernel that adds the parts up needs {text} blocks at size "
                                  f"{size}, the device allows {allowed}")


def initial_schedule(logical: LogicalKernel) -> Schedule:
    """The schedule of the user's own launch: one point a thread."""
    return Schedule(tuple(a.name for a in logical.axes), tuple((a.name, AxisMap(a.threads)) for a in logical.axes),
                    walked=tuple(axis for axis, _ in logical.walks))


def schedule_kernel(unit: SourceUnit, workload: Workload, launch: Launch, limits: Limits | None = None) -> Scheduled:
    """Analyses a loaded kernel and sets its baseline schedule beside it."""
    from genome import normal

    normalise = getattr(normal, "normalise", lambda k: k)
    from genome.purity import pure_functions

    kernel = normalise(unit.kernel)
    pointers = frozenset(d.name for d in unit.declarations if d.type.pointer)
    logical = build_logical(kernel, workload, launch, pure_functions(unit), pointers)
    schedule = initial_schedule(logical)
    return Scheduled(unit, logical, workload, launch, schedule, schedule, limits or Limits(),
                     tuple(logical.assumptions))
