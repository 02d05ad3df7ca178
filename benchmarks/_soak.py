"""Hundreds of candidates, a quarter of them faulty: every verdict right, memory flat, nothing left behind."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benchmarks import _planted, _processes
from gpu.evaluator import open_evaluator
from gpu.interface import EvaluatorOptions
from gpu.records import Evaluation, Verdict

DEPTH = 6  # candidates in the evaluator at once
GROWTH = 24 * 2**20  # bytes that the median may grow from one half of the run to the other
ENOUGH = 520.0  # seconds


@dataclass
class Memory:
    """Resident memory, sampled while it runs: the parent's, and the largest of each role's processes."""

    samples: dict[str, list[tuple[float, int]]] = field(default_factory=dict)
    pids: set[int] = field(default_factory=set)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Memory:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        assert self._thread is not None
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.5):
            now = time.monotonic()
            largest: dict[str, int] = {}
            own = _processes.process(os.getpid())
            if own is not None:
                largest["parent"] = own.rss
            for child in _processes.children(os.getpid()):
                if child.role:
                    self.pids.add(child.pid)
                    largest[child.role] = max(largest.get(child.role, 0), child.rss)
            for role, rss in largest.items():
                self.samples.setdefault(role, []).append((now, rss))

    def halves(self) -> dict[str, tuple[int, int]]:
        """Median bytes by role in the second quarter of the run (past the start) and in the last one."""
        out = {}
        for role, samples in self.samples.items():
            n = len(samples)
            if n >= 8:
                out[role] = (int(median(r for _, r in samples[n // 4: n // 2])),
                             int(median(r for _, r in samples[3 * n // 4:])))
        return out


def add(parser: ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0, help="of faults, their order and the data")


def run(args: Namespace, backend: str) -> dict[str, Any]:
    begin = time.monotonic()
    planted = {p.key: p for p in _planted.draw(backend, args.count, args.seed)}
    waiting = list(planted.values())
    found: dict[str, Evaluation] = {}
    with tempfile.TemporaryDirectory(prefix="evo-soak-") as folder, Memory() as memory:
        before, tempfile.tempdir = tempfile.tempdir, folder  # the children's scratch folders are counted at the end
        try:
            options = EvaluatorOptions(cache_dir=os.path.join(folder, "cache"), seed=args.seed, hang_seconds=2.0,
                                       samples=5, slow_factor=20.0)
            baseline = _planted.product(backend, 0)
            with open_evaluator(backend, _planted.workload(backend), baseline, options) as evaluator:
                evaluator.gate()
                best = float("inf")
                while waiting or evaluator.pending():
                    if time.monotonic() - begin > ENOUGH:
                        break
                    while waiting and evaluator.pending() < DEPTH:
                        p = waiting.pop(0)
                        evaluator.submit(p.key, p.program)
                    for e in evaluator.collect(0.5):
                        found[e.key] = e
                        if e.verdict is Verdict.OK and e.timings[0].median < 0.98 * best:
                            best = e.timings[0].median
                            evaluator.set_champion(e.key, planted[e.key].program, best)
                device = evaluator.device.name
            scratch = [f for f in os.listdir(folder) if f.startswith("evo-child-")]
        finally:
            tempfile.tempdir = before
    left = _processes.left(memory.pids)
    wrong = [f"{k}: {e.verdict.value} {e.reason}" for k, e in found.items()
             if e.verdict not in _planted.RIGHT[planted[k].kind]]
    return report(args, device, planted, found, wrong, memory, left, scratch, time.monotonic() - begin)


def report(args: Namespace, device: str, planted: dict[str, _planted.Planted], found: dict[str, Evaluation],
           wrong: list[str], memory: Memory, left: list[int], scratch: list[str], seconds: float) -> dict[str, Any]:
    """Prints the table; ``broken`` when anything was not as promised."""
    print(f"{args.count} candidates on {device}, seed {args.seed}, {len(found)} judged in {seconds:.0f} s")
    kinds = Counter(planted[k].kind for k in found)
    for kind in _planted.RIGHT:
        verdicts = Counter(e.verdict.value for k, e in found.items() if planted[k].kind == kind)
        print(f"  {kind:<14} {kinds[kind]:>4}: " + ", ".join(f"{n} {v}" for v, n in verdicts.items()))
    halves = memory.halves()
    for role, (early, late) in halves.items():
        print(f"  resident memory, {role}: {early >> 20} MiB in the second quarter, {late >> 20} MiB in the last")
    grown = [role for role, (early, late) in halves.items() if late - early > GROWTH]
    for text in wrong:
        print(f"  WRONG VERDICT {text}")
    print(f"{len(wrong)} wrong verdicts, {args.count - len(found)} missing; {len(memory.pids)} child processes seen, "
          f"{len(left)} left; {len(scratch)} scratch folders left; memory "
          + (f"grew: {', '.join(grown)}" if grown else "flat"))
    broken = bool(wrong or left or scratch or grown or len(found) < args.count)
    return {"count": args.count, "seed": args.seed, "device": device, "seconds": seconds, "wrong": wrong,
            "kinds": dict(kinds), "verdicts": dict(Counter(e.verdict.value for e in found.values())),
            "memory": halves, "left": left, "scratch": len(scratch), "children": len(memory.pids), "broken": broken}
