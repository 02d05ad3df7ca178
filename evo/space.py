"""The search space of a real problem: expression, sites, domains and programs over the catalogue of mutators."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from random import Random

from evo.search.draws import Draws
from evo.search.space import Expression, Place
from genome.express import Expressed, emit, express
from genome.gene import Genome, ParamValue, genome_key
from genome.program import Program
from genome.scheduled import Scheduled
from genome.summary import summarise
from mutators.base import Direction, Mutator
from mutators.sketches import Sketch, sketches

KEPT = 4096  # expressions that stay in memory


class KernelSpace:
    """Implements :class:`evo.search.space.Space` for one scheduled kernel. ``language`` is what the back end runs."""

    def __init__(self, base: Scheduled, mutators: Mapping[str, Mutator], language: str, *,
                 with_sketches: bool = True) -> None:
        self.base, self.mutators, self.language = base, mutators, language
        self.directions: Mapping[str, Direction] = {n: m.direction for n, m in mutators.items()}
        found = sketches(base) if with_sketches else ()
        self._sketches: dict[str, Sketch] = {s.name: s for s in found}
        self.sketches = tuple(self._sketches)
        self._expressions: OrderedDict[Genome, Expression] = OrderedDict()
        self._places: OrderedDict[str, tuple[Place, ...]] = OrderedDict()

    def express(self, genome: Genome) -> Expression:
        if genome in self._expressions:
            self._expressions.move_to_end(genome)
            return self._expressions[genome]
        prefix, known = self._longest_prefix(genome)
        start = known.state if known is not None else self.base
        done: Expressed = express(start, genome[prefix:], self.mutators, strict=False)
        refusals = tuple((genome[prefix + (r.gene or 0)], r) for r in done.refusals)
        effective = (known.genome if known is not None else ()) + done.effective
        out = Expression(effective, genome_key(effective), refusals, summarise(done.state), done.state)
        self._keep(genome, out)
        if effective != genome:
            self._keep(effective, Expression(effective, out.key, (), out.features, out.state))
        return out

    def _longest_prefix(self, genome: Genome) -> tuple[int, Expression | None]:
        """A memoised prefix in which nothing was refused."""
        for n in range(len(genome) - 1, 0, -1):
            found = self._expressions.get(genome[:n])
            if found is not None and not found.refusals:
                return n, found
        return 0, None

    def _keep(self, genome: Genome, out: Expression) -> None:
        self._expressions[genome] = out
        if len(self._expressions) > KEPT:
            self._expressions.popitem(last=False)

    def places(self, at: Expression) -> Sequence[Place]:
        if at.key not in self._places:
            state: Scheduled = at.state
            self._places[at.key] = tuple(
                Place(name, site.name, kind_of(state, site.name), m.direction)
                for name, m in self.mutators.items() for site in m.sites(state))
            if len(self._places) > KEPT:
                self._places.popitem(last=False)
        return self._places[at.key]

    def domain(self, at: Expression, mutator: str, site: str) -> Mapping[str, Sequence[ParamValue]]:
        return self.mutators[mutator].domain(at.state, site)

    def sketch(self, name: str, draws: Draws) -> Genome:
        genome = self._sketches[name].expand(_random(draws))
        return tuple(g for g in genome if g.mutator in self.mutators)

    def program(self, at: Expression) -> Program:
        return emit(at.state, self.language)

    def cuda(self, at: Expression) -> str:
        return emit(at.state, "cuda").source

    def strict(self, genome: Genome) -> Scheduled:
        """For replay and export. Raises the first gene's :class:`Refusal`."""
        return express(self.base, genome, self.mutators, strict=True).state


def kind_of(state: Scheduled, site: str) -> str:
    """What a site's name stands for: "axis", "loop", "array" or "kernel"."""
    if site in state.schedule.order:
        return "axis"
    if site.split(",")[0].removesuffix(".o") in state.logical.loops:
        return "loop"
    if site.split("#")[0] in state.logical.arrays:
        return "array"
    return "kernel"


def _random(draws: Draws) -> Random:
    """A generator of its own for a sketch, seeded from the agent's stream."""
    return Random(draws.below(2**31))


