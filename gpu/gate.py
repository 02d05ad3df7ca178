"""The baseline gate: is this a problem on which a search means anything?

Runs the baseline at every declared size with both poison patterns, has its results looked at (:mod:`gpu.soundness`),
compares them with the user's reference where there is one, learns the baseline's own spread from restored repeats,
fixes the tolerances and chooses the small checks.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np

from genome.errors import InputError
from genome.workload import Exactness
from gpu import data, health, limits, sizes, soundness, timing, truth
from gpu.bench import Bench, Reference, reference, trusted
from gpu.build import Built
from gpu.child_main import Tell
from gpu.records import Timing
from gpu.session import DeviceFault, Session
from gpu.setup import Proxy, Setup
from gpu.verify import check, independent, tolerances

REPEATS = 5
PROXY_WORK = {"cuda": 2.0**25, "opencl": 2.0**20}  # bound for gpu.sizes.work of a small check
PREPARE = 600.0  # seconds for making the data: the host's work, not the baseline's fault
AFTERWARDS = 30.0  # times what the first two runs took: more than all further ones at that size can take
RUNNING = "running the baseline"
ASSUMES = "declare what it assumes of its sizes"


@dataclass(frozen=True)
class GateResult:
    timings: tuple[Timing, ...]
    check_timings: tuple[Timing, ...]
    deterministic: bool
    spread: float
    tolerances: dict[str, tuple[float, float]]
    absolute: dict[str, tuple[float, float]]  # (rtol, atol) at the first tune size
    proxies: tuple[Proxy, ...]
    notes: tuple[str, ...]
    terms: dict[str, float] = field(default_factory=dict)
    double: bool = False  # whether the baseline printed in double gives a usable reference
    device_bytes: int = 0  # that the arrays take, at the largest declared size
    noisy: str = ""  # why times cannot be trusted, "" when they can


def gate(session: Session, tell: Tell, setup: Setup, plain: Built | None) -> GateResult:
    """``plain`` is the baseline built without optimisation, where the compiler needs watching (PoCL). ``setup.double``
    is the baseline printed in double, not yet known to be usable.

    Raises :class:`InputError` for a problem that cannot be used, saying why.
    """
    workload, built = setup.workload, setup.baseline
    notes: list[str] = []
    times: list[Timing] = []
    check_times: list[Timing] = []
    device_bytes = 0
    noisy = _alone(session, setup, notes)
    for index, size in enumerate(workload.tune + workload.check):
        tell.stage("preparing", PREPARE)
        bench = Bench(session, workload, size, setup.options.seed)
        running, limit = f"{RUNNING} at size {size}", setup.options.baseline_limit
        tell.stage(running, limit)
        begin = time.monotonic()
        want = _run(bench, setup)
        tell.stage(running, limit + AFTERWARDS * (time.monotonic() - begin))
        device_bytes = max(device_bytes, bench.device_bytes)
        soundness.outputs(bench, want, notes)
        if index == 0:
            terms = _terms(bench, setup)
            tolerance = tolerances(workload, terms)
        soundness.reads_outside(bench, setup.baseline, want, tolerance)
        if workload.reference is not None:
            tell.stage(f"evaluating the reference at size {size}", PREPARE)
            _agrees(bench, setup, want, tolerance)
            tell.stage(running, limit + AFTERWARDS * want.seconds)
        if index == 0:
            deterministic, spread = _spread(bench, setup, want, tolerance)
            if not deterministic:
                notes.append(f"the baseline's repeats differ by {spread:.2g} times the tolerance")
            if spread > 0.25:
                tolerance = {n: (r, a * (1 + 4 * spread)) for n, (r, a) in tolerance.items()}
                notes.append("the tolerance is widened to the baseline's own spread")
            absolute = {n: (tolerance[n][0], tolerance[n][1] * want.rms[n]) for n in bench.outputs}
        soundness.discriminates(bench, want, tolerance)
        runner = bench.bind(built)
        timing.warm_up(bench, runner)
        taken = timing.measure(bench, runner, setup.options, want.seconds, 0.0, None)
        if not taken.samples:
            raise InputError(f"the baseline has no valid time at size {size}")
        (times if index < len(workload.tune) else check_times).append(taken)
        if index < len(workload.tune):
            notes += timing.remarks(bench, want.seconds, setup.options)
        bench.free()
    if workload.exactness == Exactness.EXACT:
        notes.append("exactness is exact: outputs must be equal; contraction to fma can break that, see -fmad=false")
    ready = replace(setup, tolerances=tolerance, terms=terms, deterministic=deterministic)
    proxies = _proxies(session, tell, ready, plain, notes)
    precise = any(p.precise for p in proxies)
    if precise:
        source = f"reference {workload.reference}" if workload.reference else "baseline printed in double"
        notes.append(f"precision is judged against float64 ({source})")
    return GateResult(tuple(times), tuple(check_times), deterministic, spread, tolerance, absolute, proxies,
                      tuple(dict.fromkeys(notes)), terms, precise, device_bytes, noisy)


def _alone(session: Session, setup: Setup, notes: list[str]) -> str:
    """Notes who else is on the device; why that makes times noisy, or "". Raises :class:`InputError` for a noisy
    device where a quiet one was asked for (evaluator.md T28)."""
    if session.neighbours is None:
        return ""
    more, noisy = health.remarks(session.neighbours)
    notes += more
    if noisy and setup.options.strict:
        raise InputError(noisy, remedy="wait until it is gone, or leave out --strict")
    return noisy


def _run(bench: Bench, setup: Setup) -> Reference:
    over = limits.over_grid_limits(setup.baseline.program, bench.scalars, bench.session.info)
    if over:
        raise InputError(f"size {bench.size}: {over}", remedy="change the size or the launch")
    try:
        want = reference(bench, setup.baseline)
    except DeviceFault as e:
        raise InputError(f"the baseline fails at size {bench.size}: {e}",
                         remedy="check grid, shapes and argument order") from e
    effect = bench.side_effects()
    if effect:
        raise InputError(f"the baseline {effect} at size {bench.size}",
                         remedy="declare the argument as inout" if effect.startswith("changed") else
                         "check shapes and guards")
    return want


def _agrees(bench: Bench, setup: Setup, want: Reference, tolerance: dict[str, tuple[float, float]]) -> None:
    """Raises :class:`InputError` where the baseline disagrees with the user's reference (evaluator.md C9, C18)."""
    wrong = soundness.disagreement(bench, trusted(want, independent(bench, setup)), tolerance)
    if wrong:
        raise InputError(f"the baseline disagrees with the reference {setup.workload.reference}: {wrong}",
                         remedy="one of them is wrong: a kernel must be right before it is made fast")


