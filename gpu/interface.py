"""The one interface that every back end and the evaluator above it present to search."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

from genome.program import Program
from gpu.records import DeviceInfo, Evaluation, Timing


@dataclass(frozen=True)
class EvaluatorOptions:
    """Protocol settings; every field is recorded with the run."""

    flags: tuple[str, ...] = ()  # the user's own build flags, the same for baseline and candidate
    seed: int = 0  # of the input data
    compile_workers: int = 0  # 0: one less than the cores, at least one
    compile_timeout: float = 60.0
    samples: int = 7  # timed launches of an ordinary candidate
    min_time: float = 0.02  # seconds of timed work a candidate gets at most while it looks hopeless
    slow_factor: float = 3.0  # a first launch slower than this times the best so far ends the timing
    constraints: tuple[str, ...] = ()  # over registers, spill_bytes, stack_bytes, shared_bytes, occupancy, threads
    cold_cache: bool = True
    cache_dir: str | None = None  # None: the user's cache folder
    strict: bool = False  # a device on which others compute is refused
    watch: bool = True  # finalists under compute-sanitizer or Oclgrind, where installed
    min_gain: float = 0.005  # a confirmed speed-up must be at least this much above 1, at its lower bound
    hang_seconds: float = 5.0  # a device step gets at least this long before it counts as hung
    baseline_limit: float = 60.0  # seconds for the first two runs of the baseline at a size, whose time is unknown


@dataclass(frozen=True)
class GateReport:
    """What is known of the baseline before any search."""

    evaluation: Evaluation
    deterministic: bool
    spread: float  # largest deviation between restored repeats, in units of the tolerance
    tolerance: dict[str, tuple[float, float]] = field(default_factory=dict)  # output -> (rtol, atol) in force
    notes: tuple[str, ...] = ()
    ran: dict[str, Any] = field(default_factory=dict)  # what was really run: options, sizes, types, flags, binary
    noisy: str = ""  # why times are not to be trusted (others compute on the device), "" when they are
    device_bytes: int = 0  # memory that the arrays take on the device, at the largest declared size
    watch_seconds: float = 0.0  # what the tools that watch a finalist are expected to take


@dataclass(frozen=True)
class Confirmation:
    """A finalist against the baseline: fresh data, both orders, every tune and check size."""

    evaluation: Evaluation
    accepted: bool
    baseline: tuple[Timing, ...]  # at tune sizes, then check sizes
    candidate: tuple[Timing, ...]
    speedups: tuple[tuple[str, float, float, float], ...] = ()  # size, ratio of medians, low, high
    reason: str = ""
    warm: tuple[tuple[str, float], ...] = ()  # size, ratio of medians with a warm cache, where times are cold ones
    notes: tuple[str, ...] = ()


class Evaluator(Protocol):
    """Compile → verify → time. Asynchronous: compiles overlap with measurements; the device lives in a child
    process. A context manager; ``close`` leaves no process behind."""

    device: DeviceInfo

    def gate(self) -> GateReport:
        """Checks and times the baseline. Raises :class:`genome.errors.InputError` when the problem is unusable."""
        ...

    def submit(self, key: str, program: Program) -> None: ...

    def pending(self) -> int:
        """Submitted and not yet collected."""
        ...

    def collect(self, timeout: float) -> list[Evaluation]:
        """What has finished; waits up to ``timeout`` seconds for the first."""
        ...

    def abandon(self) -> None:
        """Forgets what was submitted and not collected: its verdicts never come, and nothing more of it is begun."""
        ...

    def set_champion(self, key: str, program: Program, median: float) -> None:
        """The program that candidates are interleaved with, and its median time in seconds (weighted over sizes)."""
        ...

    def confirm(self, key: str, program: Program, seconds: float = math.inf) -> Confirmation:
        """``seconds``: what it should take at most. Where that is short fewer samples are taken and less is watched
        (the notes say so); every check of values is made all the same."""
        ...

    def close(self) -> None: ...
