"""From a problem to a finished run: everything that ``evo run``, ``resume`` and ``check`` join together."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy
from rich.console import Console

from evo.complaint import complaint
from evo.display import open_display
from evo.display.bridge import SearchView
from evo.engine import CLOSING, RunResult, Setup
from evo.engine import run as run_engine
from evo.problem import Problem, load_problem
from evo.problem.budget import REMEDY, parse_budget
from evo.search.blocks import best_block
from evo.search.ladder import late_ladder
from evo.search.options import Options
from evo.space import KernelSpace
from evo.version import VERSION
from genome.counts import compulsory_bytes, flops
from genome.double import in_double
from genome.errors import InputError, Refusal
from genome.express import emit
from genome.gene import Genome
from genome.scheduled import Limits, Scheduled, schedule_kernel
from gpu.evaluator import LocalEvaluator, open_evaluator
from gpu.interface import Evaluator, EvaluatorOptions
from gpu.records import DeviceInfo
from mutators.catalogue import without
from results import export, html, report
from results.folders import run_folder
from results.launcher import from_kernel
from results.store import Store
from results.units import duration

SHORTEST_BLOCKS = 1.0  # seconds below which other blocks of the baseline are not begun
STATIC_SHARED = 49152  # bytes a block may use without opting in, on every NVIDIA device
LIMIT, SHORTEST_LIMIT = 60.0, 5.0  # seconds, see baseline_limit
SHORTEST_LADDER = 0.5  # seconds: less measures nothing


def run_problem(problem: Problem, options: Options, out: Path, console: Console | None = None) -> bool | None:
    """Runs a search. True: something faster was confirmed; False: nothing was; None: interrupted."""
    began = time.monotonic()
    options.check()
    console = console or Console(soft_wrap=True, highlight=False)
    base = analyse(problem)
    with evaluator_for(problem, base, options.seed, baseline_limit(options.seconds), options.strict) as evaluator:
        base = replace(base, limits=limits_of(evaluator.device))
        folder = run_folder(out, problem.name)
        with Store.create(folder, describe(problem, options, base), environment(evaluator.device)) as store:
            for line in opening(problem, options, evaluator.device, folder):
                console.print(line, markup=False)
            return search(problem, options, base, evaluator, store, console, began, resume=False)


def resume_run(run: Path, budget: str | None, console: Console | None = None) -> bool | None:
    """Goes on with a run that was interrupted or killed; ``budget`` replaces the one it was given."""
    began = time.monotonic()
    console = console or Console(soft_wrap=True, highlight=False)
    with Store.open(run) as store:
        if store.status() == "finished" and budget is None:
            raise InputError(f"{run} is finished", remedy="give it more with --budget, for example --budget 10m")
        if store.problem.get("dispatch"):
            from evo.dispatch import resume_dispatch  # which builds on this module

            return resume_dispatch(store, budget, console)
        if store.status() == "running":  # said again, and for certain, when the run is taken over
            raise InputError(f"{run} is in progress in another process", remedy="wait for it or stop it first")
        kept = store.problem
        options = stored_options(run, kept, budget)
        problem = load_problem(kept["path"], kept["backend"])
        base = analyse(problem)
        check_unchanged(problem, base, kept)
        with evaluator_for(problem, base, options.seed, baseline_limit(options.seconds), options.strict) as evaluator:
            base = replace(base, limits=limits_of(evaluator.device))
            console.print(f"Going on with {store.folder} after {duration(store.elapsed())}", markup=False)
            return search(problem, options, base, evaluator, store, console, began, resume=True)


def check_unchanged(problem: Problem, base: Scheduled, kept: dict[str, Any]) -> None:
    """Raises InputError where the files are not those that the run began with."""
    if emit(base, language(problem)).key != kept["baseline"] or problem.text != kept["text"]:
        raise InputError("the problem or its kernel was changed since this run began", file=str(kept["path"]),
                         remedy="start a new run, or restore the files")


def stored_options(run: Path, kept: dict[str, Any], budget: str | None) -> Options:
    """The options of a stored run, with another budget where one is given."""
    if not {"path", "backend", "options", "baseline", "text"} <= kept.keys():
        raise InputError(f"{run} cannot be resumed: it does not say what problem it is of",
                         remedy="start a new run")
    try:
        options = Options(**kept["options"])
    except TypeError:
        raise InputError(f"{run} was begun by another version of evo, which had other options",
                         remedy="resume it with that version, or start a new run") from None
    if budget is None:
        return options
    try:
        more = parse_budget(budget)
    except ValueError as e:
        raise InputError(f"--budget: {e}", remedy=REMEDY) from None
    return replace(options, seconds=more.seconds, evaluations=more.evaluations)


def search(problem: Problem, options: Options, base: Scheduled, evaluator: LocalEvaluator, store: Store,
            console: Console, began: float, *, resume: bool, seeds: tuple[Genome, ...] = ()) -> bool | None:
    """``began``: on time.monotonic's clock; the budget counts from there."""
    space = KernelSpace(base, without(problem.veto), language(problem), with_sketches=options.sketches)
    weights = tuple(s.weight for s in problem.workload.tune)
    roof = roofline(base, evaluator.device)
    setup = Setup(space, evaluator, weights, problem.objectives, limit_seconds=(roof.floor or (0.0, ""))[0],
                  seeds=seeds)
    display = SearchView(open_display(console), problem.name, options.seconds, options.evaluations,
                         problem.objectives)
    try:
        result = run_engine(setup, options, display, store, resume=resume, began=began)
        if result.champion is not None and not result.interrupted:
            left = ladder_seconds(options, result)
            start = time.monotonic()
            _beside(space, evaluator, store, result.champion, 0.25 * left)
            left -= time.monotonic() - start
            if left >= SHORTEST_LADDER:
                display.message("measuring what each gene brings")
            if left < SHORTEST_LADDER or not late_ladder(space, evaluator, store, result.champion, seconds=left):
                display.message("the budget left no time to measure what each gene brings")
        account = evaluator.account()
        store.event("device", {"candidates": account.candidates, **account.seconds})
    finally:
        display.close()
    for line in filter(None, (account.line(), *closing(store, result, roof))):
        console.print(line, markup=False)
    return None if result.interrupted else result.champion is not None


