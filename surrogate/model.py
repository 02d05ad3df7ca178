"""The cost model: gain and chance of success of a candidate, with an uncertainty, from its features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import xgboost
from numpy.typing import NDArray

from surrogate.features import Row, Vocabulary

Vector = NDArray[np.float64]


class Surrogate(Protocol):
    """``gains`` are ln(baseline time / time), NaN where a candidate gave no time; ``ok`` says whether it did."""

    def fit(self, rows: Sequence[Row], gains: Sequence[float], ok: Sequence[bool]) -> None: ...

    def predict(self, rows: Sequence[Row]) -> tuple[Vector, Vector, Vector]:
        """Mean gain, its standard deviation, probability of success; each of shape (rows,)."""
        ...


class TreeEnsemble:
    """Bootstrapped gradient-boosted trees on the log of time, and a classifier of failures once both kinds were seen.

    The spread among the members is the uncertainty (it knows nothing far from the data, so a floor is added). Small
    trees and few of them: a refit takes about 60 ms on one core at 300 rows.
    """

    def __init__(self, vocabulary: Vocabulary, *, members: int = 5, rounds: int = 40, depth: int = 4, seed: int = 0,
                 jobs: int = 1) -> None:
        self.vocabulary, self.members, self.rounds, self.depth, self.jobs = vocabulary, members, rounds, depth, jobs
        self.rng = np.random.Generator(np.random.PCG64(seed))
        self.models: list[xgboost.Booster] = []
        self.classifier: xgboost.Booster | None = None
        self.rate = 1.0  # share of candidates that gave a time
        self.columns = 0
        self.centre = 0.0

    def _train(self, x: NDArray[np.float32], y: Vector, weight: Vector, objective: str) -> xgboost.Booster:
        data = xgboost.DMatrix(x, label=y, weight=weight, nthread=self.jobs)
        settings = {"objective": objective, "max_depth": self.depth, "eta": 0.15, "subsample": 0.8,
                    "colsample_bytree": 0.7, "min_child_weight": 2, "lambda": 1.0, "nthread": self.jobs,
                    "tree_method": "hist", "max_bin": 64, "base_score": 0.5 if "logistic" in objective else 0.0,
                    "seed": int(self.rng.integers(2**31)), "verbosity": 0}
        return xgboost.train(settings, data, self.rounds)

    def fit(self, rows: Sequence[Row], gains: Sequence[float], ok: Sequence[bool]) -> None:
        """Keeps no memory of earlier fits. Fewer than 4 timed rows leave the model untrained."""
        x = self.vocabulary.matrix(rows)
        self.columns = x.shape[1]
        y, good = np.asarray(gains, dtype=np.float64), np.asarray(ok, dtype=bool)
        good &= np.isfinite(y)
        self.models, self.classifier = [], None
        self.rate = (good.sum() + 1.0) / (len(good) + 1.0)
        if good.sum() < 4:
            return
        self.centre = float(y[good].mean())
        xs, ys = x[good], y[good] - self.centre
        for _ in range(self.members):
            weight = self.rng.multinomial(len(ys), np.full(len(ys), 1.0 / len(ys))).astype(np.float64)
            self.models.append(self._train(xs, ys, weight, "reg:squarederror"))
        if 3 <= (~good).sum():
            self.classifier = self._train(x, good.astype(np.float64), np.ones(len(good)), "binary:logistic")

    @property
    def trained(self) -> bool:
        return bool(self.models)

    def predict(self, rows: Sequence[Row]) -> tuple[Vector, Vector, Vector]:
        """Raises RuntimeError before a successful fit."""
        if not self.models:
            raise RuntimeError("the cost model has not been fitted")
        x = self.vocabulary.matrix(rows)[:, : self.columns]
        data = xgboost.DMatrix(x, nthread=self.jobs)
        each = np.stack([m.predict(data) for m in self.models]).astype(np.float64)
        p = np.full(len(rows), self.rate)
        if self.classifier is not None:
            p = self.classifier.predict(data).astype(np.float64)
        return each.mean(axis=0) + self.centre, each.std(axis=0) + 0.02, p