def _terms(bench: Bench, setup: Setup) -> dict[str, float]:
    """Lengths of the sums in each output, from the answer to all-ones input."""
    terms: dict[str, float] = {}
    varied = [a for a in bench.workload.arguments if data.is_random_float(a) and a.name in bench.initial]
    if varied and setup.workload.exactness != Exactness.EXACT:
        for argument in varied:
            bench.set(argument.name, np.ones(bench.initial[argument.name].size, data.dtype_of(argument)))
        bench.reset(0)
        bench.session.time(bench.bind(setup.baseline))
        for name, array in bench.download().items():
            if array.dtype.kind in "fc":
                finite = np.abs(array[np.isfinite(array)])
                terms[name] = float(finite.max(initial=1.0))
        bench.repair()
    return terms


def _spread(bench: Bench, setup: Setup, want: Reference,
            tolerance: dict[str, tuple[float, float]]) -> tuple[bool, float]:
    """Whether restored repeats agree bit for bit, and the largest deviation in units of the tolerance."""
    runner = bench.bind(setup.baseline)
    deterministic, spread = True, 0.0
    for repeat in range(REPEATS):
        bench.reset(repeat % 2)
        bench.session.time(runner)
        for name in bench.outputs:
            expected = want.at(name, repeat % 2)
            if bench.session.compare(bench.buffers[name], expected, 0.0, 0.0).bad == 0:
                continue
            deterministic = False
            rtol, scale = tolerance[name]
            result = bench.session.compare(bench.buffers[name], expected, rtol, scale * want.rms[name])
            if not math.isfinite(result.max_error):
                raise InputError(f"the baseline is not repeatable: {name}[{result.first}] changes between runs",
                                 remedy="a race, or memory read before it is written")
            spread = max(spread, result.max_error)
    return deterministic, spread


