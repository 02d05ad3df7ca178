"""The search over plain parameters, as ask and tell: one configuration at a time, each informed by all before it.

Measurements of configurations are independent of each other and each costs far more than a fit, so nothing is gained
by planning in batches; the engine for kernels plans in batches because it compiles ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from evo.tuning.agents import AGENTS, Agent, Arena, View
from evo.tuning.design import first_points
from evo.tuning.encode import encode
from evo.tuning.model import Model, ModelSettings, Outlook
from evo.tuning.space import TuningSpace

DESIGN, CHANCE = "design", "chance"


@dataclass(frozen=True)
class Settings:
    """``first`` points are drawn before any model; ``chance`` is the share drawn at random afterwards; ``learns``: the
    arena draws the agents by what they brought instead of evenly."""

    first: int = 3
    chance: float = 0.0
    agents: Sequence[Agent] = AGENTS
    learns: bool = False
    model: ModelSettings = field(default_factory=ModelSettings)


@dataclass(frozen=True)
class Ask:
    """``index`` into the space's rows; the time in seconds that was predicted, None without a model."""

    index: int
    agent: str
    predicted: float | None = None


class TuningSearch:
    """Deterministic from the seed. ``budget``: the most configurations that will be told."""

    def __init__(self, space: TuningSpace, seed: int, budget: int, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.threads = ThreadpoolController()
        self.rows = space.rows
        self.rng = np.random.Generator(np.random.PCG64(seed))
        self.points = encode(space.parameters, self.rows, space.block_names)
        self.model = Model(self.points, self.rows, self.settings.model, self.rng, budget + 1)
        self.arena = Arena(self.settings.agents, self.rng, learns=self.settings.learns)
        self.design = first_points(self.points, self.settings.first, self.rng)
        self.seen = np.zeros(len(self.rows), dtype=bool)
        self.best: int | None = None
        self.fastest = np.inf

    @property
    def exhausted(self) -> bool:
        return bool(self.seen.all())

    def ask(self) -> Ask:
        """The next configuration, never one that was told. Raises RuntimeError when all were. On one thread: the
        matrices are too small for more, and sums then do not depend on the number of cores."""
        with self.threads.limit(limits=1):
            return self._ask()

    def _ask(self) -> Ask:
        if self.exhausted:
            raise RuntimeError("every configuration has been measured")
        while self.design:
            index = self.design.pop(0)
            if not self.seen[index]:
                return Ask(index, DESIGN)
        if not self.model.ready or (self.settings.chance > 0 and self.rng.random() < self.settings.chance):
            return self._drawn()
        outlook = self.model.outlook()
        unseen = ~self.seen[outlook.pool]
        if not unseen.any():
            return self._drawn()
        agent = self.arena.next()
        merit = np.where(unseen, agent.merit(self._view(outlook, unseen)), -np.inf)
        j = int(np.argmax(merit))
        return Ask(int(outlook.pool[j]), agent.name, outlook.seconds(float(outlook.mean[j])))

    def _drawn(self) -> Ask:
        return Ask(int(self.rng.choice(np.flatnonzero(~self.seen))), CHANCE)

    def _view(self, outlook: Outlook, unseen: NDArray[np.bool_]) -> View:
        assert self.best is not None
        changed = np.count_nonzero(self.rows[outlook.pool] != self.rows[self.best], axis=1)
        return View(outlook, changed, unseen)

    def tell(self, ask: Ask, seconds: float | None) -> None:
        """None: it failed."""
        self.seen[ask.index] = True
        self.model.observe(ask.index, seconds)
        won = seconds is not None and seconds < self.fastest
        if won and seconds is not None:
            self.best, self.fastest = ask.index, seconds
        if ask.agent not in (DESIGN, CHANCE):
            self.arena.learn(ask.agent, won)

