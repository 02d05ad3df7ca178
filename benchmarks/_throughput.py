"""How many candidates the evaluator judges in a minute, and what the device's time goes into."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import _kernel_tuner, _tunable
from evo.problem import load_problem
from evo.start import analyse, build_flags, language
from genome.express import emit
from gpu.evaluator import LocalEvaluator, open_evaluator
from gpu.interface import EvaluatorOptions
from gpu.ledger import Account
from gpu.records import Evaluation, Verdict

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
BETTER = 0.98  # of the champion's time makes a new champion, as in the search
RAMP = 10.0  # seconds at the start that are reported apart: compilers start, the champion is still slow
MINUTE = 60.0


@dataclass
class Run:
    """What was judged, and when (seconds after the first submission)."""

    verdicts: list[tuple[float, Evaluation]] = field(default_factory=list)
    first_minute: Account | None = None
    account: Account = field(default_factory=Account)
    seconds: float = 0.0
    best: float = math.inf
    busy: float | None = None  # part of the time in which the driver saw a kernel running

    def per_minute(self, begin: float = 0.0) -> float:
        count = sum(at > begin for at, e in self.verdicts if judged(e))
        return MINUTE * count / (self.seconds - begin) if self.seconds > begin else math.nan


def judged(e: Evaluation) -> bool:
    """Verified and timed; a hopeless one after its first launches."""
    return e.verdict in (Verdict.OK, Verdict.ABORTED_SLOW)


def feed(evaluator: LocalEvaluator, configurations: list[_tunable.Configuration], seconds: float) -> Run:
    """Keeps the evaluator's queue full as the search does; stops after ``seconds`` or at the end of the list."""
    make = _tunable.opencl if evaluator.device.backend == "opencl" else _tunable.program
    depth = max(1, (os.cpu_count() or 2) - 1) + 4
    waiting = {f"c{i:05d}": c for i, c in enumerate(configurations)}
    programs = {}
    run, begin, before = Run(), time.monotonic(), evaluator.account()
    while time.monotonic() - begin < seconds and (waiting or evaluator.pending()):
        while waiting and evaluator.pending() < depth:
            key = next(iter(waiting))
            programs[key] = make(waiting.pop(key))
            evaluator.submit(key, programs[key])
        for e in evaluator.collect(0.2):
            run.verdicts.append((time.monotonic() - begin, e))
            program = programs.pop(e.key)
            if e.verdict is Verdict.OK and e.timings[0].median < BETTER * run.best:
                run.best = e.timings[0].median
                evaluator.set_champion(e.key, program, run.best)
        if run.first_minute is None and time.monotonic() - begin >= MINUTE:
            run.first_minute = evaluator.account().since(before)
    run.seconds = time.monotonic() - begin
    run.account = evaluator.account().since(before)
    return run


@contextmanager
def utilisation() -> Iterator[list[float]]:
    """Samples, in percent, of the time in which a kernel ran, from the driver; none where it cannot be asked."""
    samples: list[float] = []
    tool = shutil.which("nvidia-smi")
    if tool is None:
        yield samples
        return
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([tool, "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms",
                                    "250"], stdout=out, stderr=subprocess.DEVNULL)
        try:
            yield samples
        finally:
            process.kill()
            process.wait()
            out.seek(0)
            samples += [float(line) for line in out if line.strip().isdigit()]


def ours(configurations: list[_tunable.Configuration], backend: str, seconds: float) -> tuple[Run, float, float]:
    """The run, the gate's seconds and the baseline's."""
    problem = load_problem(EXAMPLES / "sgemm", backend)
    base = analyse(problem)
    with tempfile.TemporaryDirectory(prefix="evo-cold-") as cache:  # nothing compiled before
        options = EvaluatorOptions(flags=build_flags(problem), cache_dir=cache)
        with open_evaluator(backend, problem.workload, emit(base, language(problem)), options) as evaluator:
            begin = time.monotonic()
            report = evaluator.gate()
            gate = time.monotonic() - begin
            with utilisation() as samples:
                run = feed(evaluator, configurations, seconds)
            run.busy = sum(samples) / len(samples) / 100.0 if samples else None
            return run, gate, report.evaluation.timings[0].median


