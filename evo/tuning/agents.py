"""The agents of a search over plain parameters: each reads the model's outlook in its own way.

The arena draws who proposes next: evenly, or by Thompson sampling over how often each one's proposals became the best
so far, with old experience fading, since what pays changes from finding a good region to exhausting it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evo.tuning.model import Outlook
from surrogate.gaussian import Vector


@dataclass(frozen=True)
class View:
    """``changed``: by how many parameters each candidate differs from the best point so far; ``open``: not measured."""

    outlook: Outlook
    changed: NDArray[np.int64]
    open: NDArray[np.bool_]


class Agent(Protocol):
    name: str
    summary: str

    def merit(self, view: View) -> Vector:
        """Of every candidate, the higher the better; only the order counts."""
        ...


class Surveyor:
    name = "surveyor"
    summary = "expected improvement, anywhere"

    def merit(self, view: View) -> Vector:
        return view.outlook.improvement


class Neighbour:
    name = "neighbour"
    summary = "expected improvement among what differs from the best in one or two parameters"

    def merit(self, view: View) -> Vector:
        return np.where(view.changed <= 2, view.outlook.improvement, 1e-6 * view.outlook.improvement)


class Optimist:
    name = "optimist"
    summary = "the lower confidence bound: uncertain candidates count as good"

    def merit(self, view: View) -> Vector:
        x = view.outlook
        return np.asarray(x.success * (10.0 - x.mean + 2.0 * x.spread))


class Realist:
    name = "realist"
    summary = "the predicted time alone"

    def merit(self, view: View) -> Vector:
        return np.asarray(view.outlook.success * (10.0 - view.outlook.mean))


ALL: tuple[Agent, ...] = (Surveyor(), Optimist(), Neighbour(), Realist())
AGENTS = ALL[:2]  # what docs/search-benchmark.md found to serve; the others only cost evaluations


class Arena:
    """``fade`` multiplies all experience at every verdict. ``learns`` off: every agent alike."""

    def __init__(self, agents: Sequence[Agent], rng: np.random.Generator, *, learns: bool = True,
                 fade: float = 0.97) -> None:
        self.agents, self.rng, self.learns, self.fade = tuple(agents), rng, learns, fade
        self.wins = {a.name: 0.0 for a in agents}
        self.losses = {a.name: 0.0 for a in agents}

    def next(self) -> Agent:
        if len(self.agents) == 1:
            return self.agents[0]
        if not self.learns:
            return self.agents[int(self.rng.integers(len(self.agents)))]
        draws = [self.rng.beta(1.0 + self.wins[a.name], 2.0 + self.losses[a.name]) for a in self.agents]
        return self.agents[int(np.argmax(draws))]

    def learn(self, name: str, won: bool) -> None:
        for table in (self.wins, self.losses):
            for n in table:
                table[n] *= self.fade
        (self.wins if won else self.losses)[name] += 1.0
