"""What the device does beside our work: its clocks, why they are throttled, who else uses it (evaluator.md T11, T28).

Read through NVIDIA's management library (NVML), which comes with the driver. A :class:`Reader` is all that is needed of
it, so everything above works with a made-up one too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class State:
    """At one moment. ``throttled``: reasons for which the clocks are lower than they should be; ``clock_mhz`` of the
    multiprocessors, 0 where unknown."""

    clock_mhz: int = 0
    memory_mhz: int = 0
    throttled: tuple[str, ...] = ()


@dataclass(frozen=True)
class Neighbours:
    """Other processes on the device, as texts such as "process 4711"; ``busy``: share of the last moments in which a
    kernel ran, 0 to 1."""

    computing: tuple[str, ...] = ()
    displaying: tuple[str, ...] = ()
    busy: float = 0.0


class Reader(Protocol):
    def state(self) -> State: ...

    def neighbours(self) -> Neighbours: ...


BUSY = 0.05  # a share of device time that idle neighbours do not reach
# nvml.h, nvmlClocksEventReasons: what slows down a kernel that could run faster. Reaching the power cap is how a large
# product runs on some cards at all, so it is told and does not make a sample doubtful.
REASONS = {0x8: "hardware slowdown", 0x20: "thermal, by software", 0x40: "thermal, by hardware",
           0x80: "power brake", 0x4: "power cap", 0x10: "sync boost"}
HARMLESS = frozenset({"power cap"})


def doubtful(state: State | None) -> bool:
    """Whether a sample taken in this state says little about the kernel."""
    return state is not None and any(r not in HARMLESS for r in state.throttled)


def remarks(found: Neighbours) -> tuple[tuple[str, ...], str]:
    """Notes on the neighbours, and why the run is noisy ("" when it is not). A display server is only a note, and so
    are compute processes that hold the device without using it."""
    notes = []
    if found.displaying:
        notes.append(f"the device also drives a display ({', '.join(found.displaying)})")
    if not found.computing:
        return tuple(notes), ""
    who = ", ".join(found.computing)
    if found.busy < BUSY:
        return (*notes, f"other processes hold the device, idle at present ({who})"), ""
    return tuple(notes), (f"another process computes on the device ({who}, {100 * found.busy:.0f} % busy): "
                          "times are noisy")


def reasons(mask: int) -> tuple[str, ...]:
    """Names of the bits of NVML's mask that :data:`REASONS` knows."""
    return tuple(name for bit, name in REASONS.items() if mask & bit)


# Set by Nsight Systems, Nsight Compute, compute-sanitizer and their like in whatever they start.
PROFILERS = ("CUDA_INJECTION64_PATH", "CUDA_INJECTION32_PATH", "NSYS_PROFILING_SESSION_ID", "COMPUTE_PROFILE",
             "CUDA_PROFILE")
PRELOADED = ("nsight", "cupti", "sanitizer", "oclgrind", "injection")


def profiler(environment: Mapping[str, str]) -> str:
    """What in the environment says that a profiler or a checking tool runs this process (evaluator.md T23), or ""."""
    for name in PROFILERS:
        if environment.get(name) not in (None, "", "0"):
            return f"{name} is set to {environment[name]}"
    preloaded = environment.get("LD_PRELOAD", "")
    return f"LD_PRELOAD is {preloaded}" if any(p in preloaded.lower() for p in PRELOADED) else ""


class _Process(ctypes.Structure):  # nvmlProcessInfo_t
    _fields_ = [("pid", ctypes.c_uint), ("memory", ctypes.c_ulonglong), ("instance", ctypes.c_uint),
                ("compute_instance", ctypes.c_uint)]


class _Utilisation(ctypes.Structure):  # nvmlUtilization_t, percent
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


MOST_PROCESSES = 256
SM, MEMORY = 1, 2  # nvmlClockType_t


class Nvml:
    """The device at a PCI bus address. Raises OSError where the library, or the device in it, is not there."""

    def __init__(self, bus: str) -> None:
        self._library: Any = ctypes.CDLL("libnvidia-ml.so.1")
        self._device = ctypes.c_void_p()
        if self._library.nvmlInit_v2() or self._library.nvmlDeviceGetHandleByPciBusId_v2(
                bus.encode(), ctypes.byref(self._device)):
            raise OSError(f"NVML does not know the device at {bus}")
        # Renamed in CUDA 12.2; looked up here, so that a library without either is found out before anything is timed.
        self._reasons: Any = getattr(self._library, "nvmlDeviceGetCurrentClocksEventReasons", None) \
            or self._library.nvmlDeviceGetCurrentClocksThrottleReasons
        self._clocks: Any = self._library.nvmlDeviceGetClockInfo
        self._rates: Any = self._library.nvmlDeviceGetUtilizationRates

    def state(self) -> State:
        mask = ctypes.c_ulonglong()
        got = self._reasons(self._device, ctypes.byref(mask))
        return State(self._clock(SM), self._clock(MEMORY), reasons(mask.value) if got == 0 else ())

    def _clock(self, kind: int) -> int:
        value = ctypes.c_uint()
        return value.value if self._clocks(self._device, kind, ctypes.byref(value)) == 0 else 0

    def neighbours(self) -> Neighbours:
        busy = _Utilisation()
        share = busy.gpu / 100 if self._rates(self._device, ctypes.byref(busy)) == 0 else 0.0
        return Neighbours(self._processes("Compute"), self._processes("Graphics"), share)

    def _processes(self, kind: str) -> tuple[str, ...]:
        ask = getattr(self._library, f"nvmlDeviceGet{kind}RunningProcesses_v3", None)
        if ask is None:  # a driver before 510
            return ()
        count, found = ctypes.c_uint(MOST_PROCESSES), (_Process * MOST_PROCESSES)()
        if ask(self._device, ctypes.byref(count), found):
            return ()
        return _names(p.pid for p in found[:count.value])


def _names(pids: Iterable[int]) -> tuple[str, ...]:
    return tuple(f"process {pid}" for pid in pids)


def reader(bus: str) -> Reader | None:
    """None where NVML cannot be asked (no driver, a container without it)."""
    try:
        return Nvml(bus)
    except (OSError, AttributeError):
        return None
