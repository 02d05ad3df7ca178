"""Random legal genomes: half of uniformly drawn genes, half of a sketch with further random genes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random

from genome.errors import Refusal
from genome.gene import Gene, Genome, ParamValue
from genome.scheduled import Scheduled
from mutators.catalogue import CATALOGUE
from mutators.sketches import sketches

LONGEST = 14
WILD = 0.15


@dataclass
class Drawn:
    """``genome`` holds the effective genes only; ``refusals`` counts codes of the others."""

    genome: Genome
    state: Scheduled
    refusals: Counter[str] = field(default_factory=Counter)
    sketch: str = ""


def draw(base: Scheduled, rng: Random, longest: int = LONGEST) -> Drawn:
    """One genome of 1 to ``longest`` effective genes where the kernel allows so many."""
    drawn = Drawn((), base)
    want = rng.randint(1, longest)
    if rng.random() < 0.5:
        known = sketches(base)
        if known:
            sketch = rng.choice(known)
            drawn.sketch = sketch.name
            for gene in sketch.expand(rng):
                _try(drawn, gene)
    for _ in range(6 * want):
        if len(drawn.genome) >= want:
            break
        gene = random_gene(drawn.state, rng)
        if gene is None or (any((g.mutator, g.site) == (gene.mutator, gene.site) for g in drawn.genome)
                            and rng.random() < 0.8):
            continue  # another value for what is set already hides the first
        _try(drawn, gene)
    return drawn


def random_gene(state: Scheduled, rng: Random) -> Gene | None:
    mutator = CATALOGUE[rng.choice(list(CATALOGUE))]
    sites = mutator.sites(state)
    if not sites:
        return None
    site = rng.choice(list(sites)).name
    params = {name: _value(list(values), rng) for name, values in mutator.domain(state, site).items()}
    return Gene.make(mutator.name, site, **params)


def _value(values: list[ParamValue], rng: Random) -> ParamValue:
    """Mostly what search would draw; now and then a number that it would not, for a gene may hold any."""
    value = rng.choice(values)
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < WILD:
        return rng.randint(1, 33)
    return value


def _try(drawn: Drawn, gene: Gene) -> None:
    try:
        drawn.state = applied(drawn.state, gene)
    except Refusal as r:
        drawn.refusals[r.code] += 1
        return
    drawn.genome = (*drawn.genome, gene)


def applied(state: Scheduled, gene: Gene) -> Scheduled:
    """The state after one gene, validated as expression does it; raises :class:`Refusal`."""
    mutator = CATALOGUE[gene.mutator]
    params = gene.as_dict()
    added = mutator.check(state, gene.site, params)
    new = mutator.apply(state, gene.site, params)
    new = new.with_schedule(new.schedule, added)
    new.validate()
    return new
