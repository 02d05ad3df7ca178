"""Whole runs on the examples, with the reference timed in the same command.

    python -m benchmarks.kernels [--only NAME ...] [--budget 5m] [--seeds 3] [--backend auto] [--json FILE]
                                 [--no-sketches] [--policy uniform] [--no-screen] [--agents N]

Prints per kernel and seed the confirmed times at every size, and at the end medians, worst and the ratio to the
reference (reference time over champion time: 1.0 is as fast as the reference). Budgets are per run: choose
``--budget`` and ``--seeds`` so that a command ends in nine minutes.
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import _references
from evo.backend import choose
from evo.dispatch import run_dispatch
from evo.problem import load_problem
from evo.search.options import Options
from evo.start import run_problem
from results.folders import latest_run
from results.store import Store

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def one_run(name: str, seed: int, args: argparse.Namespace, backend: str, out: Path) -> dict[str, Any]:
    """One search; the record holds seconds at every size, tune sizes first."""
    problem = load_problem(EXAMPLES / name, backend, args.budget)
    options = Options(seed=seed, seconds=problem.budget_seconds, evaluations=problem.budget_evaluations,
                      policy=args.policy, screen=not args.no_screen, sketches=not args.no_sketches,
                      agents=args.agents)
    folder = out / f"{name}-{seed}"
    folder.mkdir(parents=True)
    run = run_dispatch if problem.dispatch else run_problem
    run(problem, options, folder, Console(file=io.StringIO()))
    with Store.open(latest_run(folder)) as store:
        champion = store.champion()
        confirmed = store.confirmation(champion.key) if champion is not None else None
        baseline = store.baseline()
        record: dict[str, Any] = {
            "kernel": name, "seed": seed, "candidates": len(store.evaluations()) - 1, "seconds": store.elapsed(),
            "verdicts": {v.value: n for v, n in store.verdict_counts().items()},
            "sizes": [dict(s.values) for s in (*problem.workload.tune, *problem.workload.check)],
            "tune": len(problem.workload.tune),
            "confirmed": confirmed is not None and confirmed.accepted,
        }
        if confirmed is not None and champion is not None:
            record |= {"baseline": [t.median for t in confirmed.baseline],
                       "best": [t.median for t in confirmed.candidate],
                       "spread": [t.cv for t in confirmed.candidate],
                       "genome": [str(g) for g in champion.genome], "agent": champion.agent}
            record["ladder"] = [e.data for e in store.events("ladder")]
        elif baseline is not None:
            record |= {"baseline": [t.median for t in baseline.timings], "best": [t.median for t in baseline.timings]}
    return record


def summary(records: list[dict[str, Any]], references: dict[str, list[dict[str, Any]]]) -> list[str]:
    lines = []
    for name in dict.fromkeys(r["kernel"] for r in records):
        runs = [r for r in records if r["kernel"] == name]
        for i, size in enumerate(runs[0]["sizes"]):
            best = [r["best"][i] for r in runs if i < len(r["best"])]
            base = [r["baseline"][i] for r in runs if i < len(r["baseline"])]
            if not best:
                continue
            text = (f"{name:<18} {'x'.join(map(str, size.values())):<16} "
                    f"baseline {statistics.median(base) * 1e3:9.4f} ms  "
                    f"best {statistics.median(best) * 1e3:9.4f} ms (worst {max(best) * 1e3:.4f})"
                    f"  {statistics.median(base) / statistics.median(best):6.2f}x")
            for ref in references.get(name, []):
                if ref["size"] == size:
                    text += (f"  | {ref['name']} {ref['seconds'] * 1e3:.4f} ms, ratio "
                             f"{ref['seconds'] / statistics.median(best):.3f} (worst {ref['seconds'] / max(best):.3f})")
            lines.append(text)
        lines += _mean(name, runs, references.get(name, []))
    return lines


def _mean(name: str, runs: list[dict[str, Any]], references: list[dict[str, Any]]) -> list[str]:
    """Geometric mean of the ratios over the tune sizes, where there are several."""
    count = runs[0].get("tune", 1)
    known = {str(r["size"]): r["seconds"] for r in references}
    sizes = runs[0]["sizes"][:count]
    if count < 2 or any(str(s) not in known for s in sizes):
        return []
    ratios = [known[str(s)] / statistics.median(r["best"][i] for r in runs) for i, s in enumerate(sizes)]
    return [f"{name:<18} geometric mean of the ratios over {count} sizes: {statistics.geometric_mean(ratios):.3f}, "
            f"worst {min(ratios):.3f}"]


def main() -> int:
    names = sorted(p.parent.name for p in EXAMPLES.glob("*/evo.toml"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--budget", default="5m")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds, from --first on")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--backend", choices=("auto", "cuda", "opencl"), default="auto")
    parser.add_argument("--policy", choices=("bandit", "uniform"), default="bandit")
    parser.add_argument("--agents", type=int, default=Options().agents)
    parser.add_argument("--no-screen", action="store_true")
    parser.add_argument("--no-sketches", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    backend = choose(args.backend, lambda text: print(text, file=sys.stderr))
    records: list[dict[str, Any]] = []
    references: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory(prefix="evo-kernels-") as folder:
        for name in args.only:
            for seed in range(args.first, args.first + args.seeds):
                r = one_run(name, seed, args, backend, Path(folder))
                records.append(r)
                print(f"{name} seed {seed}: {r['candidates']} candidates in {r['seconds']:.0f} s, best "
                      f"{', '.join(f'{t * 1e3:.4f} ms' for t in r['best'])}{'' if r['confirmed'] else ' (baseline)'}",
                      flush=True)
            if backend == "cuda":
                references[name] = _references.times(name, records[-1]["sizes"])
    for line in summary(records, references):
        print(line)
    if args.json is not None:
        found = {"records": records, "references": references, "budget": args.budget}
        args.json.write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