def _beside(space: KernelSpace, evaluator: Evaluator, store: Store, champion: str, seconds: float) -> None:
    """What stands beside the speed-up: the work before and after, and the baseline with its best block."""
    state = space.express(store.candidate(champion).genome).state
    store.event("work", {"size": str(space.base.workload.tune[0]), "before": work(space.base), "after": work(state)})
    if seconds >= SHORTEST_BLOCKS:
        best_block(space, evaluator, store, seconds=seconds)


def work(state: Scheduled) -> dict[str, float]:
    """Floating-point operations and compulsory bytes of a launch at the first tune size."""
    size = state.workload.tune[0]
    return {"flops": flops(state.logical, state.workload, size) if state.logical.axes else 0.0,
            "bytes": compulsory_bytes(state.logical, state.workload, size)}


def ladder_seconds(options: Options, result: RunResult) -> float:
    """What is left of the budget for measuring what each gene brings, the time to write the results kept back."""
    return 60.0 if options.seconds is None else min(60.0, options.seconds - result.seconds - CLOSING)


# ------------------------------------------------------------------------------------------------------ parts
def language(problem: Problem) -> str:
    return "opencl" if problem.backend == "opencl" else "cuda"


def analyse(problem: Problem) -> Scheduled:
    """The kernel with its baseline schedule. Raises InputError when the back end cannot run it at all."""
    base = schedule_kernel(problem.unit, problem.workload, problem.launch)
    if problem.backend == "opencl":
        try:
            emit(base, "opencl")
        except Refusal as r:
            if (wrong := complaint(problem.unit, build_flags(problem))) is not None:
                raise wrong from r
            raise InputError(f"this kernel cannot run on the OpenCL back end: {r.reason}", file=problem.unit.file,
                             line=r.loc.line or None, remedy="use --backend cuda on an NVIDIA GPU") from r
    return base


def build_flags(problem: Problem) -> tuple[str, ...]:
    return (*problem.flags, *(f"-I{path}" for path in problem.include))


def baseline_limit(budget: float | None) -> float:
    """Seconds that the first two runs of the baseline at a size may take: half the budget, ``LIMIT`` at most, and at
    least what a cold device needs to start."""
    return LIMIT if budget is None else min(LIMIT, max(SHORTEST_LIMIT, 0.5 * budget))


def evaluator_for(problem: Problem, base: Scheduled, seed: int, limit: float = LIMIT,
                  strict: bool = False) -> LocalEvaluator:
    return open_evaluator(problem.backend, problem.workload, emit(base, language(problem)),
                          evaluator_options(problem, seed, limit, strict),
                          in_double(problem.unit, problem.launch, language(problem)))


def evaluator_options(problem: Problem, seed: int, limit: float, strict: bool = False) -> EvaluatorOptions:
    return EvaluatorOptions(flags=build_flags(problem), seed=seed, constraints=problem.constraints,
                            baseline_limit=limit, strict=strict)


