"""The evaluator's interface over a recorded space: exact, deterministic, no device, no waiting."""

from __future__ import annotations

import math
from collections import deque
from types import TracebackType

from genome.errors import InputError
from genome.program import Program
from gpu.interface import Confirmation, GateReport
from gpu.records import DeviceInfo, Evaluation, Resources, Timing, Verdict
from gpu.replay.program import values
from gpu.replay.record import Entry, RecordedSpace

SIZE = "recorded"


class ReplayEvaluator:
    """Answers in the order of submission. A recorded failure is a verdict with the recorder's name of it as the reason;
    a configuration that was never recorded is refused."""

    def __init__(self, space: RecordedSpace, baseline: Program) -> None:
        self.space, self.baseline = space, baseline
        self.device = DeviceInfo("replay", space.device or space.name)
        self._done: deque[Evaluation] = deque()

    def __enter__(self) -> ReplayEvaluator:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def gate(self) -> GateReport:
        """Raises InputError where the baseline is not recorded or failed."""
        e = self.evaluate("baseline", self.baseline)
        if e.verdict is not Verdict.OK:
            raise InputError(f"the baseline {self.baseline.source} has no time in {self.space.name}: {e.reason}",
                             remedy="start from a recorded configuration that ran")
        return GateReport(e, deterministic=True, spread=0.0)

    def evaluate(self, key: str, program: Program) -> Evaluation:
        """The record of one program; the interval of its time has no width, for replay repeats exactly."""
        entry = self._entry(program)
        if entry is None:
            return Evaluation(key, Verdict.REFUSED, "the configuration is not in the record")
        resources = Resources(compile_seconds=entry.compile_seconds, binary=program.key)
        if entry.seconds is None:
            return Evaluation(key, entry.verdict, entry.failure, resources, device_seconds=entry.device_seconds)
        return Evaluation(key, Verdict.OK, "", resources, (_timing(entry.seconds),), (), 0.0, entry.device_seconds)

    def _entry(self, program: Program) -> Entry | None:
        given = values(program)
        if given.keys() != self.space.parameters.keys():
            return None
        return self.space.entries.get(tuple(given[k] for k in self.space.parameters))

    def submit(self, key: str, program: Program) -> None:
        self._done.append(self.evaluate(key, program))

    def pending(self) -> int:
        return len(self._done)

    def collect(self, timeout: float) -> list[Evaluation]:
        del timeout  # nothing is ever waited for
        out = list(self._done)
        self._done.clear()
        return out

    def abandon(self) -> None:
        self._done.clear()

    def set_champion(self, key: str, program: Program, median: float) -> None:
        """Recorded times are not interleaved with anything."""
        del key, program, median

    def confirm(self, key: str, program: Program, seconds: float = math.inf) -> Confirmation:
        del seconds  # it takes none
        base, e = self.evaluate("baseline", self.baseline), self.evaluate(key, program)
        if e.verdict is not Verdict.OK:
            return Confirmation(e, False, base.timings, (), reason=e.reason)
        ratio = base.timings[0].median / e.timings[0].median
        return Confirmation(e, ratio > 1.0, base.timings, e.timings, ((SIZE, ratio, ratio, ratio),),
                            "" if ratio > 1.0 else "not faster than the baseline")

    def close(self) -> None:
        self._done.clear()


def _timing(seconds: float) -> Timing:
    return Timing(SIZE, (seconds,), seconds, seconds, seconds)
