"""A device for tests: kernels are Python functions over NumPy arrays, and its clock is whatever a test says.

Everything above :mod:`gpu.session` runs on it unchanged: gate, small checks, timing, confirmation. So effects that no
real device shows on demand (a clock ramp, throttling, work that is replayed) have a fixture all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from genome.program import Launch, Program
from genome.workload import Workload
from gpu import worker as worker_module
from gpu.build import Built
from gpu.compare import compare_arrays
from gpu.confirm import Trial, confirm
from gpu.data import Array
from gpu.gate import GateResult, gate
from gpu.health import Neighbours, State
from gpu.interface import EvaluatorOptions
from gpu.outcome import Outcome
from gpu.records import DeviceInfo, Resources
from gpu.session import GUARD, Buffer, Call, Comparison
from gpu.setup import Setup
from gpu.worker import Worker
from gpu.worker_config import WorkerConfig

Body = Callable[..., None]
Seconds = Callable[[float], float]  # of a launch that begins at that time of the device's clock


@dataclass
class Kernel:
    """``body`` gets the arguments in order. ``after``: seconds of work that goes on when the launch has ended."""

    body: Body
    seconds: Seconds = lambda now: 1e-3
    after: float = 0.0
    calls: int = field(default=0)


class FakeRunner:
    def __init__(self, kernel: Kernel, arguments: list[Any]) -> None:
        self.kernel, self.arguments = kernel, arguments
        self.keeps: tuple[Buffer, ...] = ()

    def enqueue(self) -> None:
        self.kernel.calls += 1
        self.kernel.body(*self.arguments)


class FakeSession:
    """``log`` holds what was done, in order. ``states``: what the device reports of its clocks, by its time."""

    def __init__(self, kernels: dict[str, Kernel], info: DeviceInfo,
                 state: Callable[[float], State | None] = lambda now: None) -> None:
        self.kernels, self.info, self._state = kernels, info, state
        self.now, self.host_seconds = 0.0, 0.0
        self.neighbours: Neighbours | None = None
        self.log: list[str] = []
        self.flushes = 0
        self.live: list[Buffer] = []

    def load(self, built: Built) -> Kernel:
        self.log.append("load")
        return self.kernels[built.program.source]

    def measure_device(self) -> tuple[float, float]:
        return self.info.bandwidth, self.info.flops

    def state(self) -> State | None:
        return self._state(self.now)

    def allocate(self, count: int, dtype: np.dtype[np.generic]) -> Buffer:
        self.log.append("allocate")
        buffer = Buffer({"guard": GUARD[0]}, np.zeros(count, dtype), count, dtype)
        self.live.append(buffer)
        return buffer

    def release(self, buffer: Buffer) -> None:
        self.log.append("release")
        self.live = [b for b in self.live if b is not buffer]

    def upload(self, buffer: Buffer, array: Array) -> None:
        self.log.append("upload")
        buffer.data[:] = array

    def keep(self, buffer: Buffer, copy: bool) -> None:
        buffer.kept = buffer.data.copy()

    def restore(self, buffer: Buffer) -> None:
        self.log.append("restore")
        buffer.data[:] = buffer.kept

    def unchanged(self, buffer: Buffer) -> bool:
        return bool(buffer.data.tobytes() == buffer.kept.tobytes())

    def fill(self, buffer: Buffer, word: int) -> None:
        self.log.append("poison")
        buffer.data.view(np.uint8)[:] = word & 0xFF

    def download(self, buffer: Buffer) -> Array:
        result: Array = buffer.data.copy()
        return result

    def guards_intact(self, buffer: Buffer, byte: int) -> bool:
        return bool(buffer.whole["guard"] == byte)

    def reset_guards(self, buffer: Buffer, byte: int) -> None:
        buffer.whole["guard"] = byte

    def compare(self, buffer: Buffer, want: Array, rtol: float, atol: float) -> Comparison:
        self.log.append("compare")
        return compare_arrays(buffer.data.copy(), want, rtol, atol)

    def runner(self, loaded: Kernel, calls: Sequence[Call]) -> FakeRunner:
        return FakeRunner(loaded, [a.data if isinstance(a, Buffer) else a for a in calls[0].arguments])

    def time(self, runner: Any, repeat: int = 1) -> float:
        self.log.append("time")
        total = 0.0
        for _ in range(repeat):
            runner.enqueue()
            total += runner.kernel.seconds(self.now)
            self.now += max(total, 0.0) if np.isfinite(total) else 0.0
        self.host_seconds = total + runner.kernel.after
        return total / repeat

    def flush_cache(self) -> None:
        self.flushes += 1

    def close(self) -> None:
        self.log.append("close")


class Tell:
    def stage(self, name: str, limit: float) -> None: ...

    def fact(self, name: str, value: object) -> None: ...


def built(name: str) -> Built:
    program = Program(name, (Launch("k", ("1", "1", "1"), (1, 1, 1)),))
    return Built(program, name.encode(), ("k",), Resources(binary=name)).sealed(())


INFO = DeviceInfo("fake", "fake device")


class Lab:
    """One problem on a fake device; ``kernels["baseline"]`` is the baseline."""

    def __init__(self, workload: Workload, kernels: dict[str, Kernel], options: EvaluatorOptions,
                 info: DeviceInfo = INFO, state: Callable[[float], State | None] = lambda now: None,
                 neighbours: Neighbours | None = None) -> None:
        self.session = FakeSession(kernels, info, state)
        self.session.neighbours = neighbours
        self.setup = Setup(workload, options, built("baseline"))
        self.report: GateResult | None = None
        self._worker: Worker | None = None

    def gate(self, proxies: bool = True) -> GateResult:
        report = self.report = gate(self.session, Tell(), self.setup, None)  # type: ignore[arg-type]
        times = {t.size: t.median for t in report.timings}
        self.setup = replace(self.setup, proxies=report.proxies if proxies else (), tolerances=report.tolerances,
                             baseline_seconds=times, best_seconds=times, deterministic=report.deterministic,
                             terms=report.terms, bandwidth=self.session.info.bandwidth)
        return report

    @contextmanager
    def _worker_on_it(self) -> Iterator[Worker]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(worker_module, "open_session", lambda config: self.session)
            if self._worker is None:
                self._worker = Worker(WorkerConfig("fake"), Tell())  # type: ignore[arg-type]
                self._worker.handle({"op": "setup", "setup": self.setup})
            yield self._worker

    def measure(self, name: str) -> Outcome:
        with self._worker_on_it() as worker:
            outcome = worker.handle({"op": "measure", "built": built(name), "ready": 0.0})
        assert isinstance(outcome, Outcome)
        return outcome

    def confirm(self, name: str, seed: int = 77) -> Trial:
        return confirm(self.session, Tell(), self.setup, built(name), seed)  # type: ignore[arg-type]


__all__ = ["Kernel", "Lab", "built"]
