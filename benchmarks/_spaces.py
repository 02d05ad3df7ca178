"""Searches on recorded spaces for benchmarks/search.py: the default, its ablations, and random draws."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from evo.engine import Setup, run
from evo.search.options import Options
from evo.tuning import replay, restrictions
from evo.tuning.agents import AGENTS, ALL
from evo.tuning.search import Settings
from evo.tuning.space import TuningSpace
from gpu.records import Verdict
from gpu.replay import RecordedSpace, ReplayEvaluator, load_space
from gpu.replay.program import program
from gpu.replay.scoring import HORIZON, Scorer
from tests.evo.landscape import MemoryStore, Quiet

Times = list[float | None]
Search = Callable[[RecordedSpace, TuningSpace, int], Times]


@dataclass(frozen=True)
class Result:
    """Of one variant on one space; fractions of the optimum are medians over the seeds at MARKS evaluations."""

    space: str
    variant: str
    seeds: int
    cut: int
    score: float
    fractions: tuple[float, ...]
    failures: float  # mean number in a search
    seconds: float  # processor time a search
    curves: tuple[tuple[float, ...], ...]


MARKS = (20, 50, 100, 200)


def tuned(settings: Settings) -> Search:
    def search(record: RecordedSpace, space: TuningSpace, seed: int) -> Times:
        start = program(record.kernel, dict(zip(space.parameters.names, space.default, strict=True)))
        with ReplayEvaluator(record, start) as evaluator:
            return [s.seconds for s in replay.search(space, evaluator, HORIZON, seed, settings)]
    return search


def evolved(**options: object) -> Search:
    """The engine for kernels on the same space, from a random configuration that counts as the first evaluation."""
    def search(record: RecordedSpace, space: TuningSpace, seed: int) -> Times:
        rng = np.random.Generator(np.random.PCG64(seed))
        order = [space.parameters.configuration(space.rows[i]) for i in rng.permutation(len(space.rows))]
        times: Times = []
        for c in order:  # the engine wants a baseline that runs
            times.append(record.entries[c].seconds)
            if times[-1] is not None:
                break
        here = TuningSpace(space.parameters, space.rows, space.emit, default=c)
        start = program(record.kernel, dict(zip(space.parameters.names, c, strict=True)))
        store = MemoryStore()
        clock = [0.0]

        def tick() -> float:
            clock[0] += 1e-6
            return clock[0]

        with ReplayEvaluator(record, start) as evaluator:
            run(Setup(here, evaluator, objectives=("latency",)),
                Options(seed=seed, evaluations=HORIZON - len(times), **options), Quiet(), store,  # type: ignore[arg-type]
                clock=tick)
        found = [e for e in store.verdicts if e.key != "baseline"]
        return times + [e.timings[0].median if e.verdict is Verdict.OK else None for e in found]
    return search


def drawn(record: RecordedSpace, space: TuningSpace, seed: int) -> Times:
    rng = np.random.Generator(np.random.PCG64(seed))
    picked = rng.permutation(len(space.rows))[:HORIZON]
    return [record.entries[space.parameters.configuration(space.rows[i])].seconds for i in picked]


VARIANTS: dict[str, tuple[str, Search]] = {
    "default": ("Gaussian process read by two agents in even turns", tuned(Settings())),
    "policy": ("the agents drawn by what they brought, not evenly: the default learns no policy yet",
               tuned(Settings(learns=True))),
    "arena": ("one agent: expected improvement alone", tuned(Settings(agents=AGENTS[:1]))),
    "optimist": ("one agent: the lower confidence bound alone", tuned(Settings(agents=AGENTS[1:2]))),
    "crowd": ("four agents drawn by what they brought", tuned(Settings(agents=ALL, learns=True))),
    "screen": ("no model: the engine's agents and policies alone", evolved(screen=False)),
    "engine": ("the engine for kernels as it is: agents, bandit, tree screen", evolved()),
    "all": ("plain evolution: one agent, even choices, no model", evolved(screen=False, agents=1, policy="uniform")),
    "random": ("random draws without repetition", drawn),
}


def measure(path: Path, variant: str, seeds: Sequence[int]) -> Result:
    """All seeds of one variant on one space; restrictions are read from a sidecar ``NAME.restrictions`` if there is
    one. Raises InputError for a file that is no record."""
    record = load_space(path)
    sidecar = path.with_name(record.name + ".restrictions")
    space = replay.recorded_space(record, restrictions.load(sidecar) if sidecar.exists() else ())
    scorer = Scorer(record.valid)
    began = time.process_time()
    with threadpool_limits(1):  # small matrices gain nothing from threads
        runs = [VARIANTS[variant][1](record, space, s) for s in seeds]
    spent = (time.process_time() - began) / len(runs)
    curves = [scorer.best_so_far(r) for r in runs]
    return Result(record.name, variant, len(runs), scorer.cut, scorer.score(curves),
                  tuple(scorer.fraction(curves, n) for n in MARKS),
                  sum(sum(t is None for t in r) for r in runs) / len(runs), spent,
                  tuple(tuple(float(v) for v in c) for c in curves))