def _proxies(session: Session, tell: Tell, setup: Setup, plain: Built | None, notes: list[str]) -> tuple[Proxy, ...]:
    """Small checks on which the baseline itself is sound. All kinds of data at one size, two kinds at the others."""
    limit = PROXY_WORK.get(session.info.backend, 2.0**20)
    chosen: list[Proxy] = []
    kinds = data.distributions(setup.workload)
    small = sizes.proxy_sizes(setup.workload, setup.baseline.program, limit)
    full = max(range(len(small)), key=lambda i: sizes.work(setup.workload, small[i])) if small else 0
    for index, size in enumerate(small):
        for kind in kinds if index == full else kinds[:2]:
            proxy = Proxy(size, kind)
            tell.stage(f"{RUNNING} at the small size {size}", setup.options.baseline_limit)
            problem, precise = _unfit(session, setup, plain, proxy)
            if problem:
                notes.append(f"no check at size {size}, data {kind}: {problem}")
            else:
                chosen.append(replace(proxy, precise=precise))
    return tuple(chosen)


def _unfit(session: Session, setup: Setup, plain: Built | None, proxy: Proxy) -> tuple[str, bool]:
    """Why the baseline cannot serve as the reference there, or ""; and whether an independent one serves too."""
    try:
        bench = Bench(session, setup.workload, proxy.size, setup.options.seed, proxy.distribution)
    except InputError as e:
        return str(e), False
    try:
        problem, precise = _problem(bench, setup, plain)
    except DeviceFault as e:  # the device may be lost, and the gate ends here: nothing is freed
        raise InputError(f"the baseline fails at the small size {proxy.size}: {e}",
                         remedy="declare what it assumes of its sizes") from e
    bench.free()
    return problem, precise


def _problem(bench: Bench, setup: Setup, plain: Built | None) -> tuple[str, bool]:
    over = limits.over_grid_limits(setup.baseline.program, bench.scalars, bench.session.info)
    if over:
        return over, False
    want = reference(bench, setup.baseline)
    effect = bench.side_effects()
    if effect:
        return f"there the baseline {effect}; {ASSUMES}", False
    if setup.deterministic:
        try:
            soundness.reads_outside(bench, setup.baseline, want, setup.tolerances)
        except InputError as e:
            return f"{e.message}; {ASSUMES}", False
    if any(a.dtype.kind in "fc" and not np.all(np.isfinite(a[~want.untouched[n]] if n in want.untouched else a))
           for n, a in want.arrays.items()):
        return "there the baseline's output is not finite", False
    if plain is not None:
        result = check(bench, bench.bind(plain), want, setup.tolerances, 0)
        if result.reason:
            raise InputError(f"the OpenCL compiler miscompiles the baseline, or it races: {result.reason}",
                             remedy="without optimisation it gives another result; try another block")
    return _independent(bench, setup, want)


def _independent(bench: Bench, setup: Setup, want: Reference) -> tuple[str, bool]:
    """As :func:`_problem`. Where the user's reference contradicts the baseline on the data as given, the baseline is
    no reference there; on other data, and for the program printed in double, only the independent one is left out."""
    if bench.distribution not in truth.DISTRIBUTIONS or (setup.workload.reference is None and setup.double is None):
        return "", False
    try:
        wrong = soundness.disagreement(bench, trusted(want, independent(bench, setup)), setup.tolerances)
    except InputError as e:  # the user's function at a size that was not declared
        return f"no independent reference: {e.message}" if bench.distribution == "given" else "", False
    except DeviceFault as e:
        if e.poisoned:
            raise
        return "", False
    if wrong and setup.workload.reference is not None and bench.distribution == "given":
        return f"there the baseline disagrees with the reference: {wrong}; {ASSUMES}", False
    return "", not wrong
