"""Times of a program at one size: device time around exactly the launches, nothing else.

Before each sample, outside the timed region: in-out arrays restored, the cache flushed when cold times are asked for.
Candidate and champion are interleaved in one process, so that clocks and neighbours meet both (evaluator.md T10, T12).
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median

from gpu.bench import Bench
from gpu.health import doubtful
from gpu.interface import EvaluatorOptions
from gpu.records import Timing
from gpu.session import Runner
from gpu.statistics import timing, valid

SHORT = 20e-6  # below this, launches are batched: event resolution and launch gaps would dominate
BATCH = 20
HOPELESS = 1.25  # slower than the best by this factor: no more than ``min_time`` is spent
BEHIND = 1.02  # every sample slower than each of the champion's by this: more would not change the order
AGREE = 0.1  # a hopeless candidate's checked launch counts as a sample when the next one differs by no more than this
LATE, LATE_SECONDS = 1.5, 2e-3  # the host may wait this much longer than the device says it worked
RETRIES, PAUSE = 6, 0.02  # samples of a throttled device taken anew, at most; seconds before each
WARM_UP = 0.05  # seconds of work before the first sample of a reference: clocks ramp up by time, not by count


def batch_size(bench: Bench, seconds: float, options: EvaluatorOptions) -> int:
    """Launches per sample: more than one only for very short kernels that may be repeated as they are. A batch runs
    with a warm cache after its first launch."""
    if seconds >= SHORT or bench.needs_restore or bench.session.info.backend != "cuda":
        return 1
    return BATCH


def remarks(bench: Bench, seconds: float, options: EvaluatorOptions) -> list[str]:
    """What must be said of times this short (evaluator.md T14)."""
    if seconds >= SHORT or bench.session.info.backend != "cuda":
        return []
    if batch_size(bench, seconds, options) > 1:
        return [f"size {bench.size}: launches below 20 us are timed in batches of {BATCH}, warm cache"]
    return [f"size {bench.size}: launches below 20 us with in-out arrays are timed one by one: the overhead of a "
            "launch is part of their time"]


class WrongWhileTimed(Exception):
    """One of the timed launches gave a wrong result; the text says which."""


class Unfinished(Exception):
    """Work goes on after the events say that it has ended; the text gives both times."""


Look = Callable[[], str]  # judges what the last launch left behind: "" when it is right


def sample(bench: Bench, runner: Runner, options: EvaluatorOptions, batch: int = 1, cold: bool = True) -> float:
    bench.reset(0)
    if options.cold_cache and cold:
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


class Watch:
    """The state of the device beside each sample of one program; how often samples may still be taken anew."""

    def __init__(self) -> None:
        self.left = RETRIES
        self.clocks: list[int] = []
        self.throttled: list[str] = []

    def settled(self, bench: Bench, runner: Runner, options: EvaluatorOptions, batch: int, cold: bool = True) -> float:
        """A sample; taken anew, within the limit, while the device says that it is throttled (evaluator.md T11)."""
        while True:
            seconds = sample(bench, runner, options, batch, cold)
            state = bench.session.state()
            if not doubtful(state) or self.left == 0:
                break
            self.left -= 1
            time.sleep(PAUSE)
        if state is not None:
            self.clocks.append(state.clock_mhz)
            self.throttled += [r for r in state.throttled if r not in self.throttled]
        return seconds

    def on(self, taken: Timing) -> Timing:
        return replace(taken, clocks=tuple(self.clocks), throttled=tuple(self.throttled))


def drawn(seed: int, count: int) -> int:
    """Which of the timed launches is looked at (evaluator.md C22)."""
    return random.Random(seed).randrange(count)


def measure(bench: Bench, runner: Runner, options: EvaluatorOptions, first: float, best: float,
            champion: Runner | None, look: Look | None = None, seed: int = 0) -> Timing:
    """``options.samples`` samples, fewer for a candidate that is clearly slower than ``best``: once
    ``options.min_time`` seconds are spent on it (``first``, the seconds of its checked launch, included) two that agree
    will do, and three in any case, or where all are behind the champion's. Every other sample is followed by one of the
    champion's. ``look`` judges the outcome of one of the timed launches, drawn by ``seed``.

    Raises :class:`WrongWhileTimed` and :class:`Unfinished`.
    """
    batch = batch_size(bench, first, options)
    samples: list[float] = []
    rival: list[float] = []
    host: list[float] = []
    rival_host: list[float] = []
    watch, rival_watch = Watch(), Watch()
    spent = 0.0
    chosen = drawn(seed, max(options.samples, 1))
    for index in range(max(options.samples, 1)):
        samples.append(watch.settled(bench, runner, options, batch))
        host.append(bench.session.host_seconds / batch)
        wrong = look() if look is not None and index == chosen else ""
        if wrong:
            raise WrongWhileTimed(f"timed launch {index + 1} of {options.samples}: {wrong}")
        spent += samples[-1] * batch if valid(samples[-1]) else 0.0
        good = [s for s in samples if valid(s)]
        hopeless = bool(good) and best > 0 and median(good) > HOPELESS * best
        if champion is not None and index % 2 == 0 and not hopeless:
            rival.append(rival_watch.settled(bench, champion, options, batch))
            rival_host.append(bench.session.host_seconds / batch)
        if hopeless and index == 0 and batch == 1 and spent + first > options.min_time and valid(first) and abs(
                first - samples[0]) <= AGREE * samples[0]:
            samples.append(first)
            break
        if len(samples) >= 3 and spent > options.min_time and (hopeless or behind(samples, rival)):
            break
    late = unfinished(samples, host, rival, rival_host)
    if late:
        raise Unfinished(late)
    return watch.on(timing(str(bench.size), samples, rival))


def behind(samples: Sequence[float], rival: Sequence[float]) -> bool:
    """Whether a candidate is slower than the champion beside it in every pair of samples, and not by a hair."""
    return len(rival) >= 2 and all(map(valid, (*samples, *rival))) and min(samples) > BEHIND * max(rival)


def unfinished(device: Sequence[float], host: Sequence[float], other: Sequence[float] = (),
               other_host: Sequence[float] = ()) -> str:
    """Whether the host always waits far longer than the device says it worked (evaluator.md T1): past :data:`LATE`
    times, by more than :data:`LATE_SECONDS`, and not so for the program that it was interleaved with; else ""."""
    if not any(map(valid, device)):
        return ""
    own, waited = median(filter(valid, device)), min(host)
    usual = max(1.0, min(other_host) / median(filter(valid, other))) if any(map(valid, other)) else 1.0
    if waited <= LATE * usual * own or waited - own <= LATE_SECONDS:
        return ""
    return f"work goes on after the launch: the device reports {own:.3g} s, the host waits {waited:.3g} s"


def alternate(bench: Bench, first: Runner, second: Runner, options: EvaluatorOptions, rounds: int,
              seconds: float, look: Look | None = None, seed: int = 0, cold: bool = True) -> tuple[Timing, Timing]:
    """Both programs in the order A B B A, ``rounds`` times: two samples each a round, neither always the later one.
    ``look`` judges the outcome of one of the second program's timed launches. ``cold`` False leaves the cache as it is.

    Raises :class:`WrongWhileTimed` and :class:`Unfinished`.
    """
    batch = batch_size(bench, seconds, options)
    warm_up(bench, first)
    warm_up(bench, second)
    times: tuple[list[float], list[float]] = [], []
    host: tuple[list[float], list[float]] = [], []
    chosen = drawn(seed, 2 * rounds)
    watches = Watch(), Watch()
    for _ in range(rounds):
        for which, runner in ((0, first), (1, second), (1, second), (0, first)):
            times[which].append(watches[which].settled(bench, runner, options, batch, cold))
            host[which].append(bench.session.host_seconds / batch)
            if which == 1 and look is not None and len(times[1]) - 1 == chosen and (wrong := look()):
                raise WrongWhileTimed(f"timed launch {chosen + 1} of {2 * rounds}: {wrong}")
    late = unfinished(times[1], host[1], times[0], host[0])
    if late:
        raise Unfinished(late)
    return watches[0].on(timing(str(bench.size), times[0])), watches[1].on(timing(str(bench.size), times[1]))


def floor_seconds(written_bytes: float, bandwidth: float, l2_bytes: int) -> float:
    """No run can be faster: the bytes that are certainly written, at 1.15 times the measured copy bandwidth (a copy
    reads and writes, so pure stores may be up to a few percent faster). 0 when nothing is known, or when the data may
    stay in the cache."""
    if bandwidth <= 0 or written_bytes <= 2 * l2_bytes or not math.isfinite(written_bytes):
        return 0.0
    return written_bytes / (1.15 * bandwidth)
