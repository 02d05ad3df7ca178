"""Whether a candidate computes what the baseline computes.

**Tolerance.** ``|got - want| <= rtol * |want| + atol`` with ``atol = atol_scale * rms(want)``, for every element.
``atol_scale`` is the workload's plus an allowance for what the baseline's own rounding may be: its float32 sums of n
terms carry an error of the order of ``eps * sqrt(n)`` of the result's root mean square (Higham, Accuracy and Stability
of Numerical Algorithms, §4.2: probabilistic bound), so two honest orders of summation differ by a small multiple of
that. The allowance is ``4 * eps * sqrt(n)``, where n is the largest output for all-ones input (the length of the
reduction in any sum of products), at most 2^22. For a float32 product with K = 4096 that is 1.5e-5; honest reorderings
stay below 1.1e-5, TF32 inputs give 2.9e-4 and are caught wherever the result is near zero.
Float64 outputs under the default tolerance are held to 1e-11 and 1e-12, float16 to what its 11 bits can hold, integers
to equality. A workload with exactness EXACT is held to equality throughout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from genome.workload import Exactness, Tolerance, Workload
from gpu import data, limits, truth
from gpu.bench import Bench, Reference, reference, trusted
from gpu.build import Built
from gpu.data import Array
from gpu.session import Runner, Session
from gpu.setup import Proxy, Setup

ALLOWANCE = 4.0
MAX_TERMS = float(2**22)


TINY_FLOOR = 4.0  # smallest normal numbers that results of "tiny" data may differ by: below one there is no precision


@dataclass(frozen=True)
class Check:
    """One verified run. ``reason`` is "" when it was right."""

    reason: str = ""
    max_error: float = 0.0
    seconds: float = 0.0


def tolerances(workload: Workload, terms: dict[str, float]) -> dict[str, tuple[float, float]]:
    """Per output ``(rtol, atol_scale)``; ``terms`` is the reduction length seen for each output."""
    result = {}
    for argument in workload.arguments:
        if not argument.is_array or argument.role == "in":
            continue
        dtype = data.dtype_of(argument)
        if dtype.kind not in "fc" or workload.exactness == Exactness.EXACT:
            result[argument.name] = (0.0, 0.0)
            continue
        eps = float(np.finfo(argument.dtype).eps)
        rtol, scale = workload.tolerance.rtol, workload.tolerance.atol_scale
        if workload.tolerance == Tolerance():
            if eps < 1e-10:
                rtol, scale = 1e-11, 1e-12
            rtol = max(rtol, 4 * eps)
            scale = max(scale, 2 * eps)
        if rtol == 0 and scale == 0:
            result[argument.name] = (0.0, 0.0)
            continue
        n = min(max(terms.get(argument.name, 1.0), 1.0), MAX_TERMS)
        result[argument.name] = (rtol, scale + ALLOWANCE * eps / 2 * math.sqrt(n))
    return result


def check(bench: Bench, runner: Runner, want: Reference, tolerance: dict[str, tuple[float, float]],
          pattern: int, terms: dict[str, float] | None = None) -> Check:
    """One poisoned run, judged by :func:`judge`. Raises :class:`gpu.session.DeviceFault`."""
    bench.reset(pattern)
    return judge(bench, want, tolerance, pattern, bench.session.time(runner), terms)


def judge(bench: Bench, want: Reference, tolerance: dict[str, tuple[float, float]], pattern: int,
          seconds: float = 0.0, terms: dict[str, float] | None = None) -> Check:
    """What the last run left behind, which began with ``reset(pattern)``: guard zones, inputs, every element of every
    output. With ``terms`` also its error against an independent reference, where ``want`` has one.

    Raises :class:`gpu.session.DeviceFault`.
    """
    reason = bench.side_effects()
    if reason:
        return Check(f"{reason} ({bench})", math.inf, seconds)
    worst = 0.0
    for name in bench.outputs:
        rtol, absolute = accepted_error(bench, want, tolerance, name)
        expected = want.at(name, pattern)
        result = bench.session.compare(bench.buffers[name], expected, rtol, absolute)
        worst = max(worst, result.max_error)
        if result.bad:
            got = bench.session.download(bench.buffers[name])[result.first]
            return Check(f"{name}[{result.first}] is {got}, expected {expected[result.first]}; {result.bad} of "
                         f"{expected.size} elements differ ({bench})", result.max_error, seconds)
        if terms is not None and name in want.truth:
            reason = imprecise(bench, want, name, terms.get(name, 1.0))
            if reason:
                return Check(reason, worst, seconds)
    return Check("", worst, seconds)


def accepted_error(bench: Bench, want: Reference, tolerance: dict[str, tuple[float, float]],
                   name: str) -> tuple[float, float]:
    """``(rtol, atol)`` for an output on this bench's data."""
    rtol, scale = tolerance[name]
    if bench.distribution == "integers" and want.exact[name]:
        return 0.0, 0.0
    floor = 0.0
    if bench.distribution == "tiny" and want.arrays[name].dtype.kind in "fc" and rtol + scale > 0:
        floor = TINY_FLOOR * float(np.finfo(want.arrays[name].dtype.name).smallest_normal)
    return rtol, max(scale * want.rms[name], floor)


