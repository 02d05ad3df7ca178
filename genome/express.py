"""Expression: applying a genome to the baseline, and emitting the program that comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from genome.errors import Refusal
from genome.gene import Gene, Genome, ParamValue
from genome.lower import lower
from genome.lower.lowering import STATIC_BYTES
from genome.program import Launch, Program
from genome.scheduled import Scheduled


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
    # OpenCL C has no dynamic shared memory inside a kernel: its arrays are static at any size.
    static = STATIC_BYTES if language == "cuda" else 2**31
    lowered = lower(state.logical, state.schedule, state.baseline, static_bytes=static)
    source = state.unit.cuda(lowered.kernel) if language == "cuda" else state.unit.opencl(lowered.kernel)
    block = state.launch.block if lowered.same_mapping else state.schedule.block
    launch = Launch(state.unit.kernel.name, state.grid, block, state.launch.shared_bytes + lowered.dynamic_bytes)
    preconditions = state.preconditions
    if state.schedule.swizzle:  # block numbers are counted in int
        preconditions += (f"({launch.grid[0]})*(({launch.grid[1]}) + {state.schedule.swizzle}) < 2147483648",)
    return Program(source, (launch,), language, preconditions)
