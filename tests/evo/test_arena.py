"""Rounds, shares, elimination, migration and restart."""

from __future__ import annotations

import random

import pytest

from evo.search.agents import Agent
from evo.search.arena import STALE, Arena
from evo.search.draws import Draws
from evo.search.population import make_individual
from evo.search.significance import mann_whitney_less
from evo.search.strategies import STRATEGIES, Strategy, load_strategy, strategies, strategy_state, varied
from genome.gene import Gene
from mutators.catalogue import CATALOGUE
from tests.evo.landscape import Landscape

OBJECTIVES = ("latency", "registers")


def arena(count: int) -> Arena:
    def spawn(s: Strategy) -> Agent:
        return Agent(s, Landscape(), OBJECTIVES, 0)
    return Arena([spawn(s) for s in strategies(count)], Draws(0, "arena"), spawn)


def give(agent: Agent, key: str, gain: float) -> None:
    agent.population.add(make_individual(OBJECTIVES, key, (Gene.make("A", key),), gain, (-gain, 30)))


def play_round(a: Arena, level: dict[str, float], rng: random.Random) -> list[str]:
    """Eight verified candidates for each agent around its level; the kinds of events that the round ended with."""
    for agent in list(a.agents):
        for _ in range(8):
            value = max(0.0, level.get(agent.name, 0.5) + rng.gauss(0, 0.1))
            a.record(agent, True, False, 0.5, value)
            give(agent, f"{agent.name}{rng.random()}", value)
    assert a.round_over()
    return [e.kind for e in a.end_round()]


def test_a_round_needs_eight_verified_candidates_of_each_agent() -> None:
    a = arena(2)
    for _ in range(7):
        for agent in a.agents:
            a.record(agent, True, False, 0.1, 0.0)
    assert not a.round_over()
    a.record(a.agents[0], True, False, 0.1, 0.0)
    assert not a.round_over()
    a.record(a.agents[1], True, False, 0.1, 0.0)
    assert a.round_over()


def test_an_agent_that_only_fails_cannot_hold_the_round_up() -> None:
    a = arena(2)
    for _ in range(8):
        a.record(a.agents[0], True, False, 0.1, 0.0)
    for _ in range(24):
        assert not a.round_over()
        a.record(a.agents[1], False, True, 1.0, 0.0)
    assert a.round_over()


def test_a_significantly_worse_agent_is_replaced_by_a_varied_clone_but_not_before_two_rounds() -> None:
    a, rng = arena(3), random.Random(0)
    names = [x.name for x in a.agents]
    level = {names[0]: 1.0, names[1]: 0.9, names[2]: 0.1}
    assert "eliminated" not in play_round(a, level, rng)
    assert "eliminated" in play_round(a, level, rng)
    now = [x.name for x in a.agents]
    assert names[2] not in now and len(now) == 3
    child = next(x for x in a.agents if x.name not in names)
    assert child.strategy.name.startswith(names[0].split("#")[0]) and len(child.population) > 0
    assert child.rounds == 0, "a newcomer is not judged at once"
    assert sum(a.next_agents(30).values()) == 30 and a.next_agents(30)[child.name] > 0


def test_equal_agents_stay() -> None:
    gone = 0
    for seed in range(20):
        a, rng = arena(4), random.Random(seed)
        for _ in range(4):
            gone += "eliminated" in play_round(a, {}, rng)
    assert gone <= 8, "5 % a test, and the best differ by chance too"


def test_failures_and_device_time_count_against_an_agent() -> None:
    a = arena(2)
    one, two = a.agents
    for _ in range(3):
        for _ in range(8):
            a.record(one, True, False, 0.1, 0.5)
            a.record(two, True, False, 5.0, 0.5)
        give(one, f"a{a.index}", 0.52)
        give(two, f"b{a.index}", 0.50)
        kinds = [e.kind for e in a.end_round()]
    assert two not in a.agents or "eliminated" in kinds


def test_one_agent_alone_works() -> None:
    a, rng = arena(1), random.Random(0)
    assert [x.name for x in a.agents] == ["solo"]
    for _ in range(4):
        assert play_round(a, {}, rng) == ["round"]
    assert a.shares() == {"solo": 1.0} and a.next_agents(8) == {"solo": 8}


def test_the_best_migrates_to_those_behind() -> None:
    a = arena(3)
    give(a.agents[0], "top", 1.5)
    give(a.agents[1], "near", 1.47)
    give(a.agents[2], "far", 0.3)
    events = a.end_round()
    assert [(e.agent, e.data["key"]) for e in events if e.kind == "migrated"] == [(a.agents[2].name, "top")]
    assert a.agents[2].best == 1.5


def test_a_converged_agent_restarts_from_its_best_two_and_the_baseline() -> None:
    a = arena(1)
    agent = a.agents[0]
    agent.population.add(make_individual(OBJECTIVES, "baseline", (), 0.0, (0.0, 30)))
    for i in range(10):
        give(agent, f"c{i}", i / 10)
    agent.stale = STALE
    assert "restarted" in [e.kind for e in a.end_round()]
    assert {m.key for m in agent.population.members} == {"c9", "c8", "baseline"}
    assert agent.stale == 0


def test_shares_favour_the_strong_and_starve_nobody() -> None:
    a = arena(6)
    give(a.agents[2], "top", 2.0)
    shares = a.shares()
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares[a.agents[2].name] == max(shares.values()) and min(shares.values()) > 0.1
    places = a.next_agents(200)
    for name, share in shares.items():
        assert places[name] == pytest.approx(200 * share, abs=2)


def test_the_named_strategies_are_six_and_name_real_mutators() -> None:
    assert [s.name for s in STRATEGIES] == ["block-first", "loads-first", "tiles-first", "registers-first",
                                            "latency-hiding", "explorer"]
    for s in STRATEGIES:
        assert s.summary and set(s.mutators) <= set(CATALOGUE), s.name
    assert len({s.name for s in strategies(15)}) == 15


def test_a_varied_strategy_differs_and_survives_its_state() -> None:
    v = varied(STRATEGIES[0], "block-first#7", Draws(1))
    assert v.temperature != STRATEGIES[0].temperature and v.name == "block-first#7"
    assert load_strategy(strategy_state(v)) == v


def test_the_rank_test_agrees_with_scipy() -> None:
    from scipy.stats import mannwhitneyu
    rng = random.Random(2)
    for shift in (0.0, 0.3, 1.0):
        a = [round(rng.gauss(0, 1), 1) for _ in range(30)]
        b = [round(rng.gauss(shift, 1), 1) for _ in range(25)]
        want = float(mannwhitneyu(a, b, alternative="less", method="asymptotic").pvalue)
        assert mann_whitney_less(a, b) == pytest.approx(want, rel=1e-6)
    assert mann_whitney_less([], [1.0]) == mann_whitney_less([1.0, 1.0], [1.0]) == 1.0
