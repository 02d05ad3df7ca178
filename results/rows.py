"""One evaluated candidate as a row of figures: what fronts, tables and plots are made of."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from genome.gene import Genome, from_json
from gpu.records import Resources, Timing, Verdict


@dataclass(frozen=True)
class Row:
    """``latency`` in seconds per launch (None: not timed), ``gain`` = ln(baseline latency / latency), ``seconds`` since
    the run began when its evaluation arrived, ``genome`` and ``launches`` as JSON text."""

    key: str
    agent: str = ""
    round: int = 0
    verdict: Verdict = Verdict.OK
    latency: float | None = None
    gain: float | None = None
    resources: Resources = field(default_factory=Resources)
    seconds: float = 0.0
    genome: str = "[]"
    launches: str = ""
    confirmed: bool | None = None  # None: never a finalist
    final_gain: float | None = None  # as ``gain``, from the confirmation on fresh data, where that came to times
    memory_bytes: int = 0  # on the device, at the largest tune size; 0: not recorded

    @property
    def genes(self) -> Genome:
        return from_json(self.genome)

    @property
    def speedup(self) -> tuple[float | None, str]:
        """The speed-up over the baseline that counts, and where it is from: "confirmation" or "search"."""
        if self.final_gain is not None:
            return math.exp(self.final_gain), "confirmation"
        return (None, "search") if self.gain is None else (math.exp(self.gain), "search")

    @property
    def threads(self) -> int | None:
        """Threads per block, of the largest launch; None when the launches were not recorded."""
        if not self.launches:
            return None
        return max((math.prod(launch["block"]) for launch in json.loads(self.launches)), default=None)


def latency(timings: tuple[Timing, ...], weights: Mapping[str, float]) -> float | None:
    """Weighted geometric mean of the medians (seconds): the time whose ratio to another's is the exponential of the
    weighted mean of logarithms. None when nothing was timed or a median is no positive number."""
    total = weight = 0.0
    for t in timings:
        if not (t.median > 0 and math.isfinite(t.median)):
            return None
        w = weights.get(t.size, 1.0)
        total += w * math.log(t.median)
        weight += w
    if len(timings) == 1:
        return timings[0].median  # not through a logarithm and back
    return math.exp(total / weight) if weight > 0 else None


def gain(baseline: tuple[Timing, ...], candidate: tuple[Timing, ...], weights: Mapping[str, float]) -> float | None:
    """ln(baseline / candidate) over the sizes that both were timed at (an aborted candidate lacks some)."""
    mine = {t.size for t in candidate}
    shared = tuple(t for t in baseline if t.size in mine)
    names = {t.size for t in shared}
    before = latency(shared, weights)
    after = latency(tuple(t for t in candidate if t.size in names), weights)
    return math.log(before / after) if before and after else None
