"""Operators over gene sequences, registered in a DEAP toolbox; which one is applied, and with what, the policy says.

Each operator takes the :class:`Variation` and a parent and returns a :class:`Draft` (a genome that may still be
refused or known) or None where it does not apply.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from deap import base

from evo.search.context import Vector, at_site
from evo.search.draws import Draws
from evo.search.policy import Option, Policy, Trace, ValueChoice
from evo.search.population import Population
from evo.search.space import Expression, Place, Space
from genome.gene import Gene, Genome, ParamValue

OPERATIONS = ("append", "sketch", "replace", "reparameterise", "delete", "splice", "exchange", "swap")
NEIGHBOUR = 0.4  # share of re-parameterisations that move an ordered value by one place


@dataclass(frozen=True)
class Draft:
    genome: Genome
    parents: tuple[str, ...]
    operation: str
    trace: Trace
    length: int = -1  # the effective genome must keep this length; -1: may lose refused genes

    def then(self, other: Draft) -> Draft:
        """Two operations in one proposal; the intermediate genome is not measured."""
        parents = tuple(dict.fromkeys(self.parents + other.parents))
        trace = Trace(self.trace.arms + other.trace.arms, self.trace.values + other.trace.values)
        return Draft(other.genome, parents, f"{self.operation}+{other.operation}", trace, other.length)


class Variation:
    """Binds the operators to one agent's space, policy and randomness for the time of one proposal."""

    def __init__(self, space: Space, policy: Policy, population: Population, draws: Draws, horizon: int) -> None:
        self.space, self.policy, self.population, self.draws, self.horizon = space, policy, population, draws, horizon
        self.toolbox = base.Toolbox()
        for name, function in OPERATORS.items():
            self.toolbox.register(name, function, self)

    def applicable(self, parent: Any) -> list[str]:
        n = len(parent)
        names = []
        if n < self.horizon:
            names.append("append")
        if self.space.sketches:
            names.append("sketch")
        if n >= 1:
            names += ["replace", "delete"]
            if any(g.params for g in parent):
                names.append("reparameterise")
        if n >= 2:
            names.append("swap")
        if n >= 1 and len(self.population) >= 2:
            names.append("splice")
            if self.population.sibling(Draws(0), parent) is not None:
                names.append("exchange")
        return names

    def draft(self, parent: Any, x: Vector) -> Draft | None:
        """One attempt: the policy picks the operation, the operator does the rest."""
        names = self.applicable(parent)
        if not names:
            return None
        arms = [Option(f"operation:{n}", x) for n in names]
        i = self.policy.choose(arms, self.draws)
        operator: Callable[[Any, Vector], Draft | None] = getattr(self.toolbox, names[i])
        made = operator(parent, x)
        if made is None:
            self.policy.refused(Trace((arms[i],)), 0.5)
            return None
        trace = Trace((arms[i], *made.trace.arms), made.trace.values)
        return Draft(made.genome, made.parents, names[i], trace, made.length)

    # ------------------------------------------------------------------------------------ the engineer's choices
    def gene(self, at: Expression, x: Vector) -> tuple[Gene, Trace] | None:
        """Architect: a direction. Engineer: a mutator and kind of site, the site, the parameters."""
        places = self.space.places(at)
        if not places:
            return None
        by_direction: dict[str, list[Place]] = {}
        for p in places:
            by_direction.setdefault(p.direction.value, []).append(p)
        directions = [Option(f"direction:{d}", x) for d in by_direction]
        i = self.policy.choose(directions, self.draws)
        pairs: dict[tuple[str, str], list[str]] = {}
        for p in list(by_direction.values())[i]:
            pairs.setdefault((p.mutator, p.kind), []).append(p.site)
        mutators = [Option(f"mutator:{m}", at_site(x, kind)) for m, kind in pairs]
        j = self.policy.choose(mutators, self.draws)
        (mutator, kind), sites = list(pairs.items())[j]
        values: list[ValueChoice] = []
        site = self.pick(f"{mutator}//site", tuple(sites), values)
        params = {}
        for name, domain in self.space.domain(at, mutator, str(site)).items():
            if not domain:
                return None
            params[name] = self.pick(f"{mutator}/{kind}/{name}", tuple(domain), values)
        return Gene.make(mutator, str(site), **params), Trace((directions[i], mutators[j]), tuple(values))

    def pick(self, slot: str, domain: tuple[ParamValue, ...], into: list[ValueChoice]) -> ParamValue:
        value = self.policy.value(slot, domain, self.draws)
        into.append(ValueChoice(slot, value, domain))
        return value

    def kind(self, at: Expression, gene: Gene) -> str:
        for p in self.space.places(at):
            if p.mutator == gene.mutator and p.site == gene.site:
                return p.kind
        return ""


def put(genome: Genome, gene: Gene) -> Genome:
    """One gene per mutator and site: it takes the place of an earlier one, or the end."""
    for i, g in enumerate(genome):
        if (g.mutator, g.site) == (gene.mutator, gene.site):
            return (*genome[:i], gene, *genome[i + 1:])
    return (*genome, gene)


