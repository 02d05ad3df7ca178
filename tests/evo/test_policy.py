"""The bandit finds the better arm where chance does not; its state survives a round trip."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from evo.search import context
from evo.search.context import Situation, vector
from evo.search.draws import Draws
from evo.search.policy import BanditPolicy, Option, Policy, Trace, UniformPolicy, ValueChoice
from evo.search.posterior import LinearPosterior
from evo.search.values import ValueModel, neighbours
from mutators.base import Direction

BLANK = Situation({})


def play(policy: Policy, mean: Callable[[str, np.ndarray, int], float], steps: int, seed: int = 1) -> float:
    """Mean reward of the last half; the context has one feature (threads) that is high or low by chance."""
    draws, noise = Draws(seed), Draws(seed, "noise")
    total = 0.0
    for t in range(steps):
        x = vector(Situation({"threads": 1024.0 if noise.uniform() < 0.5 else 16.0}))
        arms = [Option(f"mutator:{a}", x) for a in "abcdefgh"]
        i = policy.choose(arms, draws)
        reward = mean(arms[i].name[-1], x, t) + 0.2 * noise.gauss()
        policy.learn(Trace((arms[i],)), reward)
        total += reward if t >= steps // 2 else 0.0
    return total / (steps - steps // 2)


def constant(arm: str, x: np.ndarray, t: int) -> float:
    return 0.5 if arm == "f" else 0.0


def contextual(arm: str, x: np.ndarray, t: int) -> float:
    big = x[context.NAMES.index("threads")] > 0
    return 0.5 if arm == ("b" if big else "g") else 0.0


def moving(arm: str, x: np.ndarray, t: int) -> float:
    return 0.5 if arm == ("c" if t < 250 else "e") else 0.0


@pytest.mark.parametrize("problem", [constant, contextual, moving])
def test_the_bandit_beats_chance_by_far(problem: Callable[[str, np.ndarray, int], float]) -> None:
    bandit = [play(BanditPolicy(discount=0.99), problem, 500, seed) for seed in range(4)]
    chance = [play(UniformPolicy(), problem, 500, seed) for seed in range(4)]
    assert np.mean(bandit) > 0.3
    assert np.mean(chance) < 0.12


def test_priors_lean_the_first_choices() -> None:
    x = vector(BLANK)
    arms = [Option("mutator:a", x), Option("mutator:b", x)]
    picked = [BanditPolicy(priors={"mutator:b": 1.5}).choose(arms, Draws(s)) for s in range(100)]
    assert sum(picked) > 80


def test_a_refused_arm_is_avoided_without_its_reward_being_touched() -> None:
    policy, x = BanditPolicy(), vector(BLANK)
    arms = [Option("mutator:a", x), Option("mutator:b", x)]
    for _ in range(30):
        policy.refused(Trace((Option("direction:d", x), arms[0])))
    draws = Draws(0)
    picked = [policy.choose(arms, draws) for _ in range(300)]
    assert sum(picked) > 180
    assert policy.legality(arms[0]) < 0.3 and policy.legality(arms[1]) == 1.0
    assert policy.legality(Option("direction:d", x)) == 1.0, "the direction is not to blame"
    assert "mutator:a" not in policy.arms or policy.arms["mutator:a"].count == 0


def test_losses_weigh_less_than_gains() -> None:
    """An arm that is mostly bad and sometimes very good is worth more to a search than one that does nothing."""
    policy, x = BanditPolicy(temperature=0.1), vector(BLANK)
    arms = [Option("operation:safe", x), Option("operation:bold", x)]
    for i in range(60):
        policy.learn(Trace((arms[0],)), 0.0)
        policy.learn(Trace((arms[1],)), 1.0 if i % 5 == 0 else -0.5)
    draws = Draws(0)
    assert sum(policy.choose(arms, draws) for _ in range(100)) > 80


def test_late_credit_raises_an_arm() -> None:
    policy, x = BanditPolicy(), vector(BLANK)
    arm = Option("mutator:a", x)
    policy.learn(Trace((arm,)), 0.0)
    before = policy.arms["mutator:a"].mean(x)
    policy.credit(Trace((arm,)), 0.5)
    assert policy.arms["mutator:a"].mean(x) > before


@pytest.mark.parametrize("kind", [BanditPolicy, UniformPolicy])
def test_a_restored_policy_decides_alike(kind: type) -> None:
    policy = kind()
    play(policy, contextual, 120)
    policy.learn(Trace((), (ValueChoice("m/axis/items", 4, (1, 2, 4, 8)),)), 0.3)
    copy = kind()
    copy.restore(json.loads(json.dumps(policy.state())))
    x = vector(Situation({"threads": 1024.0}))
    arms = [Option(f"mutator:{a}", x) for a in "abcdefgh"]
    for seed in range(50):
        assert policy.choose(arms, Draws(seed)) == copy.choose(arms, Draws(seed))
        assert policy.value("m/axis/items", (1, 2, 4, 8), Draws(seed)) == copy.value("m/axis/items", (1, 2, 4, 8),
                                                                                     Draws(seed))


def test_a_state_of_another_schema_is_not_taken() -> None:
    state = BanditPolicy().state()
    with pytest.raises(ValueError):
        BanditPolicy().restore({**state, "schema": -1})
    with pytest.raises(ValueError):
        BanditPolicy().restore(UniformPolicy().state())
    with pytest.raises(ValueError):
        LinearPosterior(4).restore(LinearPosterior(5).state())


def test_the_posterior_is_the_exact_one() -> None:
    """Against the closed form of Bayesian linear regression with the noise that it estimated."""
    rng = np.random.default_rng(0)
    post = LinearPosterior(3, prior=0.2, discount=1.0)
    xs, ys = rng.normal(size=(40, 3)), rng.normal(size=40)
    for x, y in zip(xs, ys, strict=True):
        post.learn(x, y)
    precision = xs.T @ xs / post.variance + np.diag(post.precision)
    mean = np.linalg.solve(precision, xs.T @ ys / post.variance + post.precision * post.prior)
    probe = np.array([1.0, -0.5, 2.0])
    assert post.mean(probe) == pytest.approx(float(probe @ mean))
    assert post.std(probe) == pytest.approx(float(np.sqrt(probe @ np.linalg.inv(precision) @ probe)))
    draws = np.array([post.sample(rng.standard_normal(3)) @ probe for _ in range(4000)])
    assert draws.std() == pytest.approx(post.std(probe), rel=0.06)


def test_old_observations_fade_and_uncertainty_comes_back() -> None:
    post, x = LinearPosterior(2, discount=0.9), np.array([1.0, 0.0])
    for t in range(50):
        post.learn(x, 1.0, t)
    sure, level = post.std(x, 50), post.mean(x, 50)
    assert post.std(x, 120) > 2 * sure
    assert abs(post.mean(x, 200)) < 0.2 * level


def test_values_learn_and_neighbours_share() -> None:
    model, draws, values = ValueModel(), Draws(0), (1, 2, 4, 8, 16)
    for _ in range(12):
        model.learn("s", 8, values, 0.8)
        model.learn("s", 1, values, -0.8)
    picked = [model.choose("s", values, draws) for _ in range(300)]
    assert picked.count(8) == max(picked.count(v) for v in values)
    assert picked.count(16) > picked.count(1) and picked.count(4) > picked.count(1)


def test_neighbours_only_of_numbers() -> None:
    assert {v for v, _ in neighbours(4, (8, 4, 2))} == {2, 4, 8}
    assert neighbours("b", ("a", "b", "c")) == [("b", 1.0)]
    assert neighbours(True, (True, False)) == [(True, 1.0)]
    assert neighbours((1, 2), ((1, 2), (2, 1))) == [((1, 2), 1.0)]


def test_the_context_has_its_names_and_tolerates_what_is_absent() -> None:
    x = vector(Situation({}), "axis")
    assert x.shape == (context.SIZE,) == (len(context.NAMES),)
    assert x[0] == 1.0 and x[context.NAMES.index("site axis")] == 1.0 and x[context.NAMES.index("site loop")] == 0.0
    wild = vector(Situation({"threads": float("inf"), "coalescing": float("nan"), "shared_bytes": -1.0}, gain=50.0))
    assert np.all(np.isfinite(wild)) and np.all(np.abs(wild) <= 1.5)
    seen = vector(Situation({}, applied={Direction.COMPUTE: 2}))
    assert seen[context.NAMES.index("applied compute throughput")] > 0
