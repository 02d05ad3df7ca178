"""What has been measured as a Gaussian process, and what it expects of a pool of candidates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evo.tuning.encode import Matrix
from surrogate.gaussian import GaussianProcess, Posterior, Priors, Vector, expected_improvement

Indices = NDArray[np.int64]

FIRST_FIT = 2  # timed points
WIDTH = 0.25  # how far a failure's influence reaches, in coordinates of 0 … 1


@dataclass(frozen=True)
class ModelSettings:
    """``refit``: growth of the data between two fits; ``fitted``: points that a fit looks at, the better half first;
    ``pool``: candidates drawn at every fit from spaces larger than that."""

    priors: Priors = field(default_factory=Priors)
    refit: float = 1.15
    afresh: int = 4  # every so many fits also start from the priors
    fitted: int = 80
    pool: int = 2000
    around: int = 5  # best points whose neighbourhoods are in the pool
    near: int = 500  # neighbours of each at most
    compress: bool = False  # see targets()


@dataclass(frozen=True)
class Outlook:
    """The pool (rows of the space) with the mean and standard deviation of the standardised logarithm of its times,
    the chance of success, and the improvement that is to be expected."""

    pool: Indices
    mean: Vector
    spread: Vector
    success: Vector
    improvement: Vector
    seconds: Callable[[float], float]  # of a mean


def targets(logs: Vector, compress: bool) -> tuple[Vector, Callable[[float], float]]:
    """What the process is fitted to, mean 0 and deviation 1, and the way back to seconds. ``compress``: what is slower
    than the median counts by the logarithm of its distance, or a few hopeless configurations would set the scale."""
    if not compress:
        centre, scale = float(np.mean(logs)), max(float(np.std(logs)), 1e-9)
        return (logs - centre) / scale, lambda m: math.exp(centre + scale * m)
    median = float(np.median(logs))
    width = max(median - float(np.quantile(logs, 0.1)), 1e-3)
    z = (logs - median) / width
    z = np.where(z > 0, np.log1p(np.maximum(z, 0.0)), z)
    shift, spread = float(np.mean(z)), max(float(np.std(z)), 1e-9)

    def back(m: float) -> float:
        u = shift + spread * m
        return math.exp(median + width * (math.expm1(min(u, 50.0)) if u > 0 else u))
    return (z - shift) / spread, back


class Model:
    """``points`` of shape (N, d) is the whole space, ``rows`` the same as parameter indices; ``room``: the most points
    that will be observed."""

    def __init__(self, points: Matrix, rows: NDArray[np.int16], settings: ModelSettings, rng: np.random.Generator,
                 room: int) -> None:
        self.points, self.rows, self.settings, self.rng, self.room = points, rows, settings, rng, room
        self.process = GaussianProcess(points.shape[1], settings.priors)
        self.timed: list[int] = []
        self.logs: list[float] = []
        self.failed: list[int] = []
        self.fits = 0
        self.due = FIRST_FIT
        self.pool: Indices = np.arange(0)
        self.posterior: Posterior | None = None

    def observe(self, index: int, seconds: float | None) -> None:
        """None: it failed."""
        if seconds is None:
            self.failed.append(index)
        else:
            self.timed.append(index)
            self.logs.append(math.log(seconds))

    @property
    def ready(self) -> bool:
        return len(self.timed) >= FIRST_FIT

    def outlook(self) -> Outlook:
        """Refits where the data have grown enough. Raises RuntimeError before two points were timed."""
        if not self.ready:
            raise RuntimeError("too few points for a model")
        y, back = targets(np.asarray(self.logs), self.settings.compress)
        if self.posterior is None or len(y) >= self.due:
            self._fit(y)
        assert self.posterior is not None
        for i in self.timed[self.posterior.n :]:
            self.posterior.add(self.points[i])
        mean, spread = self.posterior.predict(y)
        success = self._success()
        gain = expected_improvement(mean, spread, float(np.min(y))) * success
        return Outlook(self.pool, mean, spread, success, gain, back)

    def _fit(self, y: Vector) -> None:
        s = self.settings
        x = self.points[self.timed]
        kept = np.arange(len(y))
        if len(y) > s.fitted:
            ranked = np.argsort(y, kind="stable")
            half = s.fitted // 2
            kept = np.concatenate([ranked[:half], self.rng.choice(ranked[half:], s.fitted - half, replace=False)])
        self.process.fit(x[kept], y[kept], afresh=self.fits % s.afresh == 0)
        self.fits += 1
        self.due = max(len(y) + 1, int(len(y) * s.refit))
        self.pool = self._candidates(y)
        self.posterior = Posterior(self.process, x, self.points[self.pool], self.room)

    def _candidates(self, y: Vector) -> Indices:
        """Everything where that is little; else a fresh draw, and what differs from one of the best in one or two
        parameters."""
        total, s = len(self.points), self.settings
        if total <= s.pool:
            return np.arange(total)
        parts = [self.rng.choice(total, s.pool, replace=False)]
        for j in np.argsort(y, kind="stable")[: s.around]:
            near = np.flatnonzero(np.count_nonzero(self.rows != self.rows[self.timed[j]], axis=1) <= 2)
            parts.append(near if len(near) <= s.near else self.rng.choice(near, s.near, replace=False))
        return np.unique(np.concatenate(parts))

    def _success(self) -> Vector:
        """Share of successes around each candidate, weighted by nearness; towards the overall share where nothing is
        near. 1 while nothing has failed."""
        if not self.failed:
            return np.ones(len(self.pool))
        seen = self.points[self.timed + self.failed]
        good = np.asarray([1.0] * len(self.timed) + [0.0] * len(self.failed))
        c = self.points[self.pool]
        squares = (c * c).sum(axis=1)[:, None] + (seen * seen).sum(axis=1)[None, :] - 2.0 * (c @ seen.T)
        weight = np.exp(-np.maximum(squares, 0.0) / WIDTH)
        return np.asarray((weight @ good + 0.5 * float(np.mean(good)) + 0.05) / (weight.sum(axis=1) + 0.55))
