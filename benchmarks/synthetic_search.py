"""Compares search strategies on the synthetic landscape of the tests: no device, minutes on one core.

    python -m benchmarks.synthetic_search --evaluations 300 --seeds 10 --only full,uniform,no-screen,one-agent

For each variant the geometric mean over the seeds of the *true* speed-up (noise removed) of the best candidate after a
quarter, half and all of the budget, and a paired comparison with ``full``. What it shows is whether the parts of the
search help each other on a problem with coupled genes; it says nothing about any device.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scipy.stats import wilcoxon

from evo.engine import Setup, run
from evo.search.options import Options
from tests.evo.landscape import FakeEvaluator, Landscape, MemoryStore, Quiet, State, seconds

VARIANTS: dict[str, dict[str, Any]] = {
    "full": {},
    "uniform": {"policy": "uniform"},
    "no-screen": {"screen": False},
    "one-agent": {"agents": 1},
    "no-sharing": {"sharing": 0.0},
    "uniform-no-screen": {"policy": "uniform", "screen": False},
    "one-agent-no-screen": {"agents": 1, "screen": False},
}


def curve(options: Options, sketches: bool, noise: float) -> list[float]:
    """ln of the true speed-up of the best (by measurement) so far, after each evaluation."""
    evaluator = FakeEvaluator(options.seed, noise=noise)
    store = MemoryStore()
    run(Setup(Landscape(sketches=sketches), evaluator), options, Quiet(), store, clock=evaluator.clock)
    base = seconds(State())
    best, top, out = 0.0, 0.0, []
    for e in store.verdicts[1:]:
        if e.timings:
            true = math.log(base / seconds(State(**json.loads(store.added[e.key].source))))
            measured = math.log(base / e.timings[0].median)
            if measured > top:
                best, top = true, measured
        out.append(best)
    return out


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--evaluations", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--sketches", action="store_true")
    parser.add_argument("--noise", type=float, default=0.02)
    parser.add_argument("--only", default=",".join(VARIANTS))
    given = parser.parse_args(arguments)
    reference: list[float] | None = None
    n = given.evaluations
    for name in given.only.split(","):
        began = time.process_time()
        curves = []
        for seed in range(given.first_seed, given.first_seed + given.seeds):
            options = replace(Options(seed=seed, evaluations=n), **VARIANTS[name])
            curves.append(curve(options, given.sketches, given.noise))
        points = [[c[min(len(c), max(1, n * q // 4)) - 1] for c in curves] for q in (1, 2, 4)]
        means = [math.exp(sum(p) / len(p)) for p in points]
        text = f"{name:20s} " + " ".join(f"{m:6.2f}x" for m in means)
        cost = 1e3 * (time.process_time() - began) / n / given.seeds
        text += f"  worst {math.exp(min(points[2])):6.2f}x  {cost:5.1f} ms of CPU an evaluation"
        if reference is None:
            reference = points[2]
        elif any(a != b for a, b in zip(points[2], reference, strict=True)):
            p = float(wilcoxon(points[2], reference).pvalue)
            wins = sum(b > a for a, b in zip(points[2], reference, strict=True))
            text += f"  first variant better in {wins}/{len(reference)}, p={p:.3f}"
        print(text, flush=True)


if __name__ == "__main__":
    main()
