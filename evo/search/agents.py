"""An agent: a strategy, its own learned policy and its own sub-population."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evo.search.context import Situation, Vector, vector
from evo.search.draws import Draws
from evo.search.policy import BanditPolicy, Policy, UniformPolicy
from evo.search.population import Population
from evo.search.space import Expression, Space
from evo.search.strategies import Strategy, strategy_state
from evo.search.variation import Draft, Variation

CHAIN = 3  # operations in one proposal at most
ATTEMPTS = 12  # drafts that may be refused or known before an agent passes


@dataclass(frozen=True)
class Proposal:
    """A new effective genome with where it came from."""

    agent: str
    draft: Draft
    expression: Expression
    against: str = ""  # key of the member that was to be varied: what the reward compares with


@dataclass
class Tally:
    """What an agent did in the current round and since its birth."""

    verified: int = 0
    evaluated: int = 0
    failed: int = 0
    device_seconds: float = 0.0
    rates: list[float] = field(default_factory=list)  # improvement per device second, one per candidate


class Agent:
    """``situation`` tells the policy how a member of the population looks with the genome of the second argument."""

    def __init__(self, strategy: Strategy, space: Space, objectives: tuple[str, ...], seed: int, *,
                 uniform: bool = False) -> None:
        self.strategy, self.space, self.uniform = strategy, space, uniform
        self.name = strategy.name
        self.draws = Draws(seed, f"agent {strategy.name}")
        self.policy: Policy = UniformPolicy() if uniform else BanditPolicy(
            priors=strategy.priors(), temperature=strategy.temperature)
        self.population = Population(objectives)
        self.round = Tally()
        self.rounds = 0  # rounds lived
        self.stale = 0  # evaluations since its best improved
        self.last = ""  # its latest operation, for the display

    @property
    def best(self) -> float:
        """The gain of its best member; 0 without one."""
        found = self.population.best
        return found.gain if found is not None else 0.0

    def propose(self, known: Callable[[str], bool], situation: Callable[[Any, Any], Situation],
                on_refusal: Callable[[Expression], None]) -> Proposal | None:
        """One new candidate, or None after ``ATTEMPTS`` drafts that were refused or known."""
        v = Variation(self.space, self.policy, self.population, self.draws, self.strategy.horizon)
        for _ in range(ATTEMPTS):
            parent = self.population.parent(self.draws, self.strategy.elitism)
            x = vector(situation(parent, parent))
            made = self._step(v, parent, x, on_refusal)
            while made is not None and made[0].operation.count("+") < CHAIN - 1 \
                    and self.draws.uniform() < self.strategy.chain:
                between = self.population.unmeasured(made[1].genome, parent)
                more = self._step(v, between, vector(situation(parent, between)), on_refusal)
                if more is None:
                    break
                made = made[0].then(more[0]), more[1]
            if made is None:
                continue
            draft, expression = made
            if known(expression.key):
                self.policy.refused(draft.trace, 0.3)
                continue
            self.last = draft.operation
            return Proposal(self.name, draft, expression, parent.key)
        return None

    def _step(self, v: Variation, parent: Any, x: Vector,
              on_refusal: Callable[[Expression], None]) -> tuple[Draft, Expression] | None:
        """One operation, expressed; None (and a lesson) where it does not apply or its gene is refused."""
        draft = v.draft(parent, x)
        if draft is None:
            return None
        expression = self.space.express(draft.genome)
        if expression.refusals:
            on_refusal(expression)
        if draft.length >= 0 and len(expression.genome) < draft.length:
            self.policy.refused(draft.trace)
            return None
        return draft, expression

    def state(self) -> dict[str, Any]:
        return {"strategy": strategy_state(self.strategy), "draws": self.draws.state(),
                "policy": self.policy.state(), "members": [m.key for m in self.population.members],
                "tried": [[list(map(list, s)), n] for s, n in self.population.tried.items()],
                "round": vars(self.round), "rounds": self.rounds, "stale": self.stale}

    def restore(self, state: Mapping[str, Any], member: Callable[[str], Any | None]) -> None:
        """``member`` makes the individual of a candidate's key, or None where the store lacks it."""
        self.draws.restore(state["draws"])
        self.policy.restore(state["policy"])
        self.population.members = [m for m in map(member, state["members"]) if m is not None]
        self.population.hall.update(self.population.members)
        self.population.tried = {tuple((a, b) for a, b in s): n for s, n in state["tried"]}
        self.round = Tally(**state["round"])
        self.rounds, self.stale = state["rounds"], state["stale"]

