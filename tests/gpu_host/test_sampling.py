"""How many launches a candidate is given: few when it cannot win, all when it might."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from gpu.interface import EvaluatorOptions
from gpu.timing import behind, measure

OPTIONS = EvaluatorOptions(samples=7, min_time=0.02)


class Clock:
    """A session on which every runner is the list of the times that it will take."""

    def __init__(self) -> None:
        self.info = SimpleNamespace(backend="cuda")
        self.host_seconds = 0.0
        self.launches = 0

    def flush_cache(self) -> None: ...

    def state(self) -> None:
        """It tells nothing of its clocks."""

    def time(self, runner: list[float], repeat: int = 1) -> float:
        self.launches += 1
        self.host_seconds = runner[0] * repeat
        return runner.pop(0) if len(runner) > 1 else runner[0]


def taken(times: Iterable[float], first: float, best: float, champion: float = 0.0) -> tuple[Any, int]:
    session = Clock()
    bench: Any = SimpleNamespace(session=session, needs_restore=False, size="N", reset=lambda pattern: None)
    runner: Any = list(times)
    rival: Any = [champion] if champion else None
    return measure(bench, runner, OPTIONS, first, best, rival), session.launches


def test_a_hopeless_candidate_costs_one_more_launch_when_it_agrees_with_the_checked_one() -> None:
    timing, launches = taken([0.030], 0.031, 0.010, 0.010)
    assert launches == 1 and sorted(timing.samples) == [0.030, 0.031]


def test_where_the_two_disagree_more_are_taken() -> None:
    timing, launches = taken([0.030], 0.090, 0.010)  # the first one loaded the code
    assert launches == 3 and list(timing.samples) == [0.030] * 3


def test_a_short_kernel_gets_all_its_samples_until_its_time_is_spent() -> None:
    timing, launches = taken([0.0030], 0.0030, 0.0010)
    assert launches == 7 and len(timing.samples) == 7  # 21 ms


@pytest.mark.parametrize(("own", "count"), [(0.0104, 3), (0.0101, 7), (0.0099, 7)])
def test_clearly_behind_the_champion_beside_it_is_enough(own: float, count: int) -> None:
    timing, _ = taken([own], own, 0.010, 0.010)
    assert len(timing.samples) == count


def test_behind() -> None:
    assert behind([1.03, 1.05, 1.04], [1.0, 1.005])
    assert not behind([1.03, 1.01, 1.04], [1.0, 1.005]), "one sample is near"
    assert not behind([1.03, 1.05, 1.04], [1.0]), "one of the champion's tells nothing of its spread"
    assert not behind([1.03, float("nan"), 1.04], [1.0, 1.0])
