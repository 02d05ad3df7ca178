"""The screen: which of many proposals are worth the device's time.

It abstains (proposals go in the policy's order) until its predictions, made *before* the measurements, rank fresh
candidates well; it falls back to abstaining when they no longer do. A share of every selection is drawn without it,
so that its judgement stays testable and its blind spots get measured. It never names a winner.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surrogate.features import Row, nearest
from surrogate.model import TreeEnsemble
from surrogate.rank import spearman

MINIMUM = 24  # measured rows before the first fit
WINDOW = 48  # fresh predictions that the running correlation is taken over
ENOUGH = 12  # fresh predictions before the screen may act
START, STOP = 0.4, 0.15  # running correlation to act and to abstain again
FAILED = -1.0  # the gain that stands for a failure in rank correlations


@dataclass(frozen=True)
class Report:
    """For display and record: the state of the screen after the last batch."""

    active: bool
    pool: int  # proposals in the last pool
    chosen: int
    last: float | None  # rank correlation on the last batch
    running: float | None  # over the last WINDOW fresh predictions
    random: float | None  # the same on the random share alone
    rows: int


@dataclass(frozen=True)
class Choice:
    """``index`` into the pool, the predicted gain (None before the first fit), chosen without the model or not."""

    index: int
    predicted: float | None
    explored: bool


class Screen:
    """``factor``: proposals wanted per place while active; ``explore``: the share drawn without the model;
    ``optimism``: standard deviations added to the mean."""

    def __init__(self, model: TreeEnsemble, *, factor: int = 4, explore: float = 0.25, optimism: float = 0.5,
                 apart: float = 0.02) -> None:
        self.model, self.factor, self.explore, self.optimism, self.apart = model, factor, explore, optimism, apart
        self.rows: list[Row] = []
        self.gains: list[float] = []
        self.ok: list[bool] = []
        self.fresh: deque[tuple[float, float, bool]] = deque(maxlen=WINDOW)  # predicted, measured, random share
        self.batch: list[tuple[float, float]] = []
        self.last: float | None = None
        self.active = False
        self.fitted = 0  # rows at the last fit
        self.pool = self.chosen = 0
        self.debt = 0.0  # exploration owed

    def start_batch(self) -> None:
        self.pool = self.chosen = 0

    def wanted(self, places: int) -> int:
        """How many proposals to ask for: no surplus while abstaining, which would only cost time."""
        return places * self.factor if self.active else places

    def learn(self, row: Row, gain: float, ok: bool, predicted: float | None, explored: bool) -> None:
        """A measured candidate; ``predicted`` is what was said before it was measured."""
        self.rows.append(row)
        self.gains.append(gain if ok else float("nan"))
        self.ok.append(ok)
        if predicted is not None:
            measured = gain if ok else FAILED
            self.fresh.append((predicted, measured, explored))
            self.batch.append((predicted, measured))

    def refit(self) -> None:
        """Trains when the data grew by an eighth (at least 8 rows), and decides whether to act."""
        n = len(self.rows)
        if len(self.batch) >= 6:
            self.last = spearman(*zip(*self.batch, strict=True))
            self.batch = []
        if n >= MINIMUM and n - self.fitted >= max(8, n // 8):
            self.model.fit(self.rows, self.gains, self.ok)
            self.fitted = n
        everything, chance = self.running()
        if len(self.fresh) >= ENOUGH and self.model.trained:
            best = max((r for r in (everything, chance) if r is not None), default=0.0)
            self.active = best >= (STOP if self.active else START)

    def running(self) -> tuple[float | None, float | None]:
        """Rank correlation over the fresh window, and over its random share (None below 8 pairs)."""
        pairs = list(self.fresh)
        everything = spearman([p for p, _, _ in pairs], [m for _, m, _ in pairs])
        chance = [(p, m) for p, m, r in pairs if r]
        return everything, spearman([p for p, _ in chance], [m for _, m in chance]) if len(chance) >= 8 else None

    def predict(self, rows: Sequence[Row]) -> tuple[list[float], list[float]]:
        """Expected gain (failures count FAILED) and its optimistic score."""
        mean, std, p = self.model.predict(rows)
        value = p * mean + (1.0 - p) * FAILED
        return [float(v) for v in value], [float(v) for v in value + self.optimism * std * p]

    def select(self, rows: Sequence[Row], places: int) -> list[Choice]:
        """``places`` of the pool, the pool in the policy's order. Exploration takes the first of what is left (the
        policy's own choice); the rest go by score, near-duplicates of what is chosen already last."""
        self.pool += len(rows)
        places = min(places, len(rows))
        self.chosen += places
        if not self.model.trained:
            return [Choice(i, None, True) for i in range(places)]
        value, score = self.predict(rows)
        if not self.active or len(rows) <= places:
            return [Choice(i, value[i], True) for i in range(places)]
        self.debt += self.explore * places
        free = int(self.debt)
        self.debt -= free
        chosen: list[Choice] = [Choice(i, value[i], True) for i in range(min(free, places))]
        left = [int(i) for i in np.argsort(-np.asarray(score), kind="stable") if i >= len(chosen)]
        taken = [rows[c.index] for c in chosen]
        near: list[int] = []
        for i in left:
            if len(chosen) == places:
                break
            if nearest(rows[i], taken) < self.apart:
                near.append(i)
                continue
            chosen.append(Choice(i, value[i], False))
            taken.append(rows[i])
        chosen += [Choice(i, value[i], False) for i in near[: places - len(chosen)]]
        return chosen

    def report(self) -> Report:
        everything, chance = self.running()
        return Report(self.active, self.pool, self.chosen, self.last, everything, chance, len(self.rows))
