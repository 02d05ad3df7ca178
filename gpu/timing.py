"""Times of a program at one size: device time around exactly the launches, nothing else.

Before each sample, outside the timed region: in-out arrays restored, the cache flushed when cold times are asked for.
Candidate and champion are interleaved in one process, so that clocks and neighbours meet both (evaluator.md T10, T12).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from statistics import median

from gpu.bench import Bench
from gpu.interface import EvaluatorOptions
from gpu.records import Timing
from gpu.session import Runner
from gpu.statistics import timing, valid

SHORT = 20e-6  # below this, launches are batched: event resolution and launch gaps would dominate
BATCH = 20
HOPELESS = 1.25  # slower than the best by this factor: no more than ``min_time`` is spent
WARM_UP = 0.05  # seconds of work before the first sample of a reference: clocks ramp up by time, not by count


def batch_size(bench: Bench, seconds: float, options: EvaluatorOptions) -> int:
    """Launches per sample: more than one only for very short kernels that may be repeated as they are. A batch runs
    with a warm cache after its first launch."""
    if seconds >= SHORT or bench.needs_restore or bench.session.info.backend != "cuda":
        return 1
    return BATCH


def sample(bench: Bench, runner: Runner, options: EvaluatorOptions, batch: int = 1) -> float:
    bench.reset(0)
    if options.cold_cache:
        bench.session.flush_cache()
    return bench.session.time(runner, batch)


def warm_up(bench: Bench, runner: Runner, seconds: float = WARM_UP) -> None:
    """Runs for a wall time; at least once."""
    end = time.monotonic() + seconds
    while True:
        bench.reset(0)
        bench.session.time(runner)
        if time.monotonic() >= end:
            return


def measure(bench: Bench, runner: Runner, options: EvaluatorOptions, first: float, best: float,
            champion: Runner | None, clock: Callable[[], float] = time.monotonic) -> Timing:
    """``options.samples`` samples, fewer for a candidate that is clearly slower than ``best``: that one gets at most
    ``options.min_time`` seconds beyond its third. Every other sample is followed by one of the champion's."""
    batch = batch_size(bench, first, options)
    samples: list[float] = []
    rival: list[float] = []
    spent = 0.0
    for index in range(max(options.samples, 1)):
        samples.append(sample(bench, runner, options, batch))
        spent += samples[-1] * batch if valid(samples[-1]) else 0.0
        good = [s for s in samples if valid(s)]
        hopeless = bool(good) and best > 0 and median(good) > HOPELESS * best
        if champion is not None and index % 2 == 0 and not hopeless:
            rival.append(sample(bench, champion, options, batch))
        if hopeless and len(samples) >= 3 and spent > options.min_time:
            break
    return timing(str(bench.size), samples, rival)


def alternate(bench: Bench, first: Runner, second: Runner, options: EvaluatorOptions, rounds: int,
              seconds: float) -> tuple[Timing, Timing]:
    """Both programs in the order A B B A, ``rounds`` times: two samples each a round, neither always the later one."""
    batch = batch_size(bench, seconds, options)
    warm_up(bench, first)
    warm_up(bench, second)
    a: list[float] = []
    b: list[float] = []
    for _ in range(rounds):
        a.append(sample(bench, first, options, batch))
        b.append(sample(bench, second, options, batch))
        b.append(sample(bench, second, options, batch))
        a.append(sample(bench, first, options, batch))
    return timing(str(bench.size), a), timing(str(bench.size), b)


def floor_seconds(written_bytes: float, bandwidth: float, l2_bytes: int) -> float:
    """No run can be faster: the bytes that are certainly written, at 1.15 times the measured copy bandwidth (a copy
    reads and writes, so pure stores may be up to a few percent faster). 0 when nothing is known, or when the data may
    stay in the cache."""
    if bandwidth <= 0 or written_bytes <= 2 * l2_bytes or not math.isfinite(written_bytes):
        return 0.0
    return written_bytes / (1.15 * bandwidth)
