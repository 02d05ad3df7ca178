"""Finalists under a tool that watches every access: races, uninitialised reads and accesses out of bounds that happened
to give the right values (evaluator.md C13, C14).

compute-sanitizer on CUDA, Oclgrind for OpenCL, each where it is installed. A kind of finding counts against a finalist
when the baseline is free of it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from genome.errors import InputError
from gpu import limits, oclgrind, sanitizer
from gpu.build import Built
from gpu.setup import Setup
from gpu.sizes import shape_scalars, work

# Of the size that Oclgrind interprets, by the number of its extents (a third one is mostly summed over): some three
# seconds for a candidate.
MOST_WORK = (0.0, 2.0**12, 2.0**14, 2.0**19)
LIMIT, LEAST = 30.0, 3.0  # seconds for Oclgrind; what a tool gets even when the budget is used up
EXPECTED = {"opencl": 4.0, "cuda": 12.0}  # seconds


@dataclass(frozen=True)
class Watched:
    """``findings``: what the finalist does and the baseline does not, by kind; ``notes``: why nothing was watched."""

    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


Found = dict[str, str]  # kind of finding -> the first of it


def expected(backend: str) -> float:
    """Seconds that watching a finalist takes, roughly; 0 where nothing is installed."""
    if backend == "opencl":
        return EXPECTED[backend] if oclgrind.available() else 0.0
    return EXPECTED["cuda"] if sanitizer.available() else 0.0


def finalist(backend: str, setup: Setup, built: Built, support: dict[str, Built], until: float = math.inf) -> Watched:
    """Watches a program, and the baseline only when something was found. ``until``, on time.monotonic's clock: when it
    should end; it gets ``LEAST`` seconds in any case."""
    try:
        until = max(until, time.monotonic() + LEAST)
        look = _oclgrind(setup, built, until) if backend == "opencl" else _sanitizer(setup, support, until)
        found = look(built)
    except InputError as e:  # the tool is missing, or cannot run this program
        return Watched(notes=(e.message,))
    if not found:
        return Watched()
    until = max(until, time.monotonic() + LIMIT)  # a finding is not believed for lack of time
    try:
        look = _oclgrind(setup, built, until) if backend == "opencl" else _sanitizer(setup, support, until)
        known = look(setup.baseline)
    except InputError as e:  # guilty until verified: nothing says that the baseline does it too
        return Watched(tuple(found.values()), (f"the baseline could not be watched: {e.message}",))
    return Watched(tuple(text for kind, text in found.items() if kind not in known))


def _oclgrind(setup: Setup, built: Built, until: float) -> Callable[[Built], Found]:
    if not oclgrind.available():
        raise InputError("not watched for races: Oclgrind is not installed")
    most = MOST_WORK[min(len(shape_scalars(setup.workload)), 3)]
    fit = [p.size for p in setup.proxies if work(setup.workload, p.size) <= most
           and limits.applies(built.program, setup.workload.scalars(p.size))]
    if not fit:
        raise InputError("not watched for races: no size is small enough for Oclgrind")
    size = max(fit, key=lambda s: work(setup.workload, s))

    def look(program: Built) -> Found:
        result: Found = {}
        limit = min(LIMIT, until - time.monotonic())
        for finding in oclgrind.check(program.program, setup.workload, size, setup.options.seed, limit):
            result.setdefault(finding.kind, f"Oclgrind at size {size}: {finding}")
        return result

    return look


def _sanitizer(setup: Setup, support: dict[str, Built], until: float) -> Callable[[Built], Found]:
    if not sanitizer.available():
        raise InputError("not watched for races: compute-sanitizer is not installed")

    def look(program: Built) -> Found:
        report = sanitizer.check(setup, program, support, until=until)
        if report.notes and not report.findings:
            raise InputError("not watched for races: " + "; ".join(report.notes))
        result: Found = {}
        for text in report.findings:
            result.setdefault(text.split(":")[0], f"compute-sanitizer {text}")
        return result

    return look
