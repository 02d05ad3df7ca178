"""Positive controls: honest kernels pass the whole evaluator, every time. A gate that rejects good work is as broken as
one that lets bad work in."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu.records import Verdict
from tests.evaluator_rows.judged import opened, programs, verdicts
from tests.evaluator_rows.problems import PROBLEMS


def test_there_are_enough() -> None:
    assert sum(len(p.honest) for p in PROBLEMS.values()) >= 30


@pytest.mark.parametrize("name", PROBLEMS)
def test_honest_kernels_pass(name: str, tmp_path: Path) -> None:
    problem = PROBLEMS[name]
    with opened("opencl", problem, tmp_path) as (evaluator, report):
        assert not any("no check at size" in n for n in report.notes), report.notes
        assert any("float64" in n for n in report.notes) == ("float" in problem.params), report.notes
        found = verdicts(evaluator, programs("opencl", problem, problem.honest))
        for key, evaluation in found.items():
            assert evaluation.verdict == Verdict.OK, (key, evaluation.reason)
            assert evaluation.max_error <= 1.0 and evaluation.timings[0].median > 0
