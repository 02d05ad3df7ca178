"""Who decides: a two-level contextual bandit, or chance, behind one interface.

The *architect* chooses a direction, the *engineer* a mutator and a site within it, then the values of its
parameters; the same posteriors also choose among the operations of variation. Every decision is written into a
:class:`Trace`, and the reward of the candidate that came of it is learned by all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from evo.search import context
from evo.search.context import Vector
from evo.search.draws import Draws
from evo.search.posterior import LinearPosterior
from evo.search.values import ValueModel
from genome.gene import ParamValue


@dataclass(frozen=True)
class Option:
    """One arm in its context. ``name`` is prefixed by its level: ``operation:append``, ``direction:occupancy``."""

    name: str
    context: Vector


@dataclass(frozen=True)
class ValueChoice:
    slot: str
    value: ParamValue
    values: tuple[ParamValue, ...]


@dataclass(frozen=True)
class Trace:
    """The decisions behind one candidate, in order."""

    arms: tuple[Option, ...] = ()
    values: tuple[ValueChoice, ...] = ()

    def state(self) -> dict[str, Any]:
        return {"arms": [[a.name, [float(x) for x in a.context]] for a in self.arms],
                "values": [[v.slot, v.value, list(v.values)] for v in self.values]}

    @staticmethod
    def load(state: Mapping[str, Any]) -> Trace:
        return Trace(tuple(Option(n, np.asarray(x)) for n, x in state["arms"]),
                     tuple(ValueChoice(s, _value(v), tuple(_value(w) for w in ws)) for s, v, ws in state["values"]))


def _value(v: Any) -> ParamValue:
    return tuple(v) if isinstance(v, list) else v


class Policy(Protocol):
    """``learn`` takes the reward of the step; ``refused`` says that the gene was not legal, or led nowhere new."""

    def choose(self, options: Sequence[Option], draws: Draws) -> int: ...

    def value(self, slot: str, values: Sequence[ParamValue], draws: Draws) -> ParamValue: ...

    def learn(self, trace: Trace, reward: float, weight: float = 1.0) -> None: ...

    def refused(self, trace: Trace, weight: float = 1.0) -> None: ...

    def credit(self, trace: Trace, bonus: float) -> None:
        """Late credit for an earlier step: a descendant became the champion."""
        ...

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: Mapping[str, Any]) -> None: ...


class UniformPolicy:
    """Chance: every option alike. The baseline for comparisons (``--policy uniform``)."""

    def choose(self, options: Sequence[Option], draws: Draws) -> int:
        return draws.below(len(options))

    def value(self, slot: str, values: Sequence[ParamValue], draws: Draws) -> ParamValue:
        return draws.choice(values)

    def learn(self, trace: Trace, reward: float, weight: float = 1.0) -> None:
        del trace, reward, weight

    def refused(self, trace: Trace, weight: float = 1.0) -> None:
        del trace, weight

    def credit(self, trace: Trace, bonus: float) -> None:
        del trace, bonus

    def state(self) -> dict[str, Any]:
        return {"kind": "uniform"}

    def restore(self, state: Mapping[str, Any]) -> None:
        del state


LOSS = 0.25  # what a loss weighs against a gain: a bad child costs one evaluation, however bad it is
LEGALITY_PRICE = 0.3  # reward that certain refusal costs an arm: refusals are free, the time to find them is not


class BanditPolicy:
    """Linear Thompson sampling per arm, a Gaussian per parameter value. ``priors`` maps arm names to prior mean
    rewards; ``temperature`` scales exploration."""

    def __init__(self, *, priors: Mapping[str, float] | None = None, temperature: float = 1.0,
                 discount: float = 0.997, size: int = context.SIZE) -> None:
        self.priors = dict(priors or {})
        self.temperature, self.discount, self.size = temperature, discount, size
        self.arms: dict[str, LinearPosterior] = {}
        self.legal: dict[str, LinearPosterior] = {}  # arm -> does it lead to a new candidate (1) or not (0)
        self.values = ValueModel()
        self.clock = 0

    def _arm(self, name: str) -> LinearPosterior:
        arm = self.arms.get(name)
        if arm is None:
            arm = LinearPosterior(self.size, prior=self.priors.get(name, 0.0), discount=self.discount)
            self.arms[name] = arm
        return arm

    def choose(self, options: Sequence[Option], draws: Draws) -> int:
        """The option whose sampled reward is highest; one draw of theta per arm, ties broken by chance."""
        if len(options) == 1:
            return 0
        thetas: dict[str, Vector] = {}
        best, top = 0, (-math.inf, 0.0)
        for i, o in enumerate(options):
            theta = thetas.get(o.name)
            if theta is None:
                theta = self._arm(o.name).sample(draws.normal(self.size), self.temperature, self.clock)
                thetas[o.name] = theta
            score = float(theta @ o.context) - LEGALITY_PRICE * (1.0 - self.legality(o))
            if (score, tie := draws.uniform()) > top:
                best, top = i, (score, tie)
        return best

    def legality(self, option: Option) -> float:
        """Estimated chance that the arm, in this context, gives a new candidate."""
        seen = self.legal.get(option.name)
        return 1.0 if seen is None else min(1.0, max(0.0, seen.mean(option.context, self.clock)))

    def _count(self, option: Option, target: float, weight: float) -> None:
        seen = self.legal.get(option.name)
        if seen is None:
            seen = self.legal[option.name] = LinearPosterior(self.size, prior=1.0, discount=self.discount)
        seen.learn(option.context, target, self.clock, weight)

    def value(self, slot: str, values: Sequence[ParamValue], draws: Draws) -> ParamValue:
        return self.values.choose(slot, values, draws, self.temperature)

    def learn(self, trace: Trace, reward: float, weight: float = 1.0) -> None:
        self.clock += 1
        reward = reward if reward > 0 else LOSS * reward
        for a in trace.arms:
            self._arm(a.name).learn(a.context, reward, self.clock, weight)
            if a.name in self.legal:
                self._count(a, 1.0, weight)
        for v in trace.values:
            self.values.learn(v.slot, v.value, v.values, reward)

    def refused(self, trace: Trace, weight: float = 1.0) -> None:
        """Blames the last and most specific decision, not the direction that it served."""
        if trace.arms:
            self._count(trace.arms[-1], 0.0, weight)
        for v in trace.values:
            self.values.refused(v.slot, v.value, weight)

    def credit(self, trace: Trace, bonus: float) -> None:
        for a in trace.arms:
            self._arm(a.name).adjust(a.context, bonus)

    def state(self) -> dict[str, Any]:
        return {"kind": "bandit", "schema": context.SCHEMA, "clock": self.clock, "temperature": self.temperature,
                "priors": self.priors, "legal": {n: a.state() for n, a in self.legal.items()},
                "arms": {n: a.state() for n, a in self.arms.items()}, "values": self.values.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Raises ValueError where the state was written under another schema."""
        if state.get("kind") != "bandit" or state.get("schema") != context.SCHEMA:
            raise ValueError("policy state of another kind or schema")
        self.clock, self.temperature = state["clock"], state["temperature"]
        self.priors = dict(state["priors"])
        self.legal = {}
        for name, s in state["legal"].items():
            self.legal[name] = LinearPosterior(self.size, discount=self.discount)
            self.legal[name].restore(s)
        self.arms = {}
        for name, s in state["arms"].items():
            self._arm(name).restore(s)
        self.values.restore(state["values"])
