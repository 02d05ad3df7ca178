"""The benchmarks of the evaluator's promises, short; the long ones run in ``make nightly``."""

from __future__ import annotations

from argparse import ArgumentParser
from concurrent.futures import Future
from typing import Any

import pytest

from benchmarks import _clones, _kill, _soak
from gpu.child import Child
from gpu.engine import MAX_FAILURES, Engine, Pool, Task


def run(module: Any, *args: str) -> dict[str, Any]:
    parser = ArgumentParser()
    module.add(parser)
    found: dict[str, Any] = module.run(parser.parse_args(args), "opencl")
    return found


def test_no_clone_wins() -> None:
    found = run(_clones, "--count", "5", "--size", "64")
    assert not found["broken"] and found["winners"] == [] and found["confirmed"] == 5, found


def test_soak(capsys: pytest.CaptureFixture[str]) -> None:
    """Crashes, hangs, wrong results and writes out of bounds among good candidates."""
    found = run(_soak, "--count", "40", "--seed", "1")
    assert not found["broken"], capsys.readouterr().out
    assert found["kinds"] == {"good": 30, "crash": 4, "hang": 2, "wrong": 2, "out of bounds": 2}


def test_kill() -> None:
    found = run(_kill, "--count", "10")
    assert not found["broken"], found
    assert found["killed"] == {"worker": 4, "compiler": 4, "parent": 2} and len(found["open_at_kill"]) == 2


def test_children_that_cannot_start_end_the_evaluator() -> None:
    """Not one candidate after the other."""
    started: list[Child] = []

    def start(_: int) -> Child:
        started.append(Child("no such role", None))
        return started[-1]

    pool = Pool("device", 1, start)
    engine = Engine([pool])
    try:
        answers = [Future[Any]() for _ in range(2)]
        for answer in answers:
            task = Task({"op": "measure"}, lambda reply, facts, to=answer: to.set_result(reply))  # type: ignore[misc]
            engine.call(lambda t=task: engine.add(pool, t))  # type: ignore[misc]
        for answer in answers:
            kind, why = answer.result(timeout=30.0)
            assert kind == "failed" and why.startswith("the device process cannot be started: ended with exit code 1")
        assert engine.broken and len(started) == MAX_FAILURES
    finally:
        engine.close()
