"""What each gene of the champion brings: the ladder, measured by the run's own evaluator."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, Protocol

from evo.search.space import Space
from genome.errors import Refusal
from genome.gene import Genome
from genome.program import Program
from gpu.interface import Evaluator
from gpu.records import Evaluation, Verdict
from results.explain import ladder
from results.records import Candidate


class LadderStore(Protocol):
    def candidate(self, key: str) -> Candidate: ...

    def candidates(self) -> list[Candidate]: ...

    def evaluations(self) -> list[Evaluation]: ...

    def event(self, kind: str, data: dict[str, Any]) -> None: ...


class Late(Exception):
    """The time for the ladder is over."""


class Bench:
    """Measures programs through the evaluator; what the run measured already is not measured again."""

    def __init__(self, evaluator: Evaluator, known: dict[str, float], binaries: dict[str, float], end: float,
                 prefix: str = "ladder") -> None:
        self.evaluator, self.known, self.binaries, self.end, self.prefix = evaluator, known, binaries, end, prefix
        self.serial = 0

    def measure(self, programs: Sequence[Program]) -> list[float | None]:
        waiting: dict[str, str] = {}
        for p in programs:
            if p.key not in self.known:
                self.serial += 1
                key = f"{self.prefix}{self.serial:04d}"
                waiting[key] = p.key
                self.evaluator.submit(key, p)
        while waiting:
            if time.monotonic() > self.end:
                raise Late
            for e in self.evaluator.collect(0.2):
                name = waiting.pop(e.key, None)
                if name is not None:
                    self.known[name] = self._seconds(e)
        return [self.known[p.key] if math.isfinite(self.known[p.key]) else None for p in programs]

    def _seconds(self, e: Evaluation) -> float:
        if e.timings and e.verdict in (Verdict.OK, Verdict.ABORTED_SLOW, Verdict.DUPLICATE):
            self.binaries.setdefault(e.resources.binary, mean_seconds(e))
            return mean_seconds(e)
        if e.verdict is Verdict.DUPLICATE:
            return self.binaries.get(e.resources.binary, math.inf)
        return math.inf


def mean_seconds(e: Evaluation) -> float:
    """Geometric mean over the tune sizes."""
    return math.exp(sum(math.log(t.median) for t in e.timings) / len(e.timings))


def program_of(space: Space, genome: Genome) -> Program | None:
    """None where a gene, or the emission, is refused."""
    x = space.express(genome)
    if x.refusals:
        return None
    try:
        return space.program(x)
    except Refusal:
        return None


def late_ladder(space: Space, evaluator: Evaluator, store: LadderStore, champion: str, *, seconds: float) -> bool:
    """Measures the champion's ladder within ``seconds`` and keeps it as the run's "ladder" event; False when the time
    did not suffice or a step could not be measured."""
    genome = store.candidate(champion).genome
    timed = {e.key: e for e in store.evaluations() if e.timings and e.verdict is Verdict.OK}
    binaries = {e.resources.binary: mean_seconds(e) for e in timed.values() if e.resources.binary}
    known: dict[str, float] = {}

    def program(g: Genome) -> Program | None:
        return program_of(space, g)

    for key, g in (("baseline", ()), (champion, genome)):
        p = program(g)
        if p is not None and key in timed:
            known[p.key] = mean_seconds(timed[key])
    bench = Bench(evaluator, known, binaries, time.monotonic() + seconds)
    try:
        found = ladder(genome, program, bench.measure)
    except (Late, ValueError):
        return False
    store.event("ladder", {"key": champion, **found.as_dict()})
    return True
