"""The search space of a tunable kernel: genomes of SetTunable genes over parameters and restrictions.

A genome holds the parameters that differ from the default configuration, each at most once and in the parameters'
order, so that equal configurations have equal genomes. Restrictions judge the whole configuration: a gene that is
inadmissible alone may be admissible together with others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from evo.search.draws import Draws
from evo.search.space import Expression, Place
from evo.tuning.parameters import Configuration, Parameters, number
from genome.errors import InputError, Refusal
from genome.gene import Gene, Genome, ParamValue, genome_key
from genome.program import Program
from gpu.replay.program import BLOCK_NAMES
from mutators.base import Direction

MUTATOR = "SetTunable"
KIND = "parameter"
RANDOM = "random configuration"

Emit = Callable[[Mapping[str, ParamValue]], Program]


class TuningSpace:
    """Implements :class:`evo.search.space.Space`. ``rows`` are the admissible configurations (see
    :meth:`Parameters.admissible`, or the record's); ``emit`` makes the program of one. Raises InputError where nothing
    is admissible or the default is not."""

    def __init__(self, parameters: Parameters, rows: NDArray[np.int16], emit: Emit, *,
                 default: Configuration | None = None, block_names: Sequence[str] = BLOCK_NAMES) -> None:
        if not len(rows):
            raise InputError("no combination of the parameters meets the restrictions")
        self.parameters, self.rows, self.emit = parameters, rows, emit
        self.index = {parameters.configuration(r): i for i, r in enumerate(rows)}
        self.default = parameters.configuration(rows[0]) if default is None else default
        if self.default not in self.index:
            raise InputError(f"the default configuration {self.default} is not admissible")
        self.block_names = tuple(block_names)
        self.directions: Mapping[str, Direction] = {MUTATOR: Direction.COMPUTE}
        self.sketches: tuple[str, ...] = (RANDOM,)
        used = [np.unique(rows[:, j]) for j in range(len(parameters.names))]
        self._domains = {n: tuple(d[i] for i in u) for (n, d), u in zip(parameters.values.items(), used, strict=True)}

    # ------------------------------------------------------------------------------- genomes and configurations
    def genome(self, configuration: Configuration) -> Genome:
        """What differs from the default."""
        return tuple(Gene.make(MUTATOR, n, value=v)
                     for n, v, d in zip(self.parameters.names, configuration, self.default, strict=True) if v != d)

    def configuration(self, genome: Genome) -> Configuration:
        """Raises Refusal for another mutator's gene or a value outside its domain. Not necessarily admissible."""
        chosen = dict(zip(self.parameters.names, self.default, strict=True))
        for i, gene in enumerate(genome):
            chosen[gene.site] = self._value(gene, i)
        return tuple(chosen.values())

    def _value(self, gene: Gene, position: int) -> ParamValue:
        if gene.mutator != MUTATOR or gene.site not in self._domains:
            raise Refusal("no-such-parameter", f"{gene} names no parameter of this kernel", gene=position)
        value = gene.as_dict().get("value")
        if value is None or value not in self._domains[gene.site]:
            raise Refusal("value-outside-domain", f"{gene} sets a value that {gene.site} does not have", gene=position)
        return value

    # ------------------------------------------------------------------------------------------- Space protocol
    def express(self, genome: Genome) -> Expression:
        """The whole genome where it is admissible; else its genes one after the other, those kept that leave an
        admissible configuration, until no further one can be added."""
        refused: list[tuple[Gene, Refusal]] = []
        known: list[Gene] = []
        for i, gene in enumerate(genome):
            try:
                self._value(gene, i)
                known.append(gene)
            except Refusal as r:
                refused.append((gene, r))
        if self.configuration(tuple(known)) not in self.index:
            known, left = self._longest(known)
            refused += [(g, Refusal("restriction", f"{g} leads to no admissible combination")) for g in left]
        configuration = self.configuration(tuple(known))
        effective = self.genome(configuration)
        return Expression(effective, genome_key(effective), tuple(refused), self._features(configuration),
                          configuration)

    def _longest(self, genes: list[Gene]) -> tuple[list[Gene], list[Gene]]:
        kept: list[Gene] = []
        left = list(genes)
        grown = True
        while grown:
            grown = False
            for gene in list(left):
                if self.configuration((*kept, gene)) in self.index:
                    kept.append(gene)
                    left.remove(gene)
                    grown = True
        return kept, left

    def _features(self, configuration: Configuration) -> dict[str, float]:
        """Every parameter that is a number, and the threads of a block."""
        out: dict[str, float] = {}
        threads = 1.0
        for name, value in zip(self.parameters.names, configuration, strict=True):
            n = number(value)
            if n is not None:
                out[name] = n
                threads *= n if name in self.block_names and n > 0 else 1.0
        out["threads"] = threads
        return out

    def places(self, at: Expression) -> Sequence[Place]:
        return [Place(MUTATOR, name, KIND, Direction.OCCUPANCY if name in self.block_names else Direction.COMPUTE)
                for name, domain in self._domains.items() if len(domain) > 1]

    def domain(self, at: Expression, mutator: str, site: str) -> Mapping[str, Sequence[ParamValue]]:
        """The values other than the default's, which a genome without the gene has."""
        if mutator != MUTATOR:
            return {}
        default = self.default[self.parameters.names.index(site)]
        return {"value": tuple(v for v in self._domains[site] if v != default)}

    def sketch(self, name: str, draws: Draws) -> Genome:
        """A configuration drawn evenly from the admissible ones."""
        return self.genome(self.parameters.configuration(self.rows[draws.below(len(self.rows))]))

    def program(self, at: Expression) -> Program:
        return self.emit(dict(zip(self.parameters.names, at.state, strict=True)))

    def cuda(self, at: Expression) -> str:
        return self.program(at).source
