"""One file of the front-end benchmark in a child process, so that a hang or a crash costs one kernel."""

from __future__ import annotations

import itertools
import multiprocessing
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from evo.between import of_threads
from evo.problem.assume import assumed_for
from evo.problem.guess import block_of
from evo.structure import access_report, element_bytes
from genome import ir, walk
from genome.errors import InputError, Refusal
from genome.frontend.compile_commands import find, flags_of, split_define
from genome.normal import normalise
from genome.scheduled import Scheduled, schedule_kernel
from genome.summary import summarise
from genome.unit import KernelEntry, SourceUnit, list_kernels, load_unit
from mutators.catalogue import CATALOGUE

TRIALS = 12  # parameter choices tried at a site
SITE_SECONDS = 2.0  # for all sites of one transform


@dataclass(frozen=True)
class Task:
    file: str
    include: tuple[str, ...]
    define: tuple[str, ...]
    compile: bool = True
    sites: bool = True
    start: int = 0  # number of kernels that are done


def run_file(task: Task, timeout: float) -> tuple[list[dict[str, Any]], str]:
    """The reports of all kernels of a file, and what is to be said of the file. Never raises, never hangs."""
    kernels: list[dict[str, Any]] = []
    context = multiprocessing.get_context("fork")  # everything above is loaded once
    entries: list[dict[str, Any]] | None = None
    problem = ""
    while entries is None or len(kernels) < len(entries):
        ours, theirs = context.Pipe()
        rest = replace(task, start=len(kernels))
        child = context.Process(target=_child, args=(rest, theirs), daemon=True)
        child.start()
        theirs.close()
        fault = ""
        try:
            while entries is None or len(kernels) < len(entries):
                if not ours.poll(timeout):
                    fault = f"timed out after {timeout:g} s"
                    break
                kind, value = ours.recv()
                if kind == "entries":
                    entries = value
                elif kind == "problem":
                    problem, entries = value, entries or []
                else:
                    kernels.append(value)
        except (EOFError, OSError):
            fault = "the reader crashed"
        finally:
            child.kill()
            child.join()
            ours.close()
        if fault:
            if entries is None:
                return [], fault
            kernels.append(_unread(entries[len(kernels)], fault))
    return kernels, problem


def _unread(entry: dict[str, Any], reason: str, line: int | None = None) -> dict[str, Any]:
    return {**entry, "line": line or entry["line"], "read": False, "reason": reason, "round_trip": "", "sites": {},
            "refusals": [], "opaque": []}


def _child(task: Task, pipe: Connection) -> None:
    try:
        include, defines = task.include, dict(split_define(d) for d in task.define)
        database = find(Path(task.file))
        if database is not None:
            more, macros = flags_of(Path(task.file), database)
            include, defines = include + more, {**macros, **defines}
        begin = time.process_time()
        entries = list_kernels(task.file, defines=defines, include=include)
        share = (time.process_time() - begin) * 1e3 / max(1, len(entries))  # the file is parsed once for all of them
    except InputError as e:
        pipe.send(("problem", str(e)))
        return
    pipe.send(("entries", [{"name": e.name, "line": e.line, "guessed": e.guessed} for e in entries]))
    for entry in entries[task.start:]:
        pipe.send(("kernel", _kernel(task, entry, include, defines, share)))


def _kernel(task: Task, entry: KernelEntry, include: tuple[str, ...], defines: dict[str, str],
            share: float) -> dict[str, Any]:
    head = {"name": entry.name, "line": entry.line, "guessed": entry.guessed}
    if entry.problem:
        return _unread(head, entry.problem)
    try:
        begin = time.process_time()
        unit = load_unit(task.file, entry.name, defines=defines, include=include, line=entry.line, coordinates=False)
        spent = (time.process_time() - begin) * 1e3 + share
        normalise(load_unit(task.file, entry.name, defines=defines, include=include, line=entry.line).kernel)
    except InputError as e:
        return _unread(head, re.sub(r"'[^']*'", "'...'", e.message), e.line)
    except Exception as e:  # a bug of ours: counted, never raised
        return _unread(head, f"{type(e).__name__}: {e}")
    report: dict[str, Any] = {
        **head, "read": True, "reason": "", "milliseconds": spent, "round_trip": "not tried", "sites": {},
        "refusals": [], "analysis_milliseconds": 0.0, "notes": list(unit.notes), **_opaque(unit.kernel)}
    if task.compile:
        report.update(_round_trip(unit))
    if task.sites:
        try:
            report.update(_sites(task, entry, include, defines))
        except Exception as e:
            report["refusals"] = [f"analysis failed: {type(e).__name__}: {e}"]
    return report


