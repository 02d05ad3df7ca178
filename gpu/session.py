"""What a device worker needs of a back end: buffers with guard zones, launches, device time, comparison.

Everything above (data, verification, timing, gate) is written once against this interface.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from genome.program import Launch
from gpu.build import Built
from gpu.data import Array
from gpu.health import Neighbours, State
from gpu.records import DeviceInfo

GUARD_BYTES = 65536  # before and after every array
# Two patterns for outputs (evaluator.md C1): NaN / -1, and a large finite float / a large integer. A kernel that leaves
# an element alone cannot agree with the reference under both.
POISON = (0xFFFFFFFF, 0x7B7B7B7B)
# What the guard zones hold, changed together with the poison: NaN, then large numbers. A program that reads outside an
# array and uses what it finds cannot give the same result twice (evaluator.md C15).
GUARD = (0xFF, 0x7B)


Loaded = Any  # a module on the device, in the back end's own terms


class Buffer:
    """A device array between two guard zones. ``whole`` and ``data`` are the back end's handles of the allocation and
    of the array in it, ``kept`` what it remembers for :meth:`Session.restore` and :meth:`Session.unchanged`."""

    def __init__(self, whole: Any, data: Any, count: int, dtype: np.dtype[np.generic]) -> None:
        self.whole, self.data, self.count, self.dtype = whole, data, count, dtype
        self.nbytes = count * dtype.itemsize
        self.kept: Any = None
        self.guard = GUARD[0]  # the byte that its guard zones hold


class Runner(Protocol):
    """All launches of a program, bound to arguments; ``enqueue`` starts them in order and returns at once. ``keeps``
    are buffers of its own, which live as long as it does."""

    keeps: tuple[Buffer, ...]

    def enqueue(self) -> None: ...


@dataclass(frozen=True)
class Call:
    """One launch with all that it is given. ``symbol`` is the kernel's name in the binary."""

    launch: Launch
    symbol: str
    grid: tuple[int, int, int]
    arguments: tuple[Buffer | np.generic, ...]


class DeviceFault(Exception):
    """A launch failed. ``poisoned`` tells that the context is lost and the process must be replaced."""

    def __init__(self, message: str, poisoned: bool) -> None:
        super().__init__(message)
        self.poisoned = poisoned


@dataclass(frozen=True)
class Comparison:
    """``bad`` elements out of tolerance; ``first`` is the smallest index of one, -1 when there is none.
    ``max_error`` is the largest error in units of the tolerance (infinite for a mismatch in kind)."""

    bad: int
    first: int
    max_error: float


class Session(Protocol):
    """A device in this process. Methods raise :class:`DeviceFault` when the device reports an error."""

    info: DeviceInfo
    host_seconds: float  # how long the host waited for the last :meth:`time`, its own part taken off; 0: unknown

    neighbours: Neighbours | None  # who else was on the device before this process was; None: it does not tell

    def state(self) -> State | None:
        """The device's clocks at this moment; None where it does not tell."""
        ...

    def load(self, built: Built) -> Loaded:
        """The module on the device; recently loaded ones are kept."""
        ...

    def measure_device(self) -> tuple[float, float]:
        """Copy bandwidth in bytes/s (read and written bytes counted) and float32 FLOP/s; 0 where not measured."""
        ...

    def allocate(self, count: int, dtype: np.dtype[np.generic]) -> Buffer: ...

    def release(self, buffer: Buffer) -> None: ...

    def upload(self, buffer: Buffer, array: Array) -> None:
        """Sets the content, not the guard zones."""
        ...

    def keep(self, buffer: Buffer, copy: bool) -> None:
        """Remembers the present content for :meth:`unchanged` and, with ``copy``, for :meth:`restore`."""
        ...

    def restore(self, buffer: Buffer) -> None:
        """Back to the content at :meth:`keep`."""
        ...

    def unchanged(self, buffer: Buffer) -> bool:
        """Whether the content is bit for bit that of :meth:`keep`."""
        ...

    def fill(self, buffer: Buffer, word: int) -> None:
        """Fills with a repeated 32-bit pattern."""
        ...

    def download(self, buffer: Buffer) -> Array: ...

    def guards_intact(self, buffer: Buffer, byte: int) -> bool:
        """Whether both guard zones still hold that byte all over."""
        ...

    def reset_guards(self, buffer: Buffer, byte: int) -> None:
        """Fills both guard zones."""
        ...

    def compare(self, buffer: Buffer, want: Array, rtol: float, atol: float) -> Comparison: ...

    def runner(self, loaded: Loaded, calls: Sequence[Call]) -> Runner: ...

    def time(self, runner: Runner, repeat: int = 1) -> float:
        """Device seconds per run, synchronised on both sides."""
        ...

    def flush_cache(self) -> None: ...

    def close(self) -> None: ...