def imprecise(bench: Bench, want: Reference, name: str, terms: float) -> str:
    """Whether an output within the tolerance is still less precise than the baseline's arithmetic explains
    (evaluator.md C9), or ""."""
    buffer = bench.buffers[name]
    found = truth.error(bench.session.download(buffer), want.truth[name])
    limit = truth.allowed(want.own_error[name], buffer.dtype, terms, want.rms[name])
    if found <= limit:
        return ""
    return (f"{name} is less precise than the baseline: against a float64 reference its error is {found:.2g} "
            f"(root mean square), the baseline's {want.own_error[name]:.2g}, allowed {limit:.2g} ({bench})")


def independent(bench: Bench, setup: Setup) -> dict[str, Array]:
    """Outputs in double precision for the bench's data, from the user's function or the program printed in double;
    empty where there is neither. Raises :class:`InputError` from the user's function."""
    workload = setup.workload
    if workload.reference is not None:
        return truth.from_user(workload, bench.size, bench.initial)
    if setup.double is None:
        return {}
    wide = Bench(bench.session, truth.widened(workload), bench.size, setup.options.seed, bench.distribution,
                 initial=bench.initial)
    try:
        wide.reset(0)
        bench.session.time(wide.bind(setup.double))
        return wide.download()
    finally:
        wide.free()


class Proxies:
    """The small checks, with their data on the device and their references, made on first use."""

    def __init__(self, session: Session, setup: Setup) -> None:
        self._session, self._setup = session, setup
        self._ready: dict[Proxy, tuple[Bench, Reference]] = {}

    def get(self, proxy: Proxy) -> tuple[Bench, Reference]:
        if proxy not in self._ready:
            bench = Bench(self._session, self._setup.workload, proxy.size, self._setup.options.seed, proxy.distribution)
            want = reference(bench, self._setup.baseline)
            if proxy.precise:
                want = trusted(want, independent(bench, self._setup))
            self._ready[proxy] = bench, want
        return self._ready[proxy]

    def prepare(self) -> None:
        for proxy in self._setup.proxies:
            self.get(proxy)

    def check(self, built: Built) -> Check:
        """The first failure, or the largest error. Sizes that the program's preconditions exclude are skipped: there
        the launcher takes the baseline."""
        worst, seconds = 0.0, 0.0
        for index, proxy in enumerate(self._setup.proxies):
            bench, want = self.get(proxy)
            if not limits.applies(built.program, bench.scalars):
                continue
            over = limits.over_grid_limits(built.program, bench.scalars, self._session.info)
            if over:
                return Check(f"{over} ({bench})", math.inf, seconds)
            result = check(bench, bench.bind(built), want, self._setup.tolerances, index % 2, self._setup.precision)
            seconds += result.seconds
            if result.reason:
                bench.repair()
                return Check(result.reason, result.max_error, seconds)
            worst = max(worst, result.max_error)
        return Check("", worst, seconds)

    def free(self) -> None:
        for bench, _ in self._ready.values():
            bench.free()
        self._ready = {}
