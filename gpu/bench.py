"""A workload at one size with one set of data on one device: buffers, runs of a program, its side effects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from genome.program import Workspace
from genome.workload import Size, Workload
from gpu import data, limits
from gpu.build import Built
from gpu.compare import root_mean_square
from gpu.data import Array
from gpu.session import GUARD, POISON, Buffer, Call, Runner, Session
from gpu.truth import error


class Bench:
    """Owns the device buffers of all array arguments until :meth:`free`."""

    def __init__(self, session: Session, workload: Workload, size: Size, seed: int,
                 distribution: str = "given", initial: Mapping[str, Array] | None = None) -> None:
        """``initial`` replaces the data that ``seed`` and ``distribution`` give, converted to the workload's types."""
        self.session, self.workload, self.size, self.distribution = session, workload, size, distribution
        self.scalars = workload.scalars(size)
        self.initial = (data.host_arrays(workload, size, seed, distribution) if initial is None else
                        {n: a.astype(data.dtype_of(workload.argument(n))) for n, a in initial.items()})
        self._values = data.scalar_arguments(workload, self.scalars)
        self.buffers: dict[str, Buffer] = {}
        for argument in workload.arguments:
            if argument.is_array:
                count = data.element_count(workload, argument.name, size)
                self.buffers[argument.name] = session.allocate(count, data.dtype_of(argument))
        # Runners own their workspaces: one that is still in use must not lose it to the next program.
        self.workspaces: WeakValueDictionary[Workspace, Buffer] = WeakValueDictionary()
        self.outputs = tuple(a.name for a in workload.arguments if a.is_array and a.role != "in")
        self.repair()

    def repair(self) -> None:
        """Puts back all that a misbehaving kernel may have overwritten."""
        for buffer in (*self.buffers.values(), *self.workspaces.values()):
            self.session.reset_guards(buffer, buffer.guard)
        for name in self.buffers:
            if name in self.initial:
                self.set(name, self.initial[name])

    def set(self, name: str, array: Array) -> None:
        """Other initial content for an ``in`` or ``inout`` array, until :meth:`repair`."""
        self.session.upload(self.buffers[name], array)
        self.session.keep(self.buffers[name], copy=self.workload.argument(name).role == "inout")

    def reset(self, pattern: int) -> None:
        """Before a run: in-out arrays as at the start, pure outputs and workspaces poisoned with ``POISON[pattern]``,
        guard zones filled with ``GUARD[pattern]``."""
        for buffer in (*self.buffers.values(), *self.workspaces.values()):
            self._guard(buffer, GUARD[pattern])
        for buffer in self.workspaces.values():
            self.session.fill(buffer, POISON[pattern])
        for argument in self.workload.arguments:
            if argument.role == "out" and argument.is_array:
                self.session.fill(self.buffers[argument.name], POISON[pattern])
            elif argument.role == "inout" and argument.is_array:
                self.session.restore(self.buffers[argument.name])

    def guard(self, bytes_: dict[str, int]) -> None:
        """Other content for the guard zones of some arrays, until the next :meth:`reset`."""
        for name, byte in bytes_.items():
            self._guard(self.buffers[name], byte)

    def _guard(self, buffer: Buffer, byte: int) -> None:
        if buffer.guard != byte:
            buffer.guard = byte
            self.session.reset_guards(buffer, byte)

    @property
    def device_bytes(self) -> int:
        """Memory that arrays and workspaces take on the device."""
        return sum(buffer.nbytes for buffer in (*self.buffers.values(), *self.workspaces.values()))

    @property
    def needs_restore(self) -> bool:
        """Whether repeated launches without :meth:`reset` would work on other data."""
        return any(a.is_array and a.role == "inout" for a in self.workload.arguments)

    def bind(self, built: Built) -> Runner:
        """A runner for the program on this data. Raises :class:`gpu.session.DeviceFault`."""
        program = built.program
        arguments: list[Buffer | np.generic] = [
            self.buffers[a.name] if a.is_array else self._values[a.name] for a in self.workload.arguments]
        calls, own = [], {}
        for i in program.at(self.scalars):
            launch = program.launches[i]
            own.update({w: self._workspace(w) for w in launch.workspaces})
            calls.append(Call(launch, built.entries[i], limits.grid_of(launch, self.scalars),
                              (*arguments, *(own[w] for w in launch.workspaces))))
        runner = self.session.runner(self.session.load(built), calls)
        runner.keeps = tuple(own.values())
        return runner

    def _workspace(self, w: Workspace) -> Buffer:
        buffer = self.workspaces.get(w)
        if buffer is None:
            buffer = self.session.allocate(*data.workspace(w, self.scalars))
            self.workspaces[w] = buffer
        return buffer

    def side_effects(self) -> str:
        """What a run did that no kernel may do, or ""."""
        for name, buffer in self.buffers.items():
            if not self.session.guards_intact(buffer, buffer.guard):
                return f"wrote outside of {name}"
        for w, buffer in self.workspaces.items():
            if not self.session.guards_intact(buffer, buffer.guard):
                return f"wrote outside of workspace {w.name}"
        for argument in self.workload.arguments:
            if argument.is_array and argument.role == "in" and not self.session.unchanged(self.buffers[argument.name]):
                return f"changed its input {argument.name}"
        return ""

    def download(self) -> dict[str, Array]:
        return {name: self.session.download(self.buffers[name]) for name in self.outputs}

    def free(self) -> None:
        for buffer in self.buffers.values():
            self.session.release(buffer)
        self.buffers = {}

    def __str__(self) -> str:
        kind = "" if self.distribution == "given" else f", data {self.distribution}"
        return f"size {self.size}{kind}"


