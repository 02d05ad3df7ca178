"""Sums over layers of blocks: random genomes with a split against the baseline, and races between the launches."""

from __future__ import annotations

from random import Random

import pytest

from benchmarks._draw import applied, draw, random_gene
from benchmarks._judge import Interpreter
from genome.errors import Refusal
from genome.express import emit
from genome.gene import Gene, Genome
from genome.scheduled import Scheduled
from gpu import oclgrind
from mutators.catalogue import CATALOGUE
from tests.helpers.kernels import applied as after
from tests.helpers.kernels import coarsen, example, pipeline, split, stage, tile
from tests.mutators.test_adversarial import NAMES, NOT_INTERPRETED, kernel

FEW = ("syrk", "two_reductions", "bytes", "split_guards", "triangular", "own_point", "unguarded_exact", "only_y",
       "data_dependent_if", "zero_trips", "offset_bounds", "three_operands", "counting_loop", "uniform_guard")


def with_split(base: Scheduled, rng: Random) -> tuple[Scheduled, Genome] | None:
    """A drawn genome that splits a sum, with further genes behind the split; None where no attempt was legal."""
    labels = [s.name for s in CATALOGUE["SplitReduction"].sites(base)]
    for _ in range(12 if labels and base.logical.mapping_refusal is None else 0):
        drawn = draw(base, rng, 8)
        state, genome = drawn.state, drawn.genome
        label = rng.choice(labels)
        genes = [Gene.make("TileLoops", label, size=rng.choice((2, 3, 4, 8, 16))),
                 Gene.make("SplitReduction", label, parts=rng.choice((2, 3, 5, 8)))]
        genes += [g for g in (random_gene(state, rng) for _ in range(3)) if g is not None]
        for gene in genes:
            try:
                state, genome = applied(state, gene), (*genome, gene)
            except Refusal:
                continue
        if state.schedule.split is not None:
            return state, genome
    return None


def compare(name: str, seed: int, count: int) -> int:
    base, judge, done = kernel(name), Interpreter(name), 0
    for i in range(count):
        found = with_split(base, Random(f"{seed}:{i}:{name}"))
        if found is not None:
            wrong = judge.compare(base, *found)
            assert not wrong, str(wrong[0])
            done += 1
    return done


@pytest.mark.parametrize("name", FEW)
def test_random_genomes_with_a_split(name: str) -> None:
    assert compare(name, 3, 2) > 0


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", sorted(set(NAMES) - NOT_INTERPRETED))
def test_many_random_genomes_with_a_split(name: str) -> None:
    compare(name, 4, 25)


@pytest.mark.parametrize(("name", "genes"), [
    ("sgemm", (coarsen("x", 2), tile("k", 4), stage("A", "k.o"), stage("B", "k.o"), pipeline("k.o", 2), split("k", 3))),
    ("sgemm_wrong_axes", (tile("k", 8), stage("B", "k.o", "10", 1), split("k", 2)))])
def test_neither_races_nor_reads_of_what_nobody_wrote(name: str, genes: Genome) -> None:
    state = after(example(name, "opencl"), *genes)
    size = state.workload.tune[0]
    tiny = type(size)(tuple((n, v) for (n, _), v in zip(size.values, (19, 21, 29), strict=True)))
    assert oclgrind.check(emit(state, "opencl"), state.workload, tiny) == []
