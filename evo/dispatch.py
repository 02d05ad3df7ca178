"""``evo run --dispatch``: a search for each tune size, and one dispatch table of the versions that are worth having.

Each size gets a run of its own in a folder below, which begins with what the earlier ones found. The table is then one
more candidate of the whole problem: verified and confirmed at every size like any other.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from evo import start
from evo.problem import Problem, load_problem
from evo.search.interrupt import stop_on_signals
from evo.search.options import Options
from evo.space import KernelSpace
from genome.errors import InputError
from genome.express import emit
from genome.gene import Genome
from genome.program import Program, launches_to_json
from genome.scheduled import Scheduled
from genome.table import table
from gpu.devices import pick
from gpu.evaluator import LocalEvaluator, open_evaluator
from gpu.records import Evaluation, Verdict
from mutators.catalogue import without
from results import export, report, versions
from results.folders import run_folder
from results.records import Candidate
from results.store import BASELINE, Store
from results.units import duration, factor, seconds

END = 0.35  # share of the budget for comparing the versions and confirming the table
LONGEST_END = 150.0  # seconds
TABLE = "table"
ANY_SPEED = 1e9  # no version is given up as slow: another size may be what it is for


def run_dispatch(problem: Problem, options: Options, out: Path, console: Console | None = None) -> bool | None:
    """As :func:`evo.start.run_problem`."""
    began = time.monotonic()
    options.check()
    check_sizes(problem)
    console = console or Console(soft_wrap=True, highlight=False)
    base = start.analyse(problem)
    folder = run_folder(out, problem.name)
    described = {**start.describe(problem, options, base), "dispatch": True}
    with Store.create(folder, described, start.environment(pick(problem.backend))) as store:
        console.print(f"Run folder: {folder}", markup=False)
        console.print(f"{len(problem.workload.tune)} sizes, one search each; then one dispatch table", markup=False)
        return _go(problem, options, base, store, console, began)


def resume_dispatch(store: Store, budget: str | None, console: Console) -> bool | None:
    """Goes on with the searches that are missing. The store's owner is checked when it is written to."""
    began = time.monotonic()
    options = start.stored_options(store.folder, store.problem, budget)
    problem = load_problem(store.problem["path"], store.problem["backend"])
    base = start.analyse(problem)
    start.check_unchanged(problem, base, store.problem)
    store.set_status("running")
    return _go(problem, options, base, store, console, began)


def check_sizes(problem: Problem) -> None:
    if len(problem.workload.tune) < 2:
        raise InputError("a dispatch table needs several tune sizes", file=str(problem.path),
                         remedy="give them in [sizes] tune, or run without --dispatch")


