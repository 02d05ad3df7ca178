"""A finalist on trial: fresh data, every tune and check size, repeats bit for bit, both orders of timing."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpu import limits, statistics, timing
from gpu.bench import Bench, reference
from gpu.build import Built
from gpu.child_main import Tell
from gpu.records import Timing, Verdict
from gpu.session import DeviceFault, Session
from gpu.setup import Setup
from gpu.verify import check

REPEATS = 3


@dataclass(frozen=True)
class Trial:
    verdict: Verdict
    reason: str
    baseline: tuple[Timing, ...] = ()
    candidate: tuple[Timing, ...] = ()
    speedups: tuple[tuple[str, float, float, float], ...] = ()
    overall: tuple[float, float] = (1.0, 1.0)  # weighted geometric mean over tune sizes, and its lower bound
    max_error: float = 0.0
    poisoned: bool = False


def confirm(session: Session, tell: Tell, setup: Setup, built: Built, seed: int) -> Trial:
    """``seed`` must differ from the one that the search ran on."""
    try:
        return _confirm(session, tell, setup, built, seed)
    except DeviceFault as e:
        return Trial(Verdict.CRASHED if e.poisoned else Verdict.LAUNCH_FAILURE, str(e), poisoned=e.poisoned)


def _confirm(session: Session, tell: Tell, setup: Setup, built: Built, seed: int) -> Trial:
    before: list[Timing] = []
    after: list[Timing] = []
    speedups: list[tuple[str, float, float, float]] = []
    worst = 0.0
    for size in setup.workload.tune + setup.workload.check:
        tell.stage("preparing", 600.0)
        bench = Bench(session, setup.workload, size, seed)
        try:
            want = reference(bench, setup.baseline)
            chosen = built if limits.applies(built.program, bench.scalars) else setup.baseline
            over = limits.over_grid_limits(chosen.program, bench.scalars, session.info)
            if over:
                return Trial(Verdict.OVER_LIMITS, over)
            limit = max(setup.options.hang_seconds, 20.0 * want.seconds * (REPEATS + 1))
            tell.stage("running", limit)
            runner = bench.bind(chosen)
            kept = None
            for repeat in range(REPEATS):
                result = check(bench, runner, want, setup.tolerances, repeat % 2)
                worst = max(worst, result.max_error)
                if result.reason:
                    return Trial(Verdict.WRONG, result.reason, max_error=worst)
                got = bench.download()
                if repeat % 2 == 0 and setup.deterministic:
                    if kept is not None and any(kept[n].tobytes() != got[n].tobytes() for n in got):
                        return Trial(Verdict.NOT_REPEATABLE, f"the same input gives different bits ({bench})",
                                     max_error=worst)
                    kept = got
            rounds = max(2, math.ceil(setup.options.samples / 2))
            tell.stage("timing", setup.options.hang_seconds + 10.0 * 4 * (rounds + 2) * (want.seconds + result.seconds))
            a, b = timing.alternate(bench, bench.bind(setup.baseline), runner, setup.options, rounds,
                                    min(want.seconds, result.seconds))
            last = check(bench, runner, want, setup.tolerances, 1)
            if last.reason:
                return Trial(Verdict.NOT_REPEATABLE, "wrong after the timed launches: " + last.reason, max_error=worst)
            if not a.samples or not b.samples:
                return Trial(Verdict.LAUNCH_FAILURE, f"no valid time at size {size}", max_error=worst)
            before.append(a)
            after.append(b)
            speedups.append((str(size), *statistics.ratio(a.samples, b.samples, seed)))
        finally:
            bench.free()
    tune = setup.workload.tune
    pairs = list(zip(tune, speedups, strict=False))
    overall = (statistics.log_mean([(s.weight, r[1]) for s, r in pairs]),
               statistics.log_mean([(s.weight, r[2]) for s, r in pairs]))
    return Trial(Verdict.OK, "", tuple(before), tuple(after), tuple(speedups), overall, worst)
