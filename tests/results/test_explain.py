from __future__ import annotations

import json
import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genome.gene import Gene, Genome
from results.explain import Ladder, ladder, minimise

GENES = [Gene.make(f"M{i}", "s", n=i) for i in range(8)]


class Lab:
    """Programs are genomes; each gene has a factor on the time, and some need another gene before them."""

    def __init__(self, factors: Sequence[float], needs: dict[int, int] | None = None) -> None:
        self.factors, self.needs, self.batches = factors, needs or {}, 0
        self.seen: list[Genome] = []

    def express(self, genome: Genome) -> Genome | None:
        numbers = [GENES.index(g) for g in genome]
        legal = all(self.needs.get(n) is None or self.needs[n] in numbers[:i] for i, n in enumerate(numbers))
        return genome if legal else None

    def time(self, genome: Genome) -> float:
        return 8e-3 * math.prod(self.factors[GENES.index(g)] for g in genome)

    def measure(self, programs: Sequence[Genome]) -> list[float | None]:
        self.batches += 1
        self.seen += programs
        return [self.time(p) for p in programs]


factor_lists = st.lists(st.sampled_from([0.25, 0.5, 0.9, 0.999, 1.0, 1.001, 1.2]), min_size=1, max_size=8)


@given(factor_lists)
def test_minimal_genome_is_as_fast_and_no_gene_can_go(factors: list[float]) -> None:
    lab, genome = Lab(factors), tuple(GENES[:len(factors)])
    short = minimise(genome, lab.express, lab.measure)
    bound = lab.time(genome) * 1.02
    assert lab.time(short) <= bound
    assert [g for g in genome if g in short] == list(short)
    assert all(lab.time(short[:i] + short[i + 1:]) > bound for i in range(len(short)))
    assert len(set(lab.seen)) == len(lab.seen)  # nothing is measured twice


@given(factor_lists)
def test_ladder_multiplies_up_to_the_whole_gain(factors: list[float]) -> None:
    lab, genome = Lab(factors), tuple(GENES[:len(factors)])
    steps = ladder(genome, lab.express, lab.measure)
    assert steps.steps[0].seconds == 8e-3 and steps.steps[0].genes == ()
    assert math.prod(s.factor for s in steps.steps) == pytest.approx(steps.speedup)
    assert sorted((*steps.genome, *steps.dropped), key=str) == sorted(genome, key=str)
    assert steps.measured == len(lab.seen)
    assert Ladder.from_dict(json.loads(json.dumps(steps.as_dict()))) == steps


def test_many_idle_genes_go_in_few_measurements() -> None:
    lab = Lab([0.5] + [1.0] * 7)
    assert minimise(tuple(GENES), lab.express, lab.measure) == (GENES[0],)
    assert len(lab.seen) <= 11  # 1 whole, 8 single, 1 for all seven, 1 last


def test_small_losses_do_not_add_up() -> None:
    lab = Lab([0.985] * 8)  # each alone is within the tolerance, all together are 13 %
    short = minimise(tuple(GENES), lab.express, lab.measure)
    assert len(short) == 7


def test_an_enabling_gene_stays() -> None:
    lab = Lab([1.1, 0.2], needs={1: 0})
    result = ladder((GENES[0], GENES[1]), lab.express, lab.measure)
    assert [s.genes for s in result.steps] == [(), (GENES[0],), (GENES[1],)]
    assert [round(s.factor, 3) for s in result.steps] == [1.0, 0.909, 5.0]
    assert result.dropped == ()


def test_a_prefix_that_cannot_be_measured_joins_the_next_step() -> None:
    class Failing(Lab):
        def measure(self, programs: Sequence[Genome]) -> list[float | None]:
            return [None if p == (GENES[0],) else t for p, t in zip(programs, super().measure(programs), strict=True)]

    lab = Failing([0.5, 0.5])
    result = ladder((GENES[0], GENES[1]), lab.express, lab.measure)
    assert [s.genes for s in result.steps] == [(), (GENES[0], GENES[1])]
    assert result.speedup == pytest.approx(4.0)


def test_without_a_baseline_there_is_no_ladder() -> None:
    lab = Lab([0.5])
    with pytest.raises(ValueError, match="the baseline cannot"):
        ladder((GENES[0],), lab.express, lambda ps: [math.nan if p == () else 1.0 for p in ps])
    with pytest.raises(ValueError, match="the genome cannot"):
        ladder((GENES[1],), Lab([1.0, 1.0], needs={1: 0}).express, lab.measure)


def test_programs_with_one_key_are_measured_once() -> None:
    class Program:
        key = "same"

    calls: list[int] = []

    def measure(programs: Sequence[Program]) -> list[float]:
        calls.append(len(programs))
        return [1.0] * len(programs)

    result = ladder((GENES[0], GENES[1]), lambda g: Program(), measure)
    assert result.genome == () and calls == [1]
