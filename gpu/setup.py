"""What every worker and builder knows of the problem once the baseline has passed the gate."""

from __future__ import annotations

from dataclasses import dataclass, field

from genome.workload import Exactness, Size, Workload
from gpu.build import Built
from gpu.interface import EvaluatorOptions


@dataclass(frozen=True)
class Proxy:
    """A small size with one variation of the data (see ``gpu.data.DISTRIBUTIONS``)."""

    size: Size
    distribution: str
    precise: bool = False  # whether an independent reference serves there


@dataclass(frozen=True)
class Setup:
    """``tolerances``: per output ``(rtol, atol_scale)``. ``baseline_seconds`` and ``best_seconds``: per tune size, by
    ``str(size)``; the best is the champion's, or the baseline's while there is none."""

    workload: Workload
    options: EvaluatorOptions
    baseline: Built
    proxies: tuple[Proxy, ...] = ()
    tolerances: dict[str, tuple[float, float]] = field(default_factory=dict)
    baseline_seconds: dict[str, float] = field(default_factory=dict)
    best_seconds: dict[str, float] = field(default_factory=dict)
    champion: Built | None = None
    bandwidth: float = 0.0
    deterministic: bool = True
    terms: dict[str, float] = field(default_factory=dict)  # per output the length of its sums, as the gate saw it
    double: Built | None = None  # the baseline printed in double, where that gives a usable reference

    @property
    def precision(self) -> dict[str, float] | None:
        """``terms``, or None where lower precision was asked for and only the tolerance counts."""
        return None if self.workload.exactness == Exactness.APPROXIMATES else self.terms

    def run_limit(self, size: Size | None = None, runs: int = 1) -> float:
        """Seconds after which a device step is taken for hung: at least ``hang_seconds``, more when the baseline is
        slow. A candidate may be up to 20 times slower than the baseline before it is cut off."""
        times = self.baseline_seconds
        one = times.get(str(size), 0.0) if size is not None else max(times.values(), default=0.0)
        return max(self.options.hang_seconds, 20.0 * one * runs)