def _opaque(kernel: ir.Kernel) -> dict[str, Any]:
    """Share of statements that are kept as text, or have a part that is. What does nothing when the kernel runs is no
    loss: ``static_assert``, ``using``, a foreign pragma, a pure name like ``sizeof``."""
    statements = [s for s in walk.walk(kernel.body) if isinstance(s, walk.STMTS) and not isinstance(s, ir.Block)]
    parts: list[dict[str, Any]] = []
    count = 0
    for s in statements:
        own: list[Any] = [s] if isinstance(s, ir.Opaque) and s.reason not in (*ir.COMPILE_TIME, "pragma") else [
            n for c in walk.children(s) if isinstance(c, walk.EXPRS) for n in walk.walk(c)
            if isinstance(n, ir.OpaqueExpr) and n.writes]
        count += bool(own)
        parts += [{"line": n.loc.line, "reason": n.reason, "text": n.text[:80]} for n in own]
    return {"statements": len(statements), "opaque_share": count / max(1, len(statements)), "opaque": parts}


def _round_trip(unit: SourceUnit) -> dict[str, str]:
    from benchmarks._ptx import CompileFailed, ptx

    try:
        original = ptx(unit.cuda_original())
    except CompileFailed as e:
        return {"round_trip": "not compilable alone", "why": str(e)}
    try:
        return {"round_trip": "same" if ptx(unit.cuda()) == original else "differs"}
    except CompileFailed as e:
        return {"round_trip": "printed does not compile", "why": str(e)}


def analysed(unit: SourceUnit, block: tuple[int, int, int] | None) -> tuple[Scheduled, float]:
    """The analysed kernel, and the milliseconds of processor time that all analyses take: logical kernel,
    independence of points, sectors of each access, counts, uniformity, races between barriers, bank conflicts."""
    begin = time.process_time()
    assumed = assumed_for(unit, block)
    state = schedule_kernel(unit, assumed.workload, assumed.launch)
    _ = state.logical.mapping_refusal
    for access in state.logical.accesses:
        access_report(access, state)
    of_threads(state, element_bytes)
    summarise(state)
    return state, (time.process_time() - begin) * 1e3


def _sites(task: Task, entry: KernelEntry, include: tuple[str, ...], defines: dict[str, str]) -> dict[str, Any]:
    unit = load_unit(task.file, entry.name, defines=defines, include=include, line=entry.line)
    block = block_of(unit, Path(task.file), include, defines)
    if block is not None:
        unit = load_unit(task.file, entry.name, defines=defines, include=include, line=entry.line, block=block)
    state, spent = analysed(unit, block)
    refusal = state.logical.mapping_refusal
    sites: dict[str, int] = {}
    codes: Counter[str] = Counter()
    for name, mutator in CATALOGUE.items():
        sites[name] = 0
        deadline = time.monotonic() + SITE_SECONDS
        for site in mutator.sites(state):
            legal, why = _legal(state, mutator, site.name, deadline)
            sites[name] += legal
            codes.update(why)
    return {"sites": sites, "refusals": sorted({b.code for b in state.logical.blockers} | (
        {refusal.code} if refusal is not None else set())), "site_refusals": dict(codes),
        "analysis_milliseconds": spent}


def _legal(state: Any, mutator: Any, site: str, deadline: float) -> tuple[bool, Counter[str]]:
    """Whether some of the first parameter choices are legal, else the codes of the refusals."""
    why: Counter[str] = Counter()
    for params in itertools.islice(_choices(mutator.domain(state, site)), TRIALS):
        try:
            added = mutator.check(state, site, params)
            new = mutator.apply(state, site, params)
            new.with_schedule(new.schedule, added).validate()
            return True, Counter()
        except Refusal as r:
            why[r.code] += 1
        if time.monotonic() > deadline:
            break
    return False, why


def _choices(domain: Any) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*domain.values()):
        yield dict(zip(domain, values, strict=True))