def append(v: Variation, parent: Any, x: Vector) -> Draft | None:
    made = v.gene(v.space.express(tuple(parent)), x)
    if made is None:
        return None
    genome = put(tuple(parent), made[0])
    return Draft(genome, (parent.key,), "append", made[1], len(genome))


def sketch(v: Variation, parent: Any, x: Vector) -> Draft | None:
    arms = [Option(f"sketch:{s}", x) for s in v.space.sketches]
    i = v.policy.choose(arms, v.draws)
    return Draft(v.space.sketch(v.space.sketches[i], v.draws), ("baseline",), "sketch", Trace((arms[i],)))


def replace(v: Variation, parent: Any, x: Vector) -> Draft | None:
    i = v.draws.below(len(parent))
    made = v.gene(v.space.express(tuple(parent[:i])), x)
    if made is None:
        return None
    genome: Genome = tuple(parent[:i])
    for g in (made[0], *parent[i + 1:]):
        genome = put(genome, g)
    return Draft(genome, (parent.key,), "replace", made[1])


def reparameterise(v: Variation, parent: Any, x: Vector) -> Draft | None:
    """Changes one to three coordinates: the first in a gene of the policy's choice, the others anywhere."""
    tunable = [i for i, g in enumerate(parent) if g.params]
    arms = [Option(f"tune:{parent[i].mutator}", x) for i in tunable]
    j = v.policy.choose(arms, v.draws)
    picked = [tunable[j]]
    for chance in (0.4, 0.4):
        if v.draws.uniform() < chance:
            picked.append(v.draws.choice(tunable))
    genes = list(parent)
    values: list[ValueChoice] = []
    for i in picked:
        at = v.space.express(tuple(parent[:i]))  # legal as it stands; a changed head might lack the site
        gene = genes[i]
        domain = v.space.domain(at, gene.mutator, gene.site)
        names = [n for n, d in domain.items() if len(d) > 1]
        if not names:
            continue
        name = v.draws.choice(names)
        old = gene.as_dict().get(name)
        others = tuple(d for d in domain[name] if d != old)
        slot = f"{gene.mutator}/{v.kind(at, gene)}/{name}"
        near = _near(old, tuple(domain[name]))
        if near and v.draws.uniform() < NEIGHBOUR:
            others = near
        value = v.policy.value(slot, others, v.draws)
        values.append(ValueChoice(slot, value, tuple(domain[name])))
        genes[i] = Gene.make(gene.mutator, gene.site, **{**gene.as_dict(), name: value})
    if tuple(genes) == tuple(parent):
        return None
    return Draft(tuple(genes), (parent.key,), "reparameterise", Trace((arms[j],), tuple(values)), len(parent))


def _near(old: ParamValue | None, domain: tuple[ParamValue, ...]) -> tuple[ParamValue, ...]:
    """The neighbours of a number in its domain."""
    if not isinstance(old, int) or isinstance(old, bool) or old not in domain:
        return ()
    if not all(isinstance(d, int) and not isinstance(d, bool) for d in domain):
        return ()
    i = domain.index(old)
    return tuple(domain[j] for j in (i - 1, i + 1) if 0 <= j < len(domain))


def delete(v: Variation, parent: Any, x: Vector) -> Draft | None:
    arms = [Option(f"drop:{g.mutator}", x) for g in parent]
    i = v.policy.choose(arms, v.draws)
    return Draft((*parent[:i], *parent[i + 1:]), (parent.key,), "delete", Trace((arms[i],)))


def splice(v: Variation, parent: Any, x: Vector) -> Draft | None:
    """A head of one parent and a tail of another; what the head makes illegal in the tail is dropped."""
    other = v.population.mate(v.draws, parent)
    if other is None or len(other) == 0:
        return None
    head, tail = v.draws.below(len(parent) + 1), v.draws.below(len(other))
    genome: Genome = tuple(parent[:head])
    for g in other[tail:]:
        genome = put(genome, g)
    return Draft(genome[: v.horizon], (parent.key, other.key), "splice", Trace())


def exchange(v: Variation, parent: Any, x: Vector) -> Draft | None:
    """Uniform crossover of the parameters of two members of one skeleton."""
    other = v.population.sibling(v.draws, parent)
    if other is None:
        return None
    pool: dict[tuple[str, str], list[Gene]] = {}
    for g in other:
        pool.setdefault((g.mutator, g.site), []).append(g)
    genes = []
    for g in parent:
        theirs = pool[(g.mutator, g.site)].pop(0).as_dict()
        mixed = {n: theirs[n] if n in theirs and v.draws.uniform() < 0.5 else x for n, x in g.params}
        genes.append(Gene.make(g.mutator, g.site, **mixed))
    return Draft(tuple(genes), (parent.key, other.key), "exchange", Trace(), len(parent))


def swap(v: Variation, parent: Any, x: Vector) -> Draft | None:
    i, j = sorted(v.draws.sample(range(len(parent)), 2))
    genes = list(parent)
    genes[i], genes[j] = genes[j], genes[i]
    return Draft(tuple(genes), (parent.key,), "swap", Trace())


OPERATORS: dict[str, Callable[..., Draft | None]] = {
    "append": append, "sketch": sketch, "replace": replace, "reparameterise": reparameterise, "delete": delete,
    "splice": splice, "exchange": exchange, "swap": swap,
}
