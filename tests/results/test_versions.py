"""The fewest versions whose best times are nearly those of all."""

from __future__ import annotations

import math

import pytest

from results.versions import choose


def test_one_version_that_is_nearly_best_everywhere_is_enough() -> None:
    times = {"a": [1.0, 1.0], "b": [0.995, 2.0], "c": [2.0, 0.995]}
    assert choose(times, [1.0, 1.0]) == [("a", (0, 1))]


def test_specialists_are_kept_in_the_order_of_their_sizes() -> None:
    times = {"small": [1.0, 9.0, 9.0], "large": [5.0, 2.0, 2.0], "middle": [3.0, 3.0, 3.0]}
    assert choose(times, [1.0, 1.0, 1.0]) == [("small", (0,)), ("large", (1, 2))]


def test_what_fails_at_a_size_is_never_chosen_there() -> None:
    times = {"fast": [0.1, math.inf], "right": [1.0, 1.0]}
    assert choose(times, [1.0, 1.0]) == [("fast", (0,)), ("right", (1,))]
    with pytest.raises(ValueError, match="run at every size"):
        choose({"a": [1.0, math.inf], "b": [math.inf, math.inf]}, [1.0, 1.0])


def test_the_number_is_bounded_and_weights_decide() -> None:
    times = {f"v{i}": [1.0 if i == k else 2.0 for k in range(12)] for i in range(12)}
    assert len(choose(times, [1.0] * 12, most=3)) == 3
    heavy = choose(times, [10.0 if k == 7 else 1.0 for k in range(12)], most=1)
    assert heavy == [("v7", tuple(range(12)))]
