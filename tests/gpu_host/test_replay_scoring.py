"""The score of a search on a recorded space, against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gpu.replay.scoring import Scorer


def test_random_search_by_rank() -> None:
    s = Scorer(range(1, 100))  # 99 times; worst first, the time of rank k is 100 - k
    assert s.random(1) == 50.0  # round(100/2)
    assert s.random(3) == 25.0
    assert s.random(9) == 10.0
    assert s.random(10**6) == 1.0
    assert s.optimum == 1.0 and s.worst == 99.0


def test_the_cut() -> None:
    s = Scorer(range(1, 100))  # the median is 50, so 95 % of the way to 1 is 3.45: rank 97 of round(100n/(n+1))
    assert s.random(s.cut) <= 3.45 < s.random(s.cut - 1)
    assert s.cut == 28 and s.length == 28


def test_failures_count_and_the_worst_stands_before_the_first_valid_one() -> None:
    s = Scorer([1.0, 2.0, 4.0])
    assert s.best_so_far([None, 4.0, None, 1.0, 2.0], 6).tolist() == [4.0, 4.0, 4.0, 1.0, 1.0, 1.0]


def test_ends_of_the_scale() -> None:
    s = Scorer(np.linspace(1.0, 9.0, 401))
    assert s.score([s.best_so_far([1.0])]) == pytest.approx(1.0)
    random = np.asarray([s.random(n) for n in range(1, 201)])
    assert s.score([random]) == pytest.approx(0.0)
    assert s.score([s.best_so_far([9.0])]) < 0.0


def test_the_mean_is_taken_before_the_score() -> None:
    s = Scorer(np.linspace(1.0, 9.0, 401))
    a, b = s.best_so_far([1.0]), s.best_so_far([5.0])
    assert s.score([a, b]) == pytest.approx(s.score([(a + b) / 2.0]))


def test_fractions_are_medians_over_seeds() -> None:
    s = Scorer([1.0, 2.0, 4.0])
    curves = [s.best_so_far(t) for t in ([4.0, 2.0], [4.0, 1.0], [2.0, 2.0])]
    assert s.fraction(curves, 1) == 0.25 and s.fraction(curves, 2) == 0.5


def test_even_draws_score_near_zero() -> None:
    """Random order of a smooth space: calculated random search is nearly its expectation."""
    times = np.exp(np.random.default_rng(1).normal(size=2000))
    s = Scorer(times)
    curves = [s.best_so_far(np.random.default_rng(i).permutation(times)[:200]) for i in range(200)]
    assert abs(s.score(curves)) < 0.15
