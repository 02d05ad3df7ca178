"""Finalists under a tool that watches every access: races, uninitialised reads and accesses out of bounds that happened
to give the right values (evaluator.md C13, C14).

compute-sanitizer on CUDA, Oclgrind for OpenCL, each where it is installed. A kind of finding counts against a finalist
when the baseline is free of it.
"""

from __future__ import annotations

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
LIMIT = 30.0  # seconds for Oclgrind


@dataclass(frozen=True)
class Watched:
    """``findings``: what the finalist does and the baseline does not, by kind; ``notes``: why nothing was watched."""

    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


Found = dict[str, str]  # kind of finding -> the first of it


def finalist(backend: str, setup: Setup, built: Built, support: dict[str, Built]) -> Watched:
    """Watches a program, and the baseline only when something was found."""
    try:
        look = _oclgrind(setup, built) if backend == "opencl" else _sanitizer(setup, support)
        found = look(built)
        if found:
            known = look(setup.baseline)
            found = {kind: text for kind, text in found.items() if kind not in known}
    except InputError as e:  # the tool is missing, or cannot run this program
        return Watched(notes=(e.message,))
    return Watched(tuple(found.values()))


def _oclgrind(setup: Setup, built: Built) -> Callable[[Built], Found]:
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
        for finding in oclgrind.check(program.program, setup.workload, size, setup.options.seed, LIMIT):
            result.setdefault(finding.kind, f"Oclgrind at size {size}: {finding}")
        return result

    return look


def _sanitizer(setup: Setup, support: dict[str, Built]) -> Callable[[Built], Found]:
    if not sanitizer.available():
        raise InputError("not watched for races: compute-sanitizer is not installed")

    def look(program: Built) -> Found:
        report = sanitizer.check(setup, program, support)
        if report.notes and not report.findings:
            raise InputError("not watched for races: " + "; ".join(report.notes))
        result: Found = {}
        for text in report.findings:
            result.setdefault(text.split(":")[0], f"compute-sanitizer {text}")
        return result

    return look
