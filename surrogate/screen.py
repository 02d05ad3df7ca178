"""The screen: which of many proposals are worth the device's time.

It abstains (proposals go in the policy's order) until its predictions, made *before* the measurements, rank fresh
candidates well; it falls back to abstaining when they no longer do. A share of every selection is drawn without it,
so that its judgement stays testable and its blind spots get measured. It never names a winner.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surrogate.features import Row, nearest
from surrogate.model import TreeEnsemble
from surrogate.rank import spearman

MINIMUM = 16  # measured rows before the first fit
WINDOW = 48  # fresh predictions that the running correlation is taken over
ENOUGH = 12  # fresh predictions before the screen may act
START, STOP = 0.4, 0.15  # running correlation to act and to abstain again
TRUST = 2.0  # the calibration that optimism believes at most: more of it would choose by ignorance alone
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
class Pair:
    """A prediction made before its measurement, with the measurement."""

    predicted: float
    measured: float
    explored: bool


@dataclass(frozen=True)
class Choice:
    """``index`` into the pool; the predicted gain (a failure counts FAILED) and the ensemble's spread, None before the
    first fit; chosen without the model or not."""

    index: int
    predicted: float | None = None
    spread: float | None = None
    explored: bool = True


class Screen:
    """``factor``: proposals wanted per place while active; ``explore``: the share drawn without the model; ``apart``:
    candidates nearer than this (see :func:`surrogate.features.distance`) are near-duplicates; ``optimism``: calibrated
    standard deviations that are added to the predicted gain, so that the unknown gets its chance."""

    def __init__(self, model: TreeEnsemble, *, factor: int = 8, explore: float = 0.25, apart: float = 0.02,
                 optimism: float = 1.0) -> None:
        self.model, self.factor, self.explore, self.apart, self.optimism = model, factor, explore, apart, optimism
        self.rows: list[Row] = []
        self.gains: list[float] = []
        self.ok: list[bool] = []
        self.fresh: deque[Pair] = deque(maxlen=WINDOW)
        self.errors: deque[float] = deque(maxlen=WINDOW)  # (measured - predicted) / spread of fresh successes
        self.batch: list[tuple[float, float]] = []
        self.last: float | None = None
        self.seen: Counter[tuple[str, float]] = Counter()  # measured rows per gene and per parameter value
        self.active = False
        self.fitted = 0  # rows at the last fit
        self.pool = self.chosen = 0
        self.debt = 0.0  # exploration owed

    # ----------------------------------------------------------------------------------------------- learning
    def learn(self, row: Row, gain: float, ok: bool, choice: Choice | None = None) -> None:
        """A measured candidate; ``choice`` holds what was said before it was measured."""
        self.rows.append(row)
        self.gains.append(gain if ok else math.nan)
        self.ok.append(ok)
        self.seen.update(item for item, _ in _items(row))
        if choice is None or choice.predicted is None:
            return
        measured = gain if ok else FAILED
        self.fresh.append(Pair(choice.predicted, measured, choice.explored))
        self.batch.append((choice.predicted, measured))
        if ok and choice.spread:
            self.errors.append((gain - choice.predicted) / choice.spread)

    def refit(self) -> None:
        """Trains when the data grew by an eighth (at least 8 rows), and decides whether to act."""
        n = len(self.rows)
        if len(self.batch) >= 8:
            self.last = spearman(*zip(*self.batch, strict=True))
            self.batch = []
        if n >= MINIMUM and n - self.fitted >= max(8, n // 8):
            self.model.fit(self.rows, self.gains, self.ok)
            self.fitted = n
        if self.model.trained and len(self.fresh) >= ENOUGH:
            best = max((r for r in self.running() if r is not None), default=0.0)
            self.active = best >= (STOP if self.active else START)

    def running(self) -> tuple[float | None, float | None]:
        """Rank correlation over the fresh window, and over its random share (None below 8 pairs). The second matters
        once the screen acts: among what it chose itself the range is restricted and the correlation low."""
        chance = [p for p in self.fresh if p.explored]
        return _correlation(self.fresh), _correlation(chance) if len(chance) >= 8 else None

    @property
    def calibration(self) -> float:
        """By how much the ensemble understates its errors (at least 1), from the fresh predictions."""
        if len(self.errors) < ENOUGH:
            return 2.0
        return max(1.0, 1.4826 * float(np.median(np.abs(self.errors))))  # robust: a few surprises must not flood it

    def unseen(self, rows: Sequence[Row]) -> NDArray[np.float64]:
        """What the trees cannot know of: the spread of all measured gains, for a row with a gene that was never
        measured, half of it for a value of a parameter; less by 1 / (1 + n) after n measurements. Shape (rows,)."""
        known = [g for g, ok in zip(self.gains, self.ok, strict=True) if ok]
        spread = float(np.std(known)) if len(known) > 1 else 0.0
        return np.asarray([spread * max((w / (1.0 + self.seen[item]) for item, w in _items(r)), default=0.0)
                           for r in rows])

    # ----------------------------------------------------------------------------------------------- choosing
    def start_batch(self) -> None:
        self.pool = self.chosen = 0

    def wanted(self, places: int) -> int:
        """How many proposals to ask for: no surplus while abstaining, which would only cost time."""
        return places * self.factor if self.active else places

    def select(self, rows: Sequence[Row], places: int) -> list[Choice]:
        """``places`` of the pool, which is in the policy's order. Exploration takes the first of it (the policy's own
        choice); the rest go by the optimistic expectation (a failure counts FAILED), near-duplicates of what is chosen
        already last."""
        places = min(places, len(rows))
        self.pool += len(rows)
        self.chosen += places
        if not self.model.trained or not rows:
            return [Choice(i) for i in range(places)]
        mean, std, p = self.model.predict(rows)
        value = p * mean + (1.0 - p) * FAILED

        def choice(i: int, explored: bool) -> Choice:
            return Choice(i, float(value[i]), float(std[i]), explored)

        if not self.active or len(rows) <= places:
            return [choice(i, True) for i in range(places)]
        self.debt += self.explore * places
        free = min(int(self.debt), places)
        self.debt -= free
        chosen = [choice(i, True) for i in range(free)]
        taken = [rows[i] for i in range(free)]
        unsure = np.hypot(std * min(self.calibration, TRUST), self.unseen(rows))
        score = value + self.optimism * p * unsure
        near: list[int] = []
        for i in (int(i) for i in np.argsort(-score, kind="stable") if i >= free):
            if len(chosen) == places:
                break
            if nearest(rows[i], taken) < self.apart:
                near.append(i)
                continue
            chosen.append(choice(i, False))
            taken.append(rows[i])
        return chosen + [choice(i, False) for i in near[: places - len(chosen)]]

    def report(self) -> Report:
        everything, chance = self.running()
        return Report(self.active, self.pool, self.chosen, self.last, everything, chance, len(self.rows))


def _items(row: Row) -> list[tuple[tuple[str, float], float]]:
    """A row's genes (weight 1) and parameter values (weight a half)."""
    return [((name, value), 1.0 if name.startswith("has ") else 0.5) for name, value in row.items()
            if name.startswith(("has ", "param "))]


def _correlation(pairs: Iterable[Pair]) -> float | None:
    pairs = list(pairs)
    return spearman([p.predicted for p in pairs], [p.measured for p in pairs])
