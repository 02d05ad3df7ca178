"""What the evaluator says about a candidate. Plain data: picklable, JSON-friendly."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Verdict(str, Enum):
    """Exactly one per candidate; everything but OK carries a reason."""

    OK = "ok"
    REFUSED = "refused"  # by a transform's legality check: never compiled
    COMPILE_ERROR = "compile error"
    COMPILE_TIMEOUT = "compile timeout"
    OVER_LIMITS = "over limits"  # resources against the device or the user's constraints
    LAUNCH_FAILURE = "launch failure"
    CRASHED = "crashed"
    TIMED_OUT = "timed out"
    WRONG = "wrong result"
    NOT_REPEATABLE = "not repeatable"
    ABORTED_SLOW = "slower, aborted"  # verified on the first run, hopeless in time: its one sample is kept
    DUPLICATE = "duplicate"


@dataclass(frozen=True)
class Resources:
    """Per-kernel compile-time facts; -1 where the back end cannot know (registers on OpenCL)."""

    registers: int = -1
    spill_bytes: int = 0
    stack_bytes: int = 0
    shared_bytes: int = 0  # static + dynamic
    constant_bytes: int = 0
    code_bytes: int = 0
    compile_seconds: float = 0.0
    occupancy: float = -1.0  # resident warps / maximum, from registers, shared memory and block size
    binary: str = ""  # hash over code section, constants, resources and launch


@dataclass(frozen=True)
class Timing:
    """Samples at one size, seconds per launch, in the order taken. ``champion`` holds the interleaved samples of the
    reference program (baseline or champion) where there was one."""

    size: str
    samples: tuple[float, ...]
    median: float
    low: float  # 95 % interval of the median (bootstrap or order statistics)
    high: float
    champion: tuple[float, ...] = ()
    clocks: tuple[int, ...] = ()  # MHz of the multiprocessors beside each sample, where the device tells
    throttled: tuple[str, ...] = ()  # why clocks were lowered during samples that were kept all the same

    @property
    def cv(self) -> float:
        """Robust coefficient of variation: 1.4826 * MAD / median."""
        s = sorted(abs(x - self.median) for x in self.samples)
        return 1.4826 * s[len(s) // 2] / self.median if s and self.median > 0 else 0.0


@dataclass(frozen=True)
class Evaluation:
    key: str  # the caller's name of the candidate
    verdict: Verdict
    reason: str = ""
    resources: Resources = field(default_factory=Resources)
    timings: tuple[Timing, ...] = ()  # one per tune size, in order
    check_timings: tuple[Timing, ...] = ()  # one per check size (finalists)
    max_error: float = 0.0  # largest error in units of the tolerance
    device_seconds: float = 0.0  # device-worker time that this candidate cost
    log: str = ""  # compiler's message where that is the reason
    memory_bytes: int = 0  # on the device at the largest tune size: arrays, workspaces, stacks of resident threads


@dataclass(frozen=True)
class DeviceInfo:
    """Facts of a device. Bandwidth in bytes/s, rate in float32 FLOP/s (0: not measured)."""

    backend: str  # cuda, opencl, replay
    name: str
    arch: str = ""  # sm_90
    multiprocessors: int = 1
    max_threads_per_block: int = 1024
    max_block: tuple[int, int, int] = (1024, 1024, 64)
    max_grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    max_shared_bytes: int = 49152  # static, per block
    max_shared_optin: int = 49152
    shared_per_multiprocessor: int = 49152
    registers_per_block: int = 65536
    registers_per_multiprocessor: int = 65536
    max_threads_per_multiprocessor: int = 2048
    max_blocks_per_multiprocessor: int = 32
    warp: int = 32
    l2_bytes: int = 0
    memory_bytes: int = 0
    bandwidth: float = 0.0
    flops: float = 0.0
    driver: str = ""
