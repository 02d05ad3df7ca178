"""What search sees of the kernel: genomes become expressions with features, sites and programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from evo.search.draws import Draws
from genome.errors import Refusal
from genome.gene import Gene, Genome, ParamValue
from genome.program import Program
from mutators.base import Direction


@dataclass(frozen=True)
class Expression:
    """A genome applied to the baseline: the effective genome, what was refused on the way, static features."""

    genome: Genome
    key: str  # genome.gene.genome_key of the effective genome
    refusals: tuple[tuple[Gene, Refusal], ...]
    features: Mapping[str, float]
    state: Any = field(compare=False, repr=False)


@dataclass(frozen=True)
class Place:
    """One mutator at one site. ``kind`` is "axis", "array", "loop" or "kernel"."""

    mutator: str
    site: str
    kind: str
    direction: Direction


class Space(Protocol):
    """The search space of one problem. Everything is deterministic and cached."""

    directions: Mapping[str, Direction]  # of every admissible mutator
    sketches: tuple[str, ...]

    def express(self, genome: Genome) -> Expression:
        """Refused genes are dropped and named in ``refusals``."""
        ...

    def places(self, at: Expression) -> Sequence[Place]: ...

    def domain(self, at: Expression, mutator: str, site: str) -> Mapping[str, Sequence[ParamValue]]: ...

    def sketch(self, name: str, draws: Draws) -> Genome: ...

    def program(self, at: Expression) -> Program:
        """Raises :class:`genome.errors.Refusal` where the lowering finds what no gene's check could."""
        ...

    def cuda(self, at: Expression) -> str:
        """The CUDA text, also where another language runs."""
        ...


def skeleton(genome: Genome) -> tuple[tuple[str, str], ...]:
    """The mutators and sites without their parameters, order ignored."""
    return tuple(sorted((g.mutator, g.site) for g in genome))
