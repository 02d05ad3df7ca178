"""Where the device's time goes: nested phases, differences, shares."""

from __future__ import annotations

import math

import pytest

from gpu import confirm
from gpu.ledger import OTHER, STARVED, TIME, VERIFY, WAITED, Account, Ledger


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now

    def tick(self) -> str:
        self.now += 128.0
        return "right"


def test_time_belongs_to_the_innermost_phase() -> None:
    clock = Clock()
    ledger = Ledger(clock)
    clock.now = 5.0  # nobody's
    with ledger.phase(OTHER):
        clock.now += 1.0
        with ledger.phase(TIME):
            clock.now += 2.0
            with ledger.phase(VERIFY):
                clock.now += 4.0
            clock.now += 8.0
            assert ledger.during(VERIFY, clock.tick)() == "right"
        with pytest.raises(RuntimeError), ledger.phase(VERIFY):
            clock.now += 16.0
            raise RuntimeError
        clock.now += 32.0
        assert ledger.take() == {OTHER: 33.0, TIME: 10.0, VERIFY: 148.0}
        clock.now += 64.0
    assert ledger.take() == {OTHER: 64.0}


def test_shares_come_from_differences() -> None:
    first = Account().plus({VERIFY: 30.0, TIME: 10.0, OTHER: 1.0})
    second = first.plus({VERIFY: 2.0, TIME: 6.0, OTHER: 1.0, WAITED: 1.0, STARVED: 10.0})
    assert (first.verify_share, first.idle_share, first.busy) == (0.75, 0.0, 41.0)
    between = second.since(first)
    assert between.candidates == 1
    assert (between.verify_share, between.idle_share, between.busy) == (0.25, 0.05, 9.0)
    assert Account().verify_share == Account().idle_share == 0.0 and Account().line() == ""
    assert between.line() == ("Device: verification took 25 % of verifying and timing; it waited 5 % of the time "
                              "although a compiled candidate was there.")


@pytest.mark.parametrize(("left", "one", "rounds"), [
    (math.inf, 0.1, 8), (0.35, 0.1, 3), (0.5, 0.1, 5), (0.0, 0.1, 3), (-9.0, 0.1, 3), (math.inf, 0.0, 8)])
def test_a_trial_takes_as_many_rounds_as_fit(left: float, one: float, rounds: int) -> None:
    assert confirm.fitting(8, left, one) == rounds
    assert confirm.fitting(2, left, one) == 2
