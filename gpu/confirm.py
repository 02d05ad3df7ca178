"""A finalist on trial: fresh data, every tune and check size, repeats bit for bit, both orders of timing, and once more
other data behind the same pointers."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from gpu import data, limits, soundness, statistics, timing
from gpu.bench import Bench, Reference, reference, trusted
from gpu.build import Built
from gpu.child_main import Tell
from gpu.interface import EvaluatorOptions
from gpu.records import Timing, Verdict
from gpu.session import DeviceFault, Runner, Session
from gpu.setup import Setup
from gpu.verify import check, independent, judge

REPEATS = 3
ROUNDS = 8  # of A B B A at least, where they take no longer than SECONDS: the interval must be worth its name
SECONDS = 1.0
FEWEST = 3
WARM_ROUNDS = 2
TAIL = 0.5  # percent: among several finalists that all looked best, chance has several tries


@dataclass(frozen=True)
class Trial:
    verdict: Verdict
    reason: str
    baseline: tuple[Timing, ...] = ()
    candidate: tuple[Timing, ...] = ()
    speedups: tuple[tuple[str, float, float, float], ...] = ()
    overall: tuple[float, float] = (1.0, 1.0)  # weighted geometric mean over tune sizes, and its lower bound (99.5 %)
    warm: tuple[tuple[str, float], ...] = ()  # size, ratio of medians with a warm cache
    max_error: float = 0.0
    poisoned: bool = False


def certain(trial: Trial, options: EvaluatorOptions) -> bool:
    """Whether the gain is there beyond what chance gives: its lower bound is over the threshold (evaluator.md T13)."""
    return trial.verdict == Verdict.OK and trial.overall[1] > 1.0 + options.min_gain


def confirm(session: Session, tell: Tell, setup: Setup, built: Built, seed: int, until: float = math.inf) -> Trial:
    """``seed`` must differ from the one that the search ran on. ``until``: on time.monotonic's clock; samples are fewer
    where they would take longer, and never fewer than ``FEWEST`` rounds."""
    wrong = built.mismatch(setup.options.flags)
    if wrong:
        return Trial(Verdict.LAUNCH_FAILURE, wrong)
    try:
        return _confirm(session, tell, setup, built, seed, until)
    except DeviceFault as e:
        return Trial(Verdict.CRASHED if e.poisoned else Verdict.LAUNCH_FAILURE, str(e), poisoned=e.poisoned)


def looking(setup: Setup, bench: Bench, want: Reference) -> timing.Look:
    """Judges what a timed launch left behind."""
    return lambda: judge(bench, want, setup.tolerances, 0).reason


def fitting(rounds: int, left: float, one: float) -> int:
    """As many rounds of seconds ``one`` as fit into ``left`` seconds: ``rounds`` at most, ``FEWEST`` at least."""
    return max(min(FEWEST, rounds), min(rounds, int(min(left / max(one, 1e-9), rounds))))


def _confirm(session: Session, tell: Tell, setup: Setup, built: Built, seed: int, until: float) -> Trial:
    before: list[Timing] = []
    after: list[Timing] = []
    speedups: list[tuple[str, float, float, float]] = []
    floors: list[float] = []
    warm: list[tuple[str, float]] = []
    worst = 0.0
    sizes = setup.workload.tune + setup.workload.check
    for index, size in enumerate(sizes):
        tell.stage("preparing", 600.0)
        bench = Bench(session, setup.workload, size, seed)
        try:
            want = reference(bench, setup.baseline)
            if setup.workload.reference is not None or setup.double is not None:
                want = _precise(bench, setup, want)
            chosen = built if limits.applies(built.program, bench.scalars) else setup.baseline
            over = limits.over_grid_limits(chosen.program, bench.scalars, session.info)
            if over:
                return Trial(Verdict.OVER_LIMITS, over)
            limit = max(setup.options.hang_seconds, 20.0 * want.seconds * (REPEATS + 1))
            tell.stage("running", limit)
            runner = bench.bind(chosen)
            kept, begin = None, time.monotonic()
            for repeat in range(REPEATS):
                result = check(bench, runner, want, setup.tolerances, repeat % 2, setup.precision)
                worst = max(worst, result.max_error)
                if result.reason:
                    return Trial(Verdict.WRONG, result.reason, max_error=worst)
                got = bench.download()
                if repeat % 2 == 0 and setup.deterministic:
                    if kept is not None and any(kept[n].tobytes() != got[n].tobytes() for n in got):
                        return Trial(Verdict.NOT_REPEATABLE, f"the same input gives different bits ({bench})",
                                     max_error=worst)
                    kept = got
            rounds = max(2, math.ceil(setup.options.samples / 2),
                         min(ROUNDS, int(SECONDS / (2 * (want.seconds + result.seconds) + 1e-9))))
            now = time.monotonic()  # a check takes longer than a sample: it compares as well
            rounds = fitting(rounds, (until - now) / (len(sizes) - index), 4.0 * (now - begin) / REPEATS)
            tell.stage("timing", setup.options.hang_seconds
                       + 10.0 * 4 * (rounds + WARM_ROUNDS + 2) * (want.seconds + result.seconds))
            base, short = bench.bind(setup.baseline), min(want.seconds, result.seconds)
            try:
                a, b = timing.alternate(bench, base, runner, setup.options, rounds, short,
                                        looking(setup, bench, want), seed)
            except timing.WrongWhileTimed as e:
                return Trial(Verdict.NOT_REPEATABLE, f"right first, wrong in {e}", max_error=worst)
            except timing.Unfinished as e:
                return Trial(Verdict.LAUNCH_FAILURE, f"{e} at size {size}", max_error=worst)
            if setup.options.cold_cache and session.info.backend == "cuda" and session.info.l2_bytes:
                hot = timing.alternate(bench, base, runner, setup.options, WARM_ROUNDS, short, cold=False)
                if all(t.samples for t in hot):
                    warm.append((str(size), hot[0].median / hot[1].median))
            last = check(bench, runner, want, setup.tolerances, 1)
            if last.reason:
                return Trial(Verdict.NOT_REPEATABLE, "wrong after the timed launches: " + last.reason, max_error=worst)
            if not a.samples or not b.samples:
                return Trial(Verdict.LAUNCH_FAILURE, f"no valid time at size {size}", max_error=worst)
            tell.stage("running", limit)
            other = _other_data(bench, runner, setup, seed)
            if other:
                return Trial(Verdict.NOT_REPEATABLE, other, max_error=worst)
            before.append(a)
            after.append(b)
            speedups.append((str(size), *statistics.ratio(a.samples, b.samples, seed)))
            floors.append(statistics.ratio(a.samples, b.samples, seed, tail=TAIL)[1])
        finally:
            bench.free()
    tune = setup.workload.tune
    pairs = list(zip(tune, speedups, strict=False))
    overall = (statistics.log_mean([(s.weight, r[1]) for s, r in pairs]),
               statistics.log_mean([(s.weight, low) for s, low in zip(tune, floors, strict=False)]))
    return Trial(Verdict.OK, "", tuple(before), tuple(after), tuple(speedups), overall, tuple(warm), worst)


def _precise(bench: Bench, setup: Setup, want: Reference) -> Reference:
    """With the independent reference beside it, unless that and the baseline disagree on this data."""
    precise = trusted(want, independent(bench, setup))
    return want if soundness.disagreement(bench, precise, setup.tolerances) else precise


def _other_data(bench: Bench, runner: Runner, setup: Setup, seed: int) -> str:
    """Other data at the same addresses: a program that replays a result it has kept is wrong on it (evaluator.md T6).
    Why it is wrong, or ""."""
    for name, array in data.host_arrays(setup.workload, bench.size, seed + 1).items():
        bench.set(name, array)
    result = check(bench, runner, reference(bench, setup.baseline), setup.tolerances, 0)
    return f"wrong on other data at the same addresses: {result.reason}" if result.reason else ""
