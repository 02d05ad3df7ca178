"""A Gaussian process with automatic relevance determination, for plain parameter spaces.

Matérn 5/2 with one length scale per coordinate, fitted as the maximum of the marginal likelihood times weak priors
(Rasmussen and Williams, Gaussian Processes for Machine Learning, chapters 4 and 5): with a handful of points the priors
decide, with a hundred the data. An irrelevant coordinate's length scale grows until it no longer counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.optimize import minimize
from scipy.special import ndtr

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

ROOT5 = math.sqrt(5.0)
JITTER = 1e-8


@dataclass(frozen=True)
class Priors:
    """Means and standard deviations of the logarithms; coordinates are expected in 0 … 1, targets standardised."""

    scale: tuple[float, float] = (0.0, 0.8)
    signal: tuple[float, float] = (0.0, 1.0)  # variance
    noise: tuple[float, float] = (math.log(1e-3), 1.5)  # variance


class GaussianProcess:
    """``theta`` holds the logarithms of the length scales, the signal's and the noise's variance, shape (d + 2,)."""

    def __init__(self, coordinates: int, priors: Priors | None = None) -> None:
        p = priors or Priors()
        self.d = coordinates
        self.mean = np.asarray([p.scale[0]] * coordinates + [p.signal[0], p.noise[0]])
        self.spread = np.asarray([p.scale[1]] * coordinates + [p.signal[1], p.noise[1]])
        self.bounds = [(-3.0, 4.0)] * coordinates + [(-4.0, 4.0), (math.log(1e-6), math.log(0.5))]
        self.theta = self.mean.copy()

    @property
    def signal(self) -> float:
        return math.exp(self.theta[self.d])

    @property
    def noise(self) -> float:
        return math.exp(self.theta[self.d + 1])

    def kernel(self, a: Matrix, b: Matrix) -> Matrix:
        """Covariance without noise, shape (a, b)."""
        u, v = a * np.exp(-self.theta[: self.d]), b * np.exp(-self.theta[: self.d])
        r2 = np.maximum((u * u).sum(axis=1)[:, None] + (v * v).sum(axis=1)[None, :] - 2.0 * (u @ v.T), 0.0)
        r = np.sqrt(r2)
        return np.asarray(self.signal * (1.0 + ROOT5 * r + 5.0 / 3.0 * r2) * np.exp(-ROOT5 * r))

    def loss(self, theta: Vector, squares: Matrix, y: Vector) -> tuple[float, Vector]:
        """Negative logarithm of the posterior of ``theta`` (up to a constant) and its gradient. ``squares`` of shape
        (d, n*n) are the squared differences of the points by coordinate."""
        n, d = len(y), self.d
        weight = np.exp(-2.0 * theta[:d])
        signal, noise = math.exp(theta[d]), math.exp(theta[d + 1])
        r2 = (weight @ squares).reshape(n, n)
        r = np.sqrt(r2)
        decay = np.exp(-ROOT5 * r)
        shape = (1.0 + ROOT5 * r + 5.0 / 3.0 * r2) * decay
        k = signal * shape
        k[np.diag_indices(n)] += noise + JITTER
        factor, info = dpotrf(k, lower=1)
        if info:
            return 1e10, np.zeros_like(theta)
        half = np.log(np.diag(factor)).sum()
        inverse = np.tril(dpotri(factor, lower=1)[0])
        inverse += np.tril(inverse, -1).T
        alpha = inverse @ y
        w = inverse - np.outer(alpha, alpha)
        slope = w * (signal * 5.0 / 3.0 * (1.0 + ROOT5 * r) * decay)
        gradient = np.empty_like(theta)
        gradient[:d] = 0.5 * (squares @ slope.ravel()) * weight
        gradient[d] = 0.5 * signal * (w * shape).sum()
        gradient[d + 1] = 0.5 * noise * np.trace(w)
        z = (theta - self.mean) / self.spread
        return float(0.5 * y @ alpha + half + 0.5 * z @ z), gradient + z / self.spread

    def fit(self, x: Matrix, y: Vector, *, afresh: bool = False, steps: int = 10) -> None:
        """Improves ``theta`` from where it stands; with ``afresh`` also from the prior's mean, and the better is taken.
        ``x`` of shape (n, d), ``y`` standardised, of shape (n,). Costs n³ a step: give it at most some 100 points."""
        squares = np.stack([(x[:, i : i + 1] - x[:, i : i + 1].T) ** 2 for i in range(self.d)]).reshape(self.d, -1)
        best = None
        for start in (self.theta, self.mean) if afresh else (self.theta,):
            found = minimize(self.loss, start, args=(squares, y), jac=True, method="L-BFGS-B", bounds=self.bounds,
                             options={"maxiter": steps})
            if best is None or found.fun < best.fun:
                best = found
        assert best is not None
        self.theta = np.asarray(best.x, dtype=np.float64)


class Posterior:
    """The posterior over a fixed pool of candidates, extended by one observation at a time: n·m operations each for n
    observations and m candidates, where solving anew costs n²·m."""

    def __init__(self, process: GaussianProcess, x: Matrix, pool: Matrix, room: int) -> None:
        """``room``: observations that will be held at most."""
        self.process, self.pool = process, pool
        n = len(x)
        self.x = np.empty((room, x.shape[1]))
        self.x[:n] = x
        self.factor = np.zeros((room, room))
        k = process.kernel(x, x)
        k[np.diag_indices(n)] += process.noise + JITTER
        self.factor[:n, :n] = np.linalg.cholesky(k)
        self.rows = np.empty((room, len(pool)), dtype=np.float32)
        self.rows[:n] = solve_triangular(self.factor[:n, :n], process.kernel(x, pool), lower=True)
        self.left = process.signal - np.square(self.rows[:n]).sum(axis=0)
        self.n = n

    def add(self, point: Vector) -> None:
        """One more observed point, of shape (d,)."""
        n, process = self.n, self.process
        here = point[None, :]
        row = solve_triangular(self.factor[:n, :n], process.kernel(self.x[:n], here)[:, 0], lower=True)
        corner = math.sqrt(max(process.signal + process.noise + JITTER - float(row @ row), JITTER))
        self.factor[n, :n], self.factor[n, n] = row, corner
        new = (process.kernel(here, self.pool)[0] - row.astype(np.float32) @ self.rows[:n]) / corner
        self.rows[n] = new
        self.left -= np.square(new)
        self.x[n] = point
        self.n = n + 1

    def predict(self, y: Vector) -> tuple[Vector, Vector]:
        """Mean and standard deviation (of the noiseless value) at the pool for the observations' targets."""
        z = solve_triangular(self.factor[: self.n, : self.n], y, lower=True)
        mean = z.astype(np.float32) @ self.rows[: self.n]
        return mean.astype(np.float64), np.sqrt(np.maximum(self.left, 1e-10)).astype(np.float64)


def expected_improvement(mean: Vector, spread: Vector, best: float) -> Vector:
    """E[max(0, best - value)]: for targets that are minimised. Shape as ``mean``."""
    u = (best - mean) / spread
    return np.asarray(spread * (u * ndtr(u) + np.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)))