@dataclass(frozen=True)
class Reference:
    """The baseline's outputs, in host memory (evaluator.md C2). ``untouched`` marks elements that the baseline leaves
    as they are; a candidate must leave them too."""

    arrays: dict[str, Array]
    untouched: dict[str, NDArray[np.bool_]]
    rms: dict[str, float]
    seconds: float  # of the faster of two runs
    exact: dict[str, bool]  # finite integers below 2^24 all over: any order of summation gives these very values
    truth: dict[str, Array] = field(default_factory=dict)  # of floating-point outputs in double, where there is one
    own_error: dict[str, float] = field(default_factory=dict)  # the baseline's against it, root mean square
    whole: dict[str, Array] = field(default_factory=dict)  # integer outputs of the independent reference
    repeats: bool = True  # whether both runs gave the same bits; their guard zones held different values

    def at(self, name: str, pattern: int) -> Array:
        """The expected output after a run that began with ``POISON[pattern]``."""
        array = self.arrays[name]
        if name not in self.untouched:
            return array
        array = array.copy()
        bytewise = array.view(np.uint8).reshape(array.size, -1)
        bytewise[self.untouched[name]] = POISON[pattern] & 0xFF
        return array


def reference(bench: Bench, built: Built) -> Reference:
    """Runs a program twice, with both poison patterns. Raises :class:`gpu.session.DeviceFault`."""
    runner = bench.bind(built)
    results, times = [], []
    for pattern in range(len(POISON)):
        bench.reset(pattern)
        times.append(bench.session.time(runner))
        results.append(bench.download())
    untouched = {}
    for argument in bench.workload.arguments:
        if argument.is_array and argument.role == "out":
            masks = [np.all(out[argument.name].view(np.uint8).reshape(out[argument.name].size, -1) == POISON[p] & 0xFF,
                            axis=1) for p, out in enumerate(results)]
            mask = masks[0] & masks[1]
            if mask.any():
                untouched[argument.name] = mask
    arrays = results[0]
    return Reference(arrays, untouched, {n: _rms(a, untouched.get(n)) for n, a in arrays.items()}, min(times),
                     {n: _is_exact(a) for n, a in arrays.items()},
                     repeats=all(_same(a, results[1][n], untouched.get(n)) for n, a in arrays.items()))


def _same(one: Array, other: Array, untouched: NDArray[np.bool_] | None) -> bool:
    if untouched is None:
        return one.tobytes() == other.tobytes()
    return one[~untouched].tobytes() == other[~untouched].tobytes()


def trusted(want: Reference, truth: dict[str, Array]) -> Reference:
    """The reference with an independent one beside it, in the elements that the baseline writes."""
    kept: dict[str, Array] = {}
    for name, array in truth.items():
        left = want.untouched.get(name)
        kept[name] = array if left is None else np.where(left, want.arrays[name], array)
    floats = {n: t for n, t in kept.items() if want.arrays[n].dtype.kind in "fc"}
    return replace(want, truth=floats, own_error={n: error(want.arrays[n], t) for n, t in floats.items()},
                   whole={n: t for n, t in kept.items() if n not in floats})


def _rms(array: Array, untouched: NDArray[np.bool_] | None) -> float:
    return root_mean_square(array if untouched is None else array[~untouched])


def _is_exact(array: Array) -> bool:
    if array.dtype.kind != "f":
        return False
    with np.errstate(all="ignore"):
        limit = min(2.0**24, 2.0 ** (np.finfo(array.dtype.name).nmant + 1))
        return bool(np.all(np.abs(array) < limit) and np.all(array == np.rint(array)))
