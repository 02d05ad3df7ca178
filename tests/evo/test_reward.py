"""Each term of the reward on its own, then the whole."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from evo.search import reward as r
from evo.search.reward import Outcome, Step, Weights
from genome.errors import InputError
from gpu.records import Verdict


def step(parent: float = 1.0, child: float = 1.0, **changes: object) -> Step:
    return Step(Outcome(times=(parent,)), Outcome(times=(child,), **changes))  # type: ignore[arg-type]


def test_twice_as_fast_earns_ln_two_and_twice_as_slow_costs_it() -> None:
    assert r.speed(step(2.0, 1.0)) == pytest.approx(math.log(2))
    assert r.speed(step(1.0, 1.5)) == pytest.approx(-math.log(1.5))


def test_speed_is_clipped_on_both_sides() -> None:
    assert r.speed(step(100.0, 1.0)) == 1.4
    assert r.speed(step(1.0, 100.0)) == -0.7


def test_sizes_count_by_weighted_mean_of_logarithms() -> None:
    s = Step(Outcome(times=(4.0, 1.0)), Outcome(times=(1.0, 2.0)), sizes=(3.0, 1.0))
    assert r.speed(s) == pytest.approx((3 * math.log(4) - math.log(2)) / 4)


def test_sizes_that_were_not_reached_are_left_out() -> None:
    assert r.log_speedup((2.0, 8.0), (1.0,), (1.0, 5.0)) == pytest.approx(math.log(2))
    with pytest.raises(ValueError):
        r.log_speedup((), (1.0,), (1.0,))


def test_noise_counts_only_where_it_grew() -> None:
    noisy = Step(Outcome(times=(1.0,), cv=0.02), Outcome(times=(1.0,), cv=0.05), weights=Weights(noise=2.0))
    assert r.noise(noisy) == pytest.approx(0.06)
    assert r.noise(Step(Outcome(cv=0.05), Outcome(cv=0.02))) == 0.0


def test_spills_count_where_they_appear_not_where_they_stay() -> None:
    assert r.spill(step(spill_bytes=4)) == Weights().spill
    assert r.spill(Step(Outcome(spill_bytes=8), Outcome(spill_bytes=64))) == 0.0


def test_overrun_is_proportional() -> None:
    assert r.overrun(step(overrun=0.4)) == pytest.approx(0.4 * Weights().overrun)
    assert r.overrun(step(overrun=-1.0)) == 0.0


def test_shaping_telescopes_along_a_lineage_for_gamma_one() -> None:
    w = Weights(gamma=1.0)
    phi = (0.1, 0.5, 0.2, 0.9)
    total = sum(r.shaping(Step(Outcome(potential=a), Outcome(potential=b), weights=w))
                for a, b in zip(phi, phi[1:], strict=False))
    assert total == pytest.approx(phi[-1] - phi[0])


@pytest.mark.parametrize("verdict", [v for v in Verdict if v not in (Verdict.OK, Verdict.REFUSED, Verdict.DUPLICATE,
                                                                    Verdict.ABORTED_SLOW, Verdict.OVER_LIMITS)])
def test_what_cost_something_and_gave_nothing_costs_a_half(verdict: Verdict) -> None:
    assert r.reward(Step(Outcome(times=(1.0,)), Outcome(verdict))) == -0.5


def test_a_refusal_is_free() -> None:
    assert r.reward(Step(Outcome(times=(1.0,)), Outcome(Verdict.REFUSED))) == 0.0


def test_over_the_limits_is_charged_by_how_much_but_never_more_than_a_failure() -> None:
    def over(by: float) -> float:
        return r.reward(Step(Outcome(times=(1.0,)), Outcome(Verdict.OVER_LIMITS, overrun=by)))
    assert -0.5 < over(0.1) < 0.0
    assert over(50.0) == -0.5 == over(0.0)


@pytest.mark.parametrize("time", [0.0, -1.0, math.nan, math.inf])
def test_an_invalid_time_is_a_failure_never_a_fast_candidate(time: float) -> None:
    assert r.reward(step(1.0, time)) == -0.5


def test_the_whole_is_the_sum_of_its_terms() -> None:
    s = Step(Outcome(times=(2.0,), cv=0.01, potential=0.1),
             Outcome(times=(1.0,), cv=0.03, spill_bytes=4, overrun=0.2, potential=0.4))
    want = math.log(2) - 0.02 - 0.1 - 0.1 + 0.95 * 0.4 - 0.1
    assert r.reward(s) == pytest.approx(want)


def test_a_candidate_that_was_given_up_keeps_its_sample() -> None:
    s = Step(Outcome(times=(1.0,)), Outcome(Verdict.ABORTED_SLOW, times=(1.5,)))
    assert r.reward(s) == pytest.approx(-math.log(1.5))


def test_the_champions_bonus_fades_along_its_lineage() -> None:
    assert r.lineage_shares(Weights(bonus=0.4, fade=0.5, steps_back=3)) == pytest.approx((0.4, 0.2, 0.1))


def test_potential_grows_with_bytes_saved_and_coalescing() -> None:
    base = {"bytes": 100.0, "coalescing": 0.1}
    assert r.potential({"bytes": 25.0, "coalescing": 0.1}, base) > r.potential(base, base)
    assert r.potential({"bytes": 100.0, "coalescing": 1.0}, base) > r.potential(base, base)
    assert r.potential({}, {}) == 0.0
    assert math.isfinite(r.potential({"bytes": math.inf, "coalescing": math.nan}, base))


def test_the_users_own_reward_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "my_own_reward.py").write_text("def mine(step):\n    return 42.0\nnumber = 3\n")
    assert r.load_reward("my_own_reward:mine", str(tmp_path))(step()) == 42.0
    assert r.load_reward("default") is r.reward


@pytest.mark.parametrize("name", ["nowhere:f", "math", "math:nosuch", "math:pi", ":f"])
def test_a_reward_that_cannot_be_loaded_is_one_clear_line(name: str) -> None:
    with pytest.raises(InputError) as e:
        r.load_reward(name)
    assert name.split(":")[0] in str(e.value) and "\n" not in str(e.value)