def limits_of(device: DeviceInfo) -> Limits:
    """On the CPU shared memory stays within what every GPU has: the CUDA source that is exported must run there."""
    cuda = device.backend == "cuda"
    capability = int(device.arch.removeprefix("sm_") or 0) if device.arch.removeprefix("sm_").isdigit() else 0
    shared = device.max_shared_optin if cuda else min(device.max_shared_bytes, STATIC_SHARED)
    return Limits(min(device.max_threads_per_block, 1024), device.max_block, device.max_grid, shared,
                  async_copy=not cuda or capability >= 80, registers=device.registers_per_multiprocessor if cuda else 0,
                  resident=device.max_threads_per_multiprocessor, multiprocessors=device.multiprocessors)


def roofline(base: Scheduled, device: DeviceInfo) -> report.Roofline:
    size = base.workload.tune[0]
    work = flops(base.logical, base.workload, size) if base.logical.axes else 0.0
    return report.Roofline(compulsory_bytes(base.logical, base.workload, size), work, device.bandwidth, device.flops)


def describe(problem: Problem, options: Options, base: Scheduled) -> dict[str, Any]:
    """What the run was asked to do, as it is kept in the store."""
    w = problem.workload
    sizes = {f"{kind}": [dict(s.values) for s in group] for kind, group in (("tune", w.tune), ("check", w.check))}
    return {
        "kernel": problem.name, "path": str(problem.path.resolve()), "text": problem.text, "backend": problem.backend,
        "baseline": emit(base, language(problem)).key, "flags": list(problem.flags),
        "objectives": list(problem.objectives), "constraints": list(problem.constraints), "veto": list(problem.veto),
        "weights": {str(s): s.weight for s in w.tune}, "sizes": sizes, "exactness": w.exactness.name.lower(),
        "tolerance": asdict(w.tolerance), "assume": list(w.assume), "assumed": list(problem.assumed),
        "parameters": [asdict(p) for p in from_kernel(problem.unit.kernel, w)], "options": asdict(options),
    }


def environment(device: DeviceInfo) -> dict[str, Any]:
    return {"device": asdict(device), "evo": VERSION, "python": platform.python_version(),
            "system": platform.platform(), "numpy": numpy.__version__, "started": time.strftime("%Y-%m-%dT%H:%M:%S%z")}


def opening(problem: Problem, options: Options, device: DeviceInfo, folder: Path) -> list[str]:
    """What is said before anything runs."""
    w = problem.workload
    budget = " or ".join(t for t in (
        duration(options.seconds) if options.seconds is not None else "",
        f"{options.evaluations} evaluations" if options.evaluations is not None else "") if t)
    lines = [f"Run folder: {folder}", f"Kernel {problem.name} on {device.name} ({device.backend})"]
    if device.backend == "opencl":
        lines.append("This is a practice run on the CPU: it finds, verifies and times real candidates, but what is "
                     "fast here need not be fast on a GPU.")
    checked = ", ".join(map(str, w.check)) or "none"
    lines += [f"Budget {budget}, seed {options.seed}, {options.agents} agents, policy {options.policy}, "
              f"screen {'on' if options.screen else 'off'}",
              f"Sizes: optimised for {', '.join(map(str, w.tune))}; checked at {checked}",
              f"Exactness: {w.exactness.name.lower()}; tolerance {w.tolerance.rtol:g} relative + "
              f"{w.tolerance.atol_scale:g} of the output's RMS"]
    said = ("exactness:", "tolerance:", "budget:")  # the lines above say it
    return [*lines, *(f"Assumed: {a}" for a in problem.assumed if not a.startswith(said)), *left_out(problem)]


def left_out(problem: Problem) -> list[str]:
    """Headers and host code that are not compiled with the kernel: the first thing to look at when it then fails."""
    return [f"Left out: {note}" for note in problem.unit.notes]


def closing(store: Store, result: RunResult, roof: report.Roofline) -> list[str]:
    """The last lines, after the files are written."""
    files: Sequence[Path] = ()
    following = f"evo show {store.folder}"
    if result.champion is not None:
        files = export.export(store, result.champion, store.folder)
        following = f"evo pareto {store.folder}"
    page = html.write(store, store.folder / "report.html", roof)
    lines = report.final_lines(store, files=[*files, page], next_command=following, roofline=roof)
    if result.interrupted:
        lines.append(f"Interrupted; go on with: evo resume {store.folder}")
    return lines


__all__ = ["resume_run", "run_problem"]
