"""Many identical clones of one kernel: none may be called a winner."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import _tunable
from evo.problem import load_problem
from evo.search import gains
from genome.program import Program
from genome.workload import Size, Workload
from gpu.evaluator import open_evaluator
from gpu.interface import EvaluatorOptions
from gpu.records import Evaluation, Verdict

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
CONFIGURATION = {"cuda": (32, 8, 4, 4, 16, 4), "opencl": (16, 8, 1, 1, 16, 1)}
SIZES = {"cuda": 1024, "opencl": 128}
ENOUGH = 500.0  # seconds after which no further clone is confirmed


def clone(backend: str, number: int) -> Program:
    """The same kernel with another constant in code that never runs: another binary, the same work."""
    configuration = CONFIGURATION[backend]
    whole = _tunable.opencl(configuration) if backend == "opencl" else _tunable.program(configuration)
    head, brace, tail = whole.source.rpartition("}")
    return replace(whole, source=f"{head}    if (M < 0) C[0] = {number}.5f;\n{brace}{tail}")


def workload(backend: str, size: int) -> Workload:
    cube = Size((("M", size), ("N", size), ("K", size)))
    return replace(load_problem(EXAMPLES / "sgemm", backend).workload, tune=(cube,), check=())


def gain(evaluation: Evaluation, baseline: Evaluation) -> tuple[float, float]:
    """As the search computes it: logarithm of the speed-up, and its lower bound."""
    base, own = baseline.timings, evaluation.timings
    return gains.gain(base, own, (1.0,)), gains.gain_low(base, own, (1.0,))


def add(parser: ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--size", type=int, help="of each edge; default 1024 on CUDA, 128 on OpenCL")
    parser.add_argument("--seed", type=int, default=0, help="of the data")


def run(args: Namespace, backend: str) -> dict[str, Any]:
    begin = time.monotonic()
    size = args.size or SIZES[backend]
    champions: list[str] = []
    winners: list[str] = []
    ratios: list[tuple[float, float]] = []
    with TemporaryDirectory(prefix="evo-clones-") as cache:
        options = EvaluatorOptions(cache_dir=cache, seed=args.seed, watch=False)  # only times are in question
        with open_evaluator(backend, workload(backend, size), clone(backend, 0), options) as evaluator:
            baseline = evaluator.gate().evaluation
            programs = {f"clone {n}": clone(backend, n) for n in range(1, args.count + 1)}
            for key, program in programs.items():
                evaluator.submit(key, program)
            found: dict[str, Evaluation] = {}
            best = 0.0
            while evaluator.pending():
                for e in evaluator.collect(1.0):
                    found[e.key] = e
                    if e.verdict is not Verdict.OK:
                        continue
                    value, low = gain(e, baseline)
                    if low > 0 and value > best:  # what the search would take for its champion until it is confirmed
                        best = value
                        champions.append(e.key)
                        evaluator.set_champion(e.key, programs[e.key], e.timings[0].median)
            promising = sorted((k for k, e in found.items() if e.verdict is Verdict.OK),
                               key=lambda k: -gain(found[k], baseline)[1])
            for key in promising:
                if time.monotonic() - begin > ENOUGH:
                    break
                c = evaluator.confirm(key, programs[key])
                ratios.append(c.speedups[0][1:3] if c.speedups else (0.0, 0.0))
                if c.accepted:
                    winners.append(key)
            device = evaluator.device.name
    verdicts = Counter(e.verdict.value for e in found.values())
    print(f"{args.count} clones of one kernel at {size}x{size}x{size} on {device}, baseline "
          f"{baseline.timings[0].median * 1e6:.1f} us: " + ", ".join(f"{n} {v}" for v, n in verdicts.items()))
    means = sorted(r for r, _ in ratios)
    if means:
        print(f"ratios to the baseline when confirmed: {means[0]:.4f} to {means[-1]:.4f}, highest lower bound "
              f"{max(low for _, low in ratios):.4f}")
    print(f"provisional champions during the search {len(champions)}; confirmed {len(ratios)} of {args.count}; "
          f"false winners {len(winners)} ({time.monotonic() - begin:.0f} s)")
    broken = bool(winners) or verdicts != Counter({"ok": args.count})
    return {"device": device, "size": size, "count": args.count, "verdicts": dict(verdicts), "champions": champions,
            "winners": winners, "ratios": ratios, "confirmed": len(ratios), "seconds": time.monotonic() - begin,
            "baseline_seconds": baseline.timings[0].median, "broken": broken}
