"""Whether the baseline's results mean anything: what the gate refuses a problem for, after the runs."""

from __future__ import annotations

import numpy as np

from genome.errors import InputError
from gpu.bench import Bench, Reference
from gpu.build import Built
from gpu.compare import compare_arrays
from gpu.data import Array
from gpu.session import GUARD
from gpu.truth import DISTRIBUTIONS

Tolerances = dict[str, tuple[float, float]]


def outputs(bench: Bench, want: Reference, notes: list[str]) -> None:
    """Refuses outputs on which any kernel would pass (evaluator.md C6, C20), and those that are only partly written."""
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
        if left is not None:
            raise InputError(
                f"the baseline leaves {int(left.sum())} of {array.size} elements of {name} unwritten at size "
                f"{bench.size}, the first is {name}[{int(np.argmax(left))}]",
                remedy=f'if the kernel means to (a border, a triangle), declare {name} as role = "inout", so that '
                       "its content counts; otherwise the grid is too small or the shape too large")
        if array.dtype.kind in "fc":
            bad = int(np.count_nonzero(~np.isfinite(array)))
            if 2 * bad > array.size:
                raise InputError(f"output {name} is mostly not finite ({bad} of {array.size} at size {bench.size})",
                                 remedy="choose other input data (init)")
            if bad:
                notes.append(f"{bad} elements of {name} are not finite at size {bench.size}")
        if array.size > 1 and bool(np.all(array == array[0])):
            raise InputError(f"output {name} is {array[0]} everywhere (size {bench.size}): anything would pass",
                             remedy="choose other input data (init)")


def discriminates(bench: Bench, want: Reference, tolerance: Tolerances) -> None:
    """Refuses a tolerance larger than the signal (evaluator.md C6, C7): one under which zeros, or any one number in
    every place, would pass for an output."""
    for name in bench.outputs:
        array = want.arrays[name]
        if array.dtype.kind != "f":
            continue
        rtol, scale = tolerance[name]
        wide = array.astype(np.float64)
        wide = wide[np.isfinite(wide)]
        if not wide.size or (rtol == 0 and scale == 0):
            continue
        margin = scale * want.rms[name] + rtol * np.abs(wide)
        low, high = float(np.max(wide - margin)), float(np.min(wide + margin))
        if low <= 0.0 <= high:
            raise InputError(f"output {name} is so near zero at size {bench.size} that zeros would pass",
                             remedy="choose other input data (init) or a smaller tolerance")
        if wide.size > 1 and low <= high:
            raise InputError(f"output {name} is {low:.6g} everywhere within the tolerance (size {bench.size}): "
                             "a constant would pass", remedy="choose other input data (init) or a smaller tolerance")


def reads_outside(bench: Bench, built: Built, want: Reference, tolerance: Tolerances) -> None:
    """Refuses a baseline whose result depends on what lies around an array (evaluator.md C15): seen by filling the
    guard zones of one array at a time with other values."""
    if want.repeats:
        return
    runner = bench.bind(built)

    def run(other: str) -> dict[str, Array]:
        bench.reset(1)
        bench.guard({other: GUARD[0]} if other else {})
        bench.session.time(runner)
        return bench.download()

    first, again = run(""), run("")
    if _differs(first, again, want, tolerance):
        return  # it is not repeatable anyway, which the gate finds next
    for name in bench.buffers:
        changed = _differs(run(name), first, want, tolerance)
        if changed:
            raise InputError(f"the baseline reads outside of {name} at size {bench.size}: {changed} depends on what "
                             "lies there", remedy=f"check the guards and the shape of {name}")


def _differs(one: dict[str, Array], other: dict[str, Array], want: Reference, tolerance: Tolerances) -> str:
    """The first output in which two results differ by more than the tolerance."""
    for name, array in one.items():
        rtol, scale = tolerance[name]
        if compare_arrays(array, other[name], rtol, scale * want.rms[name]).bad:
            return name
    return ""


def disagreement(bench: Bench, want: Reference, tolerance: Tolerances) -> str:
    """Where the baseline differs from an independent reference by more than the tolerance, or ""."""
    if bench.distribution not in DISTRIBUTIONS:
        return ""
    for name, expected in want.truth.items():
        rtol, scale = tolerance[name]
        if rtol == 0 and scale == 0:  # equality is asked of candidates; the baseline itself rounds
            eps = float(np.finfo(want.arrays[name].dtype.name).eps)
            rtol, scale = 64 * eps, 64 * eps
        got = want.arrays[name].astype(expected.dtype)
        found = compare_arrays(got, expected, rtol, scale * want.rms[name])
        if found.bad:
            return (f"{name}[{found.first}] is {got[found.first]:.7g}, the reference says "
                    f"{expected[found.first]:.7g}; {found.bad} of {got.size} elements differ ({bench})")
    for name, expected in want.whole.items():
        bad = np.flatnonzero(want.arrays[name] != expected)
        if bad.size:
            return (f"{name}[{bad[0]}] is {want.arrays[name][bad[0]]}, the reference says {expected[bad[0]]}; "
                    f"{bad.size} of {expected.size} elements differ ({bench})")
    return ""
