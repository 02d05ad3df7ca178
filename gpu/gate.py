"""The baseline gate: is this a problem on which a search means anything?

Runs the baseline at every declared size with both poison patterns, looks for side effects, for outputs that do not
depend on the kernel or on anything, learns the baseline's own spread from restored repeats, fixes the tolerances and
chooses the small checks.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from genome.errors import InputError
from genome.workload import Exactness
from gpu import data, limits, sizes, timing
from gpu.bench import Bench, Reference, reference
from gpu.build import Built
from gpu.child_main import Tell
from gpu.records import Timing
from gpu.session import DeviceFault, Session
from gpu.setup import Proxy, Setup
from gpu.verify import check, tolerances

REPEATS = 5
PROXY_WORK = {"cuda": 2.0**25, "opencl": 2.0**20}  # bound for gpu.sizes.work of a small check
PREPARE = 600.0  # seconds for making the data: the host's work, not the baseline's fault
AFTERWARDS = 30.0  # times what the first two runs took: more than all further ones at that size can take
RUNNING = "running the baseline"


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


def gate(session: Session, tell: Tell, setup: Setup, plain: Built | None) -> GateResult:
    """``plain`` is the baseline built without optimisation, where the compiler needs watching (PoCL).

    Raises :class:`InputError` for a problem that cannot be used, saying why.
    """
    workload, built = setup.workload, setup.baseline
    notes: list[str] = []
    times: list[Timing] = []
    check_times: list[Timing] = []
    for index, size in enumerate(workload.tune + workload.check):
        tell.stage("preparing", PREPARE)
        bench = Bench(session, workload, size, setup.options.seed)
        running, limit = f"{RUNNING} at size {size}", setup.options.baseline_limit
        tell.stage(running, limit)
        begin = time.monotonic()
        want = _run(bench, setup)
        tell.stage(running, limit + AFTERWARDS * (time.monotonic() - begin))
        _sound(bench, want, notes)
        if index == 0:
            tolerance = _tolerances(bench, setup)
            deterministic, spread = _spread(bench, setup, want, tolerance)
            if not deterministic:
                notes.append(f"the baseline's repeats differ by {spread:.2g} times the tolerance")
            if spread > 0.25:
                tolerance = {n: (r, a * (1 + 4 * spread)) for n, (r, a) in tolerance.items()}
                notes.append("the tolerance is widened to the baseline's own spread")
            absolute = {n: (tolerance[n][0], tolerance[n][1] * want.rms[n]) for n in bench.outputs}
        runner = bench.bind(built)
        timing.warm_up(bench, runner)
        taken = timing.measure(bench, runner, setup.options, want.seconds, 0.0, None)
        if not taken.samples:
            raise InputError(f"the baseline has no valid time at size {size}")
        (times if index < len(workload.tune) else check_times).append(taken)
        if index < len(workload.tune) and timing.batch_size(bench, want.seconds, setup.options) > 1:
            notes.append(f"size {size}: launches below 20 us are timed in batches of {timing.BATCH}, warm cache")
        bench.free()
    if workload.exactness == Exactness.EXACT:
        notes.append("exactness is exact: outputs must be equal; contraction to fma can break that, see -fmad=false")
    proxies = _proxies(session, tell, replace(setup, tolerances=tolerance), plain, notes)
    return GateResult(tuple(times), tuple(check_times), deterministic, spread, tolerance, absolute, proxies,
                      tuple(dict.fromkeys(notes)))


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


def _sound(bench: Bench, want: Reference, notes: list[str]) -> None:
    """Refuses outputs on which any kernel would pass (evaluator.md C6, C20)."""
    if not bench.outputs:
        raise InputError("no argument is an output", remedy='give one role = "out" or "inout"')
    for argument in bench.workload.arguments:
        name = argument.name
        if name not in bench.outputs:
            continue
        array, left = want.arrays[name], want.untouched.get(name)
        if argument.role == "inout":
            idle = array.tobytes() == bench.initial[name].tobytes()
        else:
            idle = left is not None and bool(left.all())
        if idle:
            raise InputError(f"output {name} does not depend on the kernel (size {bench.size})",
                             remedy="the launch leaves it as it was: check grid, role and argument order")
        written = array if left is None else array[~left]
        if left is not None:
            notes.append(f"the baseline leaves {int(left.sum())} of {array.size} elements of {name} alone "
                         f"at size {bench.size}")
        if written.dtype.kind in "fc":
            bad = int(np.count_nonzero(~np.isfinite(written)))
            if 2 * bad > written.size:
                raise InputError(f"output {name} is mostly not finite ({bad} of {written.size} at size {bench.size})",
                                 remedy="choose other input data (init)")
            if bad:
                notes.append(f"{bad} elements of {name} are not finite at size {bench.size}")
        if written.size > 1 and bool(np.all(written == written[0])):
            raise InputError(f"output {name} is {written[0]} everywhere (size {bench.size}): anything would pass",
                             remedy="choose other input data (init)")


def _tolerances(bench: Bench, setup: Setup) -> dict[str, tuple[float, float]]:
    """Reduction lengths from the answer to all-ones input, then :func:`gpu.verify.tolerances`."""
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
    return tolerances(bench.workload, terms)


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
            problem = _unfit(session, setup, plain, proxy)
            if problem:
                notes.append(f"no check at size {size}, data {kind}: {problem}")
            else:
                chosen.append(proxy)
    return tuple(chosen)


def _unfit(session: Session, setup: Setup, plain: Built | None, proxy: Proxy) -> str:
    """Why the baseline cannot serve as the reference there, or ""."""
    try:
        bench = Bench(session, setup.workload, proxy.size, setup.options.seed, proxy.distribution)
    except InputError as e:
        return str(e)
    try:
        problem = _problem(bench, setup, plain)
    except DeviceFault as e:  # the device may be lost, and the gate ends here: nothing is freed
        raise InputError(f"the baseline fails at the small size {proxy.size}: {e}",
                         remedy="declare what it assumes of its sizes") from e
    bench.free()
    return problem


def _problem(bench: Bench, setup: Setup, plain: Built | None) -> str:
    over = limits.over_grid_limits(setup.baseline.program, bench.scalars, bench.session.info)
    if over:
        return over
    want = reference(bench, setup.baseline)
    effect = bench.side_effects()
    if effect:
        return f"there the baseline {effect}; declare what it assumes of its sizes"
    if any(a.dtype.kind in "fc" and not np.all(np.isfinite(a[~want.untouched[n]] if n in want.untouched else a))
           for n, a in want.arrays.items()):
        return "there the baseline's output is not finite"
    if plain is not None:
        result = check(bench, bench.bind(plain), want, setup.tolerances, 0)
        if result.reason:
            raise InputError(f"the OpenCL compiler miscompiles the baseline, or it races: {result.reason}",
                             remedy="without optimisation it gives another result; try another block")
    return ""
