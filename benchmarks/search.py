"""Scores the search on recorded tuning spaces (Kernel Tuner cache files, .json or .json.gz).

    python -m benchmarks.search SPACE.json[.gz]… --seeds 40 [--jobs 2] [--ablate policy,screen,arena,all,random] \
        [--json FILE]

For every space and variant: the score against calculated random search (0 is random, 1 is knowing the answer; mean over
the evaluations up to the cut, 200 at most) and the median fraction of the optimum after 20, 50, 100 and 200 distinct
evaluations, failed ones included. The last line is the mean score of the default search over all spaces. See
docs/search-benchmark.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from joblib import Parallel, delayed

from benchmarks._spaces import MARKS, VARIANTS, Result, measure
from genome.errors import InputError


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("spaces", nargs="+", type=Path, metavar="SPACE")
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--ablate", default="", help="comma-separated: " + ", ".join(
        f"{n} ({text})" for n, (text, _) in VARIANTS.items() if n != "default"))
    parser.add_argument("--json", type=Path, help="write every figure and curve (seconds) here")
    given = parser.parse_args(arguments)
    variants = ["default", *dict.fromkeys(v for v in given.ablate.split(",") if v and v != "default")]
    unknown = [v for v in variants if v not in VARIANTS]
    if unknown or given.seeds < 1:
        parser.error(f"no variant {', '.join(unknown)}" if unknown else "at least one seed")
    results: list[Result] = []
    try:
        for variant in variants:
            tasks = (delayed(measure)(path, variant, range(given.seeds)) for path in given.spaces)
            for r in Parallel(n_jobs=given.jobs, return_as="generator")(tasks):
                results.append(r)
                print(line(r), flush=True)
    except InputError as e:
        print(e, file=sys.stderr)
        return 2
    if given.json:
        given.json.write_text(json.dumps([asdict(r) for r in results]), encoding="utf-8")
    for variant in reversed(variants):  # the default's mean is the last line
        print(summary(variant, [r for r in results if r.variant == variant]))
    return 0


def line(r: Result) -> str:
    reached = " ".join(f"{n}: {f:.3f}" for n, f in zip(MARKS, r.fractions, strict=True))
    return (f"{r.space:24s} {r.variant:8s} score {r.score:6.3f}  of the optimum at {reached}  cut {r.cut}  "
            f"failed {r.failures:.1f}  {r.seconds:.1f} s a search, {r.seeds} seeds")


def summary(variant: str, results: Sequence[Result]) -> str:
    means = [sum(r.fractions[i] for r in results) / len(results) for i in range(len(MARKS))]
    reached = " ".join(f"{n}: {f:.3f}" for n, f in zip(MARKS, means, strict=True))
    return f"{variant}: of the optimum at {reached}; mean score {sum(r.score for r in results) / len(results):.3f}"


if __name__ == "__main__":
    sys.exit(main())
