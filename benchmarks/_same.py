"""A against A: each example's baseline timed against itself, in both orders."""

from __future__ import annotations

import math
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evo.problem import load_problem
from evo.start import analyse, build_flags, language
from genome.express import emit
from gpu import statistics
from gpu.evaluator import open_evaluator
from gpu.interface import EvaluatorOptions

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
ALLOWED = 0.01  # on a GPU, for kernels over LONG
LONG = 50e-6  # seconds
ENOUGH = 480.0


def add(parser: ArgumentParser) -> None:
    names = sorted(p.parent.name for p in EXAMPLES.glob("*/evo.toml"))
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--repeats", type=int, default=3, help="confirmations whose samples are pooled")


def measure(name: str, backend: str, repeats: int) -> dict[str, Any]:
    """``orders``: ratio with its interval where A came first, and where A came second. The samples of a confirmation
    are taken A B B A: the even ones of both are neighbours with A first, the odd ones with A second."""
    problem = load_problem(EXAMPLES / name, backend)
    base = emit(analyse(problem), language(problem))
    first: tuple[list[float], list[float]] = [], []
    second: tuple[list[float], list[float]] = [], []
    with TemporaryDirectory(prefix="evo-same-") as cache:
        options = EvaluatorOptions(flags=build_flags(problem), cache_dir=cache, watch=False)
        with open_evaluator(backend, problem.workload, base, options) as evaluator:
            evaluator.gate()
            for n in range(repeats):
                c = evaluator.confirm(f"same {n}", base)
                if not c.baseline or not c.candidate:
                    return {"kernel": name, "error": c.evaluation.reason}
                a, b = c.baseline[0].samples, c.candidate[0].samples
                first[0].extend(a[0::2])
                first[1].extend(b[0::2])
                second[0].extend(a[1::2])
                second[1].extend(b[1::2])
    both = [statistics.ratio(a, b, 0) for a, b in (first, second)]
    whole = statistics.ratio(first[0] + second[0], first[1] + second[1], 0)
    return {"kernel": name, "size": str(problem.workload.tune[0]), "seconds": statistics.timing("", first[0]).median,
            "samples": len(first[0]), "orders": both, "ratio": whole}


def run(args: Namespace, backend: str) -> dict[str, Any]:
    begin = time.monotonic()
    rows = []
    for name in args.only:
        if time.monotonic() - begin > ENOUGH:
            rows.append({"kernel": name, "error": "no time left"})
            continue
        rows.append(measure(name, backend, args.repeats))
        print(f"{name} done after {time.monotonic() - begin:.0f} s", flush=True)
    print(f"{'kernel':<18} {'time':>10}  samples  A first                   A second                  both")
    worst = 0.0
    for r in rows:
        if "error" in r:
            print(f"{r['kernel']:<18} {r['error']}")
            continue
        if r["seconds"] > LONG:
            worst = max(worst, *(abs(math.log(x[0])) for x in (*r["orders"], r["ratio"])))
        text = "  ".join("{:.4f} ({:.4f} to {:.4f})".format(*x) for x in (*r["orders"], r["ratio"]))
        print(f"{r['kernel']:<18} {r['seconds'] * 1e6:>8.1f}us  {r['samples']:>7}  {text}"
              + ("" if r["seconds"] > LONG else "  (short)"))
    print(f"largest deviation from 1 for kernels over 50 us: {100 * math.expm1(worst):.2f} %"
          + ("" if backend == "cuda" else " (on a CPU whose cores others use: no promise)"))
    broken = backend == "cuda" and (math.expm1(worst) > ALLOWED or any("error" in r for r in rows))
    return {"rows": rows, "worst": math.expm1(worst), "broken": broken}