def figures(run: Run) -> dict[str, Any]:
    late = run.account.since(run.first_minute) if run.first_minute is not None else None
    return {
        "seconds": run.seconds, "verdicts": dict(Counter(e.verdict.value for _, e in run.verdicts)),
        "reasons": sorted({f"{e.verdict.value}: {e.reason}" for _, e in run.verdicts
                           if e.verdict not in (Verdict.OK, Verdict.ABORTED_SLOW)})[:5],
        "per_minute": run.per_minute(), "per_second_after_ramp": run.per_minute(RAMP) / MINUTE,
        "best_seconds": run.best, "idle_share": run.account.idle_share, "verify_share": run.account.verify_share,
        "verify_share_after_a_minute": late.verify_share if late is not None else None,
        "device_seconds": run.account.seconds, "utilisation": run.busy,
        "compile_seconds": sum(e.resources.compile_seconds for _, e in run.verdicts),
    }


def lines(name: str, f: dict[str, Any]) -> list[str]:
    verdicts = ", ".join(f"{n} {v}" for v, n in f["verdicts"].items())
    spent = ", ".join(f"{n} {s:.1f} s" for n, s in sorted(f["device_seconds"].items()))
    late, busy = f["verify_share_after_a_minute"], f["utilisation"]
    later = ", the run was shorter than a minute" if late is None else f", {100 * late:.1f} % after the first minute"
    driver = "" if busy is None else f"; a kernel was running {100 * busy:.0f} % of the time, says the driver"
    return [
        f"{name}: {verdicts} in {f['seconds']:.1f} s; best {f['best_seconds'] * 1e3:.3f} ms; compiling took "
        f"{f['compile_seconds']:.0f} s of the compilers' time",
        *(f"  {reason}" for reason in f["reasons"]),
        f"  {f['per_minute']:.0f} a minute; after {RAMP:.0f} s {f['per_second_after_ramp']:.2f} a second",
        f"  device process: {spent}",
        f"  idle with a compiled candidate waiting {100 * f['idle_share']:.1f} %; verification "
        f"{100 * f['verify_share']:.1f} % of verifying and timing{later}{driver}",
    ]


def add(parser: ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=100000, help="configurations at most")
    parser.add_argument("--seconds", type=float, default=100.0, help="for each tuner")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--against", nargs="*", default=[], metavar="BACKEND", choices=_kernel_tuner.BACKENDS,
                        help="Kernel Tuner's back ends to run on the same configurations afterwards: "
                             + ", ".join(_kernel_tuner.BACKENDS))
    parser.add_argument("--rival-seconds", type=float, help="for each of those; default: --seconds")


def run(args: Namespace, backend: str) -> dict[str, Any]:
    configurations = _tunable.draw(args.count, args.seed)
    found, gate, baseline = ours(configurations, backend, args.seconds)
    own = figures(found)
    result: dict[str, Any] = {"baseline_seconds": baseline, "gate_seconds": gate, "configurations": len(configurations),
                              "evo": own, "kernel_tuner": {}}
    rivals = result["kernel_tuner"]
    for name in args.against:
        rivals[name] = _kernel_tuner.measure(configurations, name, args.rival_seconds or args.seconds)
        print(_kernel_tuner.line(name, rivals[name]), flush=True)
    print(f"sgemm: baseline {baseline * 1e3:.3f} ms, gate {gate:.1f} s; {len(configurations)} of "
          f"{len(_tunable.space())} configurations, seed {args.seed}")
    for text in lines("evo", own):
        print(text)
    rates = {n: r["per_minute"] for n, r in rivals.items() if r.get("per_minute")}
    if rates:
        fastest = max(rates, key=lambda n: rates[n])
        result["ratio"] = own["per_minute"] / rates[fastest]
        print(f"  {result['ratio']:.1f} times as many a minute as Kernel Tuner's fastest back end here ({fastest}, "
              f"{rates[fastest]:.0f} a minute)")
    return result
