"""The baseline with its best block size: a weak baseline must not pass for a fast champion (evaluator.md T21)."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Mapping, Sequence

from evo.search.ladder import Bench, LadderStore, Late, mean_seconds, program_of
from evo.search.space import Space
from genome.gene import Gene, Genome, ParamValue, to_json
from gpu.interface import Evaluator
from gpu.records import Verdict

MUTATOR = "AdjustBlockSize"
MOST = 8  # blocks timed
THREADS = (64, 128, 256, 512)


def blocks(domain: Mapping[str, Sequence[ParamValue]], most: int = MOST) -> list[dict[str, ParamValue]]:
    """At most ``most`` block shapes of 64 to 512 threads, spread evenly over what the domain has, rows before columns
    (neighbouring threads mostly take neighbouring elements)."""
    names = list(domain)
    found = [dict(zip(names, values, strict=True)) for values in itertools.product(*domain.values())
             if _product(values) in THREADS]
    found.sort(key=lambda b: (-_product([b[names[0]]]), _product(list(b.values()))))
    step = max(1.0, len(found) / most)
    return [found[int(i * step)] for i in range(min(most, len(found)))]


def _product(values: Sequence[ParamValue]) -> int:
    return math.prod([v for v in values if isinstance(v, int)])


def best_block(space: Space, evaluator: Evaluator, store: LadderStore, *, seconds: float) -> bool:
    """Times the baseline with other blocks within ``seconds`` and keeps the best as the run's "blocks" event; False
    where the block is not free or the time did not suffice."""
    base = space.express(())
    sites = [p.site for p in space.places(base) if p.mutator == MUTATOR]
    if not sites:
        return False
    timed = {e.key: e for e in store.evaluations() if e.timings and e.verdict is Verdict.OK}
    known: dict[str, float] = {}
    genomes: dict[str, Genome] = {}
    for candidate in store.candidates():
        if candidate.key in timed and all(g.mutator == MUTATOR for g in candidate.genome):
            program = program_of(space, candidate.genome)
            if program is not None:
                known[program.key] = mean_seconds(timed[candidate.key])
                genomes.setdefault(program.key, candidate.genome)
    own = program_of(space, ())
    if own is None or own.key not in known:
        return False
    wanted = {}
    for params in blocks(space.domain(base, MUTATOR, sites[0])):
        genome = (Gene.make(MUTATOR, sites[0], **params),)
        program = program_of(space, genome)
        if program is not None:
            genomes.setdefault(program.key, genome)
            wanted[program.key] = program
    binaries = {e.resources.binary: mean_seconds(e) for e in timed.values() if e.resources.binary}
    bench = Bench(evaluator, known, binaries, time.monotonic() + seconds, "block")
    try:
        bench.measure(list(wanted.values()))
    except Late:
        return False
    times = {key: bench.known[key] for key in genomes if math.isfinite(bench.known.get(key, math.inf))}
    best = min(times, key=lambda key: times[key])
    store.event("blocks", {"genome": to_json(genomes[best]) if genomes[best] else "", "seconds": times[best],
                           "baseline": times[own.key], "measured": len(times) - 1})
    return True