def _go(problem: Problem, options: Options, base: Scheduled, store: Store, console: Console,
        began: float) -> bool | None:
    sizes = problem.workload.tune
    end = min(LONGEST_END, END * options.seconds) if options.seconds is not None else 0.0
    found: list[Genome] = []
    for i, size in enumerate(sizes):
        share = options
        if options.seconds is not None:
            left = options.seconds - end - (time.monotonic() - began)
            share = replace(share, seconds=max(1.0, left / (len(sizes) - i)))
        if options.evaluations is not None:
            share = replace(share, evaluations=max(1, options.evaluations // len(sizes)))
        folder = store.folder / f"{i + 1}-{size}"
        done = one_size(narrowed(problem, i), share, folder, tuple(dict.fromkeys(g for g in found if g)))
        if done is None:
            store.set_status("interrupted")
            console.print(f"Interrupted; go on with: evo resume {store.folder}", markup=False)
            return None
        genome, line = done
        found.append(genome)
        console.print(f"  {i + 1}/{len(sizes)} {line}", markup=False)
    return _finish(problem, options, base, store, console, found)


def narrowed(problem: Problem, i: int) -> Problem:
    """The problem at one of its tune sizes; check sizes are the table's to be confirmed at."""
    one = replace(problem.workload, tune=(replace(problem.workload.tune[i], weight=1.0),), check=())
    return replace(problem, workload=one)


def one_size(problem: Problem, options: Options, folder: Path, seeds: tuple[Genome, ...]) -> tuple[Genome, str] | None:
    """The confirmed champion's genome, () for the baseline, and a line about it; None when interrupted. A run that is
    there already is taken as it is when it is finished, and gone on with otherwise."""
    size = problem.workload.tune[0]
    _search(problem, options, folder, seeds)
    with Store.open(folder) as store:
        if store.status() != "finished":
            return None
        champion = store.champion()
        final = store.confirmation(champion.key) if champion is not None else None
        if champion is None or final is None or not final.accepted:
            return (), f"{size}: nothing faster than the baseline in {duration(store.elapsed())}"
        before, after = final.baseline[0].median, final.candidate[0].median
        return champion.genome, (f"{size}: {seconds(before)} -> {seconds(after)}, {factor(before / after)} "
                                 f"({len(store.evaluations()) - 1} candidates in {duration(store.elapsed())})")


def _search(problem: Problem, options: Options, folder: Path, seeds: tuple[Genome, ...]) -> None:
    """A new run in the folder, or the rest of the one that is there."""
    resume, limit = folder.exists(), start.baseline_limit(options.seconds)
    if resume:
        with Store.open(folder) as store:
            if store.status() == "finished":
                return
            if options.seconds is not None:
                options = replace(options, seconds=store.elapsed() + options.seconds)
    began = time.monotonic()
    base = start.analyse(problem)
    folder.mkdir(exist_ok=True)
    with (folder / "log.txt").open("a", encoding="utf-8") as log, start.evaluator_for(
            problem, base, options.seed, limit, options.strict) as evaluator:
        base = replace(base, limits=start.limits_of(evaluator.device))
        with Store.open(folder) if resume else Store.create(
                folder, start.describe(problem, options, base), start.environment(evaluator.device)) as store:
            start.search(problem, options, base, evaluator, store, Console(file=log, width=120), began,
                         resume=resume, seeds=seeds)


# ------------------------------------------------------------------------------------------------------ the table
def _finish(problem: Problem, options: Options, base: Scheduled, store: Store, console: Console,
            found: list[Genome]) -> bool | None:
    genomes = {f"v{i}": g for i, g in enumerate(dict.fromkeys(g for g in found if g))}
    if not genomes:
        store.set_status("finished")
        console.print("Nothing faster than the baseline was found at any size.", markup=False)
        return False
    limit = start.baseline_limit(options.seconds)
    patient = replace(start.evaluator_options(problem, options.seed, limit, options.strict), slow_factor=ANY_SPEED)
    language = start.language(problem)
    with stop_on_signals(threading.Event()) as stop, open_evaluator(
            problem.backend, problem.workload, emit(base, language), patient) as evaluator:
        base = replace(base, limits=start.limits_of(evaluator.device))
        space = KernelSpace(base, without(problem.veto), language)
        gate = evaluator.gate()
        store.add_candidate(_candidate(BASELINE, base, emit(base, language), store, ()))
        store.set_evaluation(replace(gate.evaluation, key=BASELINE))
        states = {key: space.strict(g) for key, g in genomes.items()}
        times = _times(evaluator, states, language, store, genomes, len(problem.workload.tune))
        weights = [s.weight for s in problem.workload.tune]
        baseline = [t.median for t in gate.evaluation.timings]
        kept = sorted(versions.choose({**times, BASELINE: baseline}, weights), key=lambda v: v[0] == BASELINE)
        parents = tuple(k for k, _ in kept if k != BASELINE)
        if not parents or stop.is_set():
            store.set_status("interrupted" if stop.is_set() else "finished")
            return None if stop.is_set() else False
        rows = [({**states, BASELINE: base}[k], [problem.workload.tune[i] for i in places]) for k, places in kept]
        program = table(base, rows, language)
        cuda = program if language == "cuda" else table(base, rows, "cuda")
        store.add_candidate(_candidate(TABLE, base, program, store, (), parents, cuda))
        final = evaluator.confirm(TABLE, program)
        store.set_evaluation(replace(final.evaluation, key=TABLE))
        store.add_confirmation(TABLE, final)
    store.set_status("finished")
    for line in _closing(store, problem, kept, genomes, final.accepted):
        console.print(line, markup=False)
    if not final.accepted:
        console.print(f"The table was not confirmed: {final.reason}", markup=False)
    return final.accepted


def _times(evaluator: LocalEvaluator, states: dict[str, Scheduled], language: str, store: Store,
           genomes: dict[str, Genome], count: int) -> dict[str, list[float]]:
    """Median seconds of each version at each tune size, ``inf`` throughout where it is not right everywhere."""
    for key, state in states.items():
        program = emit(state, language)
        store.add_candidate(_candidate(key, state, program, store, genomes[key]))
        evaluator.submit(key, program)
    found: dict[str, Evaluation] = {}
    while evaluator.pending():
        for e in evaluator.collect(1.0):
            found[e.key] = e
            store.set_evaluation(e)
    return {k: [t.median for t in found[k].timings] if k in found and found[k].verdict is Verdict.OK
            else [math.inf] * count for k in states}


def _candidate(key: str, state: Scheduled, program: Program, store: Store, genome: Genome,
               parents: tuple[str, ...] = (), cuda: Program | None = None) -> Candidate:
    opencl = program.source if program.language == "opencl" else ""
    text = program if not opencl else cuda or emit(state, "cuda")
    return Candidate(key, "dispatch" if key == TABLE else "", 0, parents, genome, operation=key,
                     preconditions=program.preconditions, source=text.source,
                     launches=launches_to_json(program.launches), seconds=store.elapsed(), source_opencl=opencl,
                     select=program.select)


def _closing(store: Store, problem: Problem, kept: list[tuple[str, tuple[int, ...]]], genomes: dict[str, Genome],
             accepted: bool) -> list[str]:
    sizes = problem.workload.tune
    lines = ["Dispatch table, the baseline last:"]
    for key, places in kept:
        lines.append(f"  {key} at {', '.join(str(sizes[i]) for i in places)}")
        lines += [f"    {g}" for g in genomes.get(key, ())]
    if not accepted:
        return lines
    files: list[Any] = list(export.export(store, TABLE, store.folder))
    ours = report.size_lines(store, TABLE)
    return [*lines, *report.speedups(ours), *report.payback(store.elapsed(), ours),
            *report.written(files, f"evo show {store.folder}")]
