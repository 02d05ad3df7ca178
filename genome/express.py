"""Expression: applying a genome to the baseline, and emitting the program that comes of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from genome import ir
from genome.errors import Refusal
from genome.footprint import groups, scope_loop
from genome.gene import Gene, Genome, ParamValue
from genome.lower import lower
from genome.lower.lowering import STATIC_BYTES
from genome.lower.mapping import grid
from genome.program import Launch, Program
from genome.scheduled import Scheduled, initial_schedule
from genome.split import preconditions as split_preconditions
from genome.split import sums_schedule

# OpenCL C has no dynamic shared memory inside a kernel: its arrays are static at any size.
STATIC_SHARED = {"cuda": STATIC_BYTES, "opencl": 2**31}


class Transform(Protocol):
    """What expression needs of a mutator (see mutators.base.Mutator)."""

    def check(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> tuple[str, ...]: ...

    def apply(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> Scheduled: ...


@dataclass(frozen=True)
class Expressed:
    """``effective`` are the genes that took effect, in order; ``refusals`` say why the others did not."""

    state: Scheduled
    effective: Genome
    refusals: tuple[Refusal, ...] = ()


def express(base: Scheduled, genome: Genome, mutators: Mapping[str, Transform], *, strict: bool) -> Expressed:
    """Applies the genes in order, each checked on its own and the whole validated after it.

    ``strict`` raises the first gene's :class:`Refusal` (with ``gene`` set); otherwise refused genes are dropped and
    recorded.
    """
    state = base
    effective: list[Gene] = []
    refusals: list[Refusal] = []
    for i, gene in enumerate(genome):
        try:
            mutator = mutators.get(gene.mutator)
            if mutator is None:
                raise Refusal("unknown-mutator", f"there is no mutator called {gene.mutator}")
            params = gene.as_dict()
            added = mutator.check(state, gene.site, params)
            new = mutator.apply(state, gene.site, params)
            new = new.with_schedule(new.schedule, added)
            new.validate()
        except Refusal as r:
            r.gene = i
            if strict:
                raise
            refusals.append(r)
            continue
        state = new
        effective.append(gene)
    return Expressed(state, tuple(effective), tuple(refusals))


def emit(state: Scheduled, language: str = "cuda") -> Program:
    """The program of a state. The unedited baseline is the user's own text."""
    if not state.edited:
        source = state.unit.cuda_original() if language == "cuda" else state.unit.opencl(state.unit.kernel)
        return Program(source, (state.launch,), language)
    kernels, launches = zip(*lowered(state, STATIC_SHARED[language]), strict=True)
    source = state.unit.cuda(*kernels) if language == "cuda" else state.unit.opencl(*kernels)
    preconditions = state.preconditions
    if state.schedule.swizzle:  # block numbers are counted in int
        x, y, _ = launches[0].grid
        preconditions += (f"({x})*(({y}) + {state.schedule.swizzle}) < 2147483648",)
    split = state.schedule.split
    if split is not None:
        tile = state.schedule.tile_of(split.label)
        assert tile is not None
        preconditions += split_preconditions(state.logical, state.schedule.order, split.label, split.parts,
                                             tile.sizes[0])
    return Program(source, launches, language, preconditions)


def lowered(state: Scheduled, static_bytes: int) -> list[tuple[ir.Kernel, Launch]]:
    """The kernels of an edited state with their launches, in order. Stages of more than ``static_bytes`` together go
    to dynamic shared memory."""
    schedule = state.schedule
    if schedule.split is None:
        out = lower(state.logical, schedule, state.baseline, static_bytes=static_bytes)
        block = state.launch.block if out.same_mapping else schedule.block
        shared = state.launch.shared_bytes + out.dynamic_bytes
        kernel = out.kernel
        if out.same_mapping and schedule.min_blocks:
            kernel = replace(kernel, launch_bounds=(math.prod(block), schedule.min_blocks))
        return [(kernel, Launch(state.unit.kernel.name, state.grid, block, shared))]
    both = state.split_kernels()
    # What is read after the loop alone is not read by the first kernel, whose groups are the first of the whole's.
    read = {g.name for g in groups(both.parts)}
    staged = replace(schedule, stages=tuple(s for s in schedule.stages if s.array in read and (
        not s.scope or scope_loop(s.scope) in both.parts.loops)))
    parts = lower(both.parts, staged, state.baseline, static_bytes=static_bytes, layer=both.layer)
    after = sums_schedule(schedule.order)
    sums = lower(both.sums, after, initial_schedule(both.sums))
    first = Launch(parts.kernel.name, state.grid, schedule.block, state.launch.shared_bytes + parts.dynamic_bytes,
                   both.workspaces)
    second = Launch(sums.kernel.name, grid(both.sums, after, state.launch.grid, False), after.block, 0,
                    both.workspaces)
    return [(parts.kernel, first), (sums.kernel, second)]
