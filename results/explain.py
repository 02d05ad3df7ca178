"""The ladder that explains a champion: its genome without the genes that don't matter, then each step measured.

Pure algorithm: what a genome becomes and what a program costs is asked of two callbacks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from genome.gene import Gene, Genome, from_json, to_json

P = TypeVar("P")
Express = Callable[[Genome], "P | None"]  # None: refused
Measure = Callable[[Sequence[P]], Sequence["float | None"]]  # seconds each; None: wrong, failed or not timed


@dataclass(frozen=True)
class Step:
    """``genes`` added by this step (several where a prefix in between is refused or fails), the time with them, and the
    factor by which they changed it: time before over time after. The first step has no genes: the baseline."""

    genes: Genome
    seconds: float
    factor: float


@dataclass(frozen=True)
class Ladder:
    steps: tuple[Step, ...]
    dropped: Genome  # genes of the original without effect
    measured: int  # programs measured

    @property
    def genome(self) -> Genome:
        return tuple(g for s in self.steps for g in s.genes)

    @property
    def speedup(self) -> float:
        return self.steps[0].seconds / self.steps[-1].seconds

    def as_dict(self) -> dict[str, Any]:
        """For the run's event "ladder"."""
        return {"steps": [{"genes": to_json(s.genes), "seconds": s.seconds, "factor": s.factor} for s in self.steps],
                "dropped": to_json(self.dropped), "measured": self.measured}

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Ladder:
        steps = tuple(Step(from_json(s["genes"]), s["seconds"], s["factor"]) for s in data["steps"])
        return Ladder(steps, from_json(data["dropped"]), data["measured"])


class _Bench(Generic[P]):
    """Times of genomes, each measured once; genomes that express to equal programs share a measurement."""

    def __init__(self, express: Express[P], measure: Measure[P]) -> None:
        self.express, self.measure = express, measure
        self.known: dict[Genome, float] = {}
        self.programs: dict[Any, float] = {}
        self.measured = 0

    def times(self, genomes: Sequence[Genome]) -> list[float]:
        """Seconds each, infinite for what is refused or fails."""
        wanted: dict[Any, tuple[P, list[Genome]]] = {}
        for g in genomes:
            if g in self.known:
                continue
            program = self.express(g)
            if program is None:
                self.known[g] = math.inf
                continue
            identity = getattr(program, "key", program)
            if identity in self.programs:
                self.known[g] = self.programs[identity]
            else:
                wanted.setdefault(identity, (program, []))[1].append(g)
        if wanted:
            found = self.measure([p for p, _ in wanted.values()])
            self.measured += len(wanted)
            for (identity, (_, sharing)), t in zip(wanted.items(), found, strict=True):
                good = t is not None and math.isfinite(t) and t > 0
                self.programs[identity] = float(t) if good and t is not None else math.inf
                for g in sharing:
                    self.known[g] = self.programs[identity]
        return [self.known[g] for g in genomes]


def minimise(genome: Genome, express: Express[P], measure: Measure[P], tolerance: float = 0.02) -> Genome:
    """The genome without genes whose absence costs no more than ``tolerance`` of the *whole* genome's time in all (the
    bound never moves, so many small losses cannot add up). No single gene of the result can be dropped."""
    return _minimise(genome, _Bench(express, measure), tolerance)


def _minimise(genome: Genome, bench: _Bench[P], tolerance: float) -> Genome:
    (full,) = bench.times([genome])
    bound = full * (1 + tolerance)
    current = genome
    while current and math.isfinite(full):
        without = [current[:i] + current[i + 1:] for i in range(len(current))]
        times = bench.times(without)
        harmless = sorted((t, i) for i, t in enumerate(times) if t <= bound)
        if not harmless:
            break
        # All of them at once, then half: usually one or two measurements instead of a round for each gene.
        number = len(harmless)
        while number > 1:
            gone = {i for _, i in harmless[:number]}
            attempt = tuple(g for i, g in enumerate(current) if i not in gone)
            if bench.times([attempt])[0] <= bound:
                break
            number //= 2
        gone = {i for _, i in harmless[:number]}
        current = tuple(g for i, g in enumerate(current) if i not in gone)
    return current


def ladder(genome: Genome, express: Express[P], measure: Measure[P], tolerance: float = 0.02) -> Ladder:
    """Minimises ``genome``, then measures each of its prefixes, the baseline first. Raises ValueError when the baseline
    or the whole genome cannot be measured."""
    bench = _Bench(express, measure)
    base, full = bench.times([(), genome])
    if not (math.isfinite(base) and math.isfinite(full)):
        raise ValueError(("the baseline" if not math.isfinite(base) else "the genome") + " cannot be measured")
    minimal = _minimise(genome, bench, tolerance)
    times = bench.times([minimal[:n] for n in range(len(minimal) + 1)])
    steps = [Step((), base, 1.0)]
    waiting: list[Gene] = []
    for gene, t in zip(minimal, times[1:], strict=True):
        waiting.append(gene)
        if math.isfinite(t):
            steps.append(Step(tuple(waiting), t, steps[-1].seconds / t))
            waiting = []
    return Ladder(tuple(steps), _without(genome, minimal), bench.measured)


def _without(genome: Genome, kept: Genome) -> Genome:
    """The genes of ``genome`` that its subsequence ``kept`` lacks."""
    rest, gone = list(kept), []
    for g in genome:
        if rest and rest[0] == g:
            rest.pop(0)
        else:
            gone.append(g)
    return tuple(gone)
