"""A recorded space as a tuning problem, and one search on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evo.tuning.parameters import Parameters
from evo.tuning.restrictions import Restriction
from evo.tuning.search import Settings, TuningSearch
from evo.tuning.space import TuningSpace
from genome.errors import InputError
from genome.gene import Genome
from gpu.interface import Evaluator
from gpu.records import Verdict
from gpu.replay import RecordedSpace
from gpu.replay.program import program


@dataclass(frozen=True)
class Step:
    """One evaluation: ``seconds`` is None where it failed."""

    genome: Genome
    agent: str
    predicted: float | None
    verdict: Verdict
    seconds: float | None


def recorded_space(record: RecordedSpace, restrictions: Sequence[Restriction] = ()) -> TuningSpace:
    """The recorded configurations are the admissible ones; restrictions can only take further ones away. Raises
    InputError where they leave none."""
    parameters = Parameters(record.parameters)
    rows = parameters.rows(record.entries)
    rows = rows[np.lexsort(rows.T[::-1])]  # in the order of the product, however the file was written
    for r in restrictions:
        unknown = r.names - set(parameters.names)
        if unknown:
            raise InputError(f"the restriction '{r.text}' names {', '.join(sorted(unknown))}, which is no parameter")
        rows = rows[r.holds(parameters.columns(rows, parameters.names))]
    return TuningSpace(parameters, rows, lambda values: program(record.kernel, values))


def search(space: TuningSpace, evaluator: Evaluator, evaluations: int, seed: int,
           settings: Settings | None = None) -> list[Step]:
    """One after the other through the evaluator, until the budget or the space is spent."""
    run = TuningSearch(space, seed, min(evaluations, len(space.rows)), settings)
    out: list[Step] = []
    while len(out) < evaluations and not run.exhausted:
        ask = run.ask()
        genome = space.genome(space.parameters.configuration(run.rows[ask.index]))
        expression = space.express(genome)
        evaluator.submit(f"c{len(out) + 1:06d}", space.program(expression))
        (e,) = evaluator.collect(60.0)
        seconds = e.timings[0].median if e.verdict is Verdict.OK else None
        run.tell(ask, seconds)
        out.append(Step(genome, ask.agent, ask.predicted, e.verdict, seconds))
    return out
