"""The arena: agents compete under one budget; rounds, shares, migration, elimination, restart."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evo.search.agents import Agent, Tally
from evo.search.draws import Draws
from evo.search.policy import BanditPolicy
from evo.search.significance import mann_whitney_less
from evo.search.strategies import Strategy, varied

VERIFIED = 8  # candidates per agent and round
TRIAL_ROUNDS = 2  # an agent is not judged before
SIGNIFICANCE = 0.05
STALE = 60  # evaluations without an improvement of an agent's own best: it has converged


@dataclass(frozen=True)
class ArenaEvent:
    """Something worth telling: kind is "round", "eliminated", "born", "migrated" or "restarted"."""

    kind: str
    agent: str
    data: dict[str, Any]


class Arena:
    """``spawn`` makes an agent of a strategy (with a fresh policy and an empty population)."""

    def __init__(self, agents: Sequence[Agent], draws: Draws, spawn: Callable[[Strategy], Agent]) -> None:
        self.agents, self.draws, self.spawn = list(agents), draws, spawn
        self.index = 0
        self.evaluated = 0  # in this round
        self.born = len(agents)
        self.credit = {a.name: 0.0 for a in agents}
        self.history: dict[str, list[float]] = {a.name: [] for a in agents}  # rates of the rounds before

    def agent(self, name: str) -> Agent | None:
        return next((a for a in self.agents if a.name == name), None)

    # ------------------------------------------------------------------------------------------------- shares
    def shares(self) -> dict[str, float]:
        """What part of the proposals each agent makes: 70 % equally, the rest by the level of its best against the
        others' (a softmax of gains), so that the weak still get enough to be judged fairly."""
        best = {a.name: a.best for a in self.agents}
        top = max(best.values())
        weight = {n: math.exp((g - top) / 0.3) for n, g in best.items()}
        total = sum(weight.values())
        n = len(self.agents)
        return {a: 0.7 / n + 0.3 * w / total for a, w in weight.items()}

    def next_agents(self, places: int) -> dict[str, int]:
        """Places of the next batch by smooth weighted round robin over the shares."""
        shares = self.shares()
        out = {a.name: 0 for a in self.agents}
        for _ in range(places):
            for n, s in shares.items():
                self.credit[n] = self.credit.get(n, 0.0) + s
            name = max(shares, key=lambda n: self.credit[n])
            self.credit[name] -= 1.0
            out[name] += 1
        return out

    # ------------------------------------------------------------------------------------------------- rounds
    def record(self, agent: Agent, verified: bool, failed: bool, seconds: float, improvement: float) -> None:
        """One evaluation of an agent. ``improvement`` is the lower bound of its gain over the baseline (0 for what
        is not verified or slower); what counts is improvement per device second."""
        t = agent.round
        t.evaluated += 1
        t.verified += verified
        t.failed += failed
        t.device_seconds += seconds
        t.rates.append(max(0.0, improvement) / max(seconds, 1e-3))
        self.evaluated += 1

    def round_over(self) -> bool:
        """Each agent has its verified candidates, or has spent three times that many evaluations (its share), or the
        arena has spent three rounds' worth."""
        if self.evaluated >= 3 * VERIFIED * len(self.agents):
            return True
        return all(a.round.verified >= VERIFIED or a.round.evaluated >= 3 * VERIFIED for a in self.agents)

    def end_round(self) -> list[ArenaEvent]:
        events = [ArenaEvent("round", "", {"round": self.index, "agents": {
            a.name: {"verified": a.round.verified, "evaluated": a.round.evaluated, "failed": a.round.failed,
                     "device_seconds": a.round.device_seconds, "best": a.best}
            for a in self.agents}})]
        for a in self.agents:
            a.rounds += 1
            self.history[a.name] = (self.history.get(a.name, []) + a.round.rates)[-48:]
        events += self._eliminate()
        events += self._migrate()
        events += self._restart()
        for a in self.agents:
            a.round = Tally()
        self.index += 1
        self.evaluated = 0
        return events

    def _eliminate(self) -> list[ArenaEvent]:
        """At most one a round: the weakest, when a one-sided Mann-Whitney test on improvement per device second says
        that it is worse than the strongest, and its best is below the strongest's."""
        judged = [a for a in self.agents if a.rounds >= TRIAL_ROUNDS and len(self.history[a.name]) >= VERIFIED]
        if len(judged) < 2:
            return []
        mean = {a.name: sum(self.history[a.name]) / len(self.history[a.name]) for a in judged}
        strong, weak = max(judged, key=lambda a: mean[a.name]), min(judged, key=lambda a: mean[a.name])
        if strong is weak or weak.best >= strong.best:
            return []
        p = mann_whitney_less(self.history[weak.name], self.history[strong.name])
        if p >= SIGNIFICANCE / (len(judged) - 1):  # the pair was picked among several: Bonferroni
            return []
        winner = max(judged, key=lambda a: a.best)
        child = self._clone(winner)
        self.agents[self.agents.index(weak)] = child
        self.credit.pop(weak.name, None)
        self.history.pop(weak.name, None)
        self.history[child.name] = []
        return [ArenaEvent("eliminated", weak.name, {"against": strong.name, "p": p, "round": self.index}),
                ArenaEvent("born", child.name, {"of": winner.name, "round": self.index})]

    def _clone(self, winner: Agent) -> Agent:
        self.born += 1
        root = winner.strategy.name.split("#")[0]
        child = self.spawn(varied(winner.strategy, f"{root}#{self.born}", self.draws))
        if isinstance(child.policy, BanditPolicy) and isinstance(winner.policy, BanditPolicy):
            child.policy.restore(winner.policy.state())
            child.policy.temperature = child.strategy.temperature
        ranked = sorted(winner.population.members, key=lambda m: -m.gain)
        child.population.members = ranked[: max(2, len(ranked) // 2)]
        child.population.tried = dict(winner.population.tried)
        return child

    def _migrate(self) -> list[ArenaEvent]:
        """The arena's best goes to the agents whose own best is clearly below it (5 %)."""
        leader = max(self.agents, key=lambda a: a.best)
        best = leader.population.best
        if best is None:
            return []
        events = []
        for a in self.agents:
            if a is not leader and a.best < best.gain - 0.05:
                a.population.add(best)
                events.append(ArenaEvent("migrated", a.name, {"key": best.key, "from": leader.name}))
        return events

    def _restart(self) -> list[ArenaEvent]:
        """A converged agent keeps its best two and the baseline, and explores hotter for a while."""
        events = []
        for a in self.agents:
            if a.stale < STALE or len(a.population) < 4:
                continue
            ranked = sorted(a.population.members, key=lambda m: -m.gain)
            keep = {m.key for m in ranked[:2]} | {m.key for m in ranked if len(m) == 0}
            a.population.restart(keep)
            a.stale = 0
            events.append(ArenaEvent("restarted", a.name, {"kept": sorted(keep)}))
        return events

    def state(self) -> dict[str, Any]:
        return {"index": self.index, "evaluated": self.evaluated, "born": self.born, "credit": dict(self.credit),
                "history": {k: list(v) for k, v in self.history.items()}, "draws": self.draws.state(),
                "agents": [a.state() for a in self.agents]}

    def restore(self, state: dict[str, Any]) -> None:
        """All but the agents themselves."""
        self.index, self.evaluated, self.born = state["index"], state["evaluated"], state["born"]
        self.credit, self.history = dict(state["credit"]), {k: list(v) for k, v in state["history"].items()}
        self.draws.restore(state["draws"])
