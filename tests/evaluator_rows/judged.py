"""Opens the evaluator for a problem of :mod:`tests.evaluator_rows.problems`, and asks it about kernels."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from genome.program import Program
from gpu.evaluator import LocalEvaluator, open_evaluator
from gpu.interface import EvaluatorOptions, GateReport
from gpu.records import Evaluation
from tests.evaluator_rows.problems import Problem, Way

# Few samples and no early end: these tests ask what is right, not what is fast.
OPTIONS = EvaluatorOptions(samples=3, min_time=0.001, slow_factor=1e9)


@contextmanager
def opened(backend: str, problem: Problem, folder: Path) -> Iterator[tuple[LocalEvaluator, GateReport]]:
    """With the baseline in double precision as the independent reference, where it computes in floating point."""
    baseline = problem.program(backend, problem.baseline)
    double = problem.program(backend, problem.baseline, double=True) if "float" in problem.params else None
    options = replace(OPTIONS, cache_dir=str(folder))
    with open_evaluator(backend, problem.workload, baseline, options, double) as evaluator:
        yield evaluator, evaluator.gate()


def verdicts(evaluator: LocalEvaluator, programs: Mapping[str, Program], limit: float = 240.0) -> dict[str, Evaluation]:
    """One evaluation for each program."""
    for key, program in programs.items():
        evaluator.submit(key, program)
    found: dict[str, Evaluation] = {}
    end = time.monotonic() + limit
    while evaluator.pending() and time.monotonic() < end:
        for evaluation in evaluator.collect(1.0):
            assert evaluation.key not in found, "one verdict each"
            found[evaluation.key] = evaluation
    assert set(found) == set(programs)
    return found


def programs(backend: str, problem: Problem, ways: Mapping[str, Way]) -> dict[str, Program]:
    return {name: problem.program(backend, way) for name, way in ways.items()}
