"""The device worker: the process that owns the context and may die.

Operations: ``warm`` (open the device), ``setup``, ``gate``, ``measure``, ``confirm``. Each returns plain data; each
step that may hang is announced with its limit first.
"""

from __future__ import annotations

import time
import zlib
from dataclasses import replace
from typing import Any

from genome.workload import Size
from gpu import limits, statistics, timing
from gpu.bench import Bench, Reference, reference
from gpu.build import Built
from gpu.child_main import Tell
from gpu.confirm import confirm, looking
from gpu.gate import gate
from gpu.ledger import LOAD, OTHER, PREPARE, STARVED, TIME, VERIFY, WAITED, Ledger
from gpu.outcome import Outcome
from gpu.records import DeviceInfo, Verdict
from gpu.session import DeviceFault, Runner, Session
from gpu.setup import Setup
from gpu.verify import Check, Proxies, check
from gpu.worker_config import WorkerConfig

PROMISING = 1.05  # times the best: up to here a candidate is checked again after its timed launches
LOOK_AGAIN = 0.3  # a first launch below this may have been slow by accident
PREPARE_SECONDS = 600.0  # for generating data and running the baseline: not the candidate's fault


def open_session(config: WorkerConfig) -> Session:
    if config.backend == "cuda":
        from gpu.session_cuda import CudaSession
        return CudaSession(config.ordinal, config.support["support"])
    from gpu.session_opencl import OpenClSession
    return OpenClSession(config.support.get("support"))


def exercise(session: Session, setup: Setup | None, built: Built) -> None:
    """One run at each small check, nothing compared: for tools that watch."""
    assert setup is not None
    for proxy in setup.proxies:
        bench = Bench(session, setup.workload, proxy.size, setup.options.seed, proxy.distribution)
        if limits.applies(built.program, bench.scalars):
            bench.reset(0)
            session.time(bench.bind(built))
        bench.free()
    session.close()


class Worker:
    def __init__(self, config: WorkerConfig, tell: Tell) -> None:
        self._config, self._tell = config, tell
        self._session: Session | None = None
        self._setup: Setup | None = None
        self._benches: dict[str, tuple[Bench, Reference]] = {}
        self._proxies: Proxies | None = None
        self._runners: dict[tuple[str, str], Runner] = {}
        self._ledger = Ledger()
        self._idle_since: float | None = None

    @property
    def session(self) -> Session:
        if self._session is None:
            self._tell.stage("opening the device", PREPARE_SECONDS)
            self._session = open_session(self._config)
        return self._session

    def handle(self, task: dict[str, Any]) -> object:
        now = time.monotonic()
        if self._idle_since is not None and task["op"] == "measure":
            waited = max(0.0, now - max(self._idle_since, task["ready"]))
            self._ledger.add(WAITED, waited)
            self._ledger.add(STARVED, now - self._idle_since - waited)
        try:
            return self._handle(task)
        finally:
            if task["op"] != "setup":  # which is no work for the device
                self._idle_since = time.monotonic()

    def _handle(self, task: dict[str, Any]) -> object:
        op = task["op"]
        if op == "setup":
            self._adopt(task["setup"])
            return None
        if op == "facts":
            return self._facts()
        if op == "gate":
            return gate(self.session, self._tell, task["setup"], task["plain"])
        if op == "confirm":
            assert self._setup is not None
            return confirm(self.session, self._tell, self._setup, task["built"], task["seed"], task["until"])
        if op == "exercise":
            self._tell.stage("running", PREPARE_SECONDS)
            exercise(self.session, self._setup, task["built"])
            return None
        if op == "measure":
            with self._ledger.phase(OTHER):
                outcome = self._measure(task["built"])
            return replace(outcome, spent=self._ledger.take())
        raise ValueError(f"no such operation: {op}")

    def _facts(self) -> DeviceInfo:
        session = self.session
        self._tell.stage("measuring the device", 120.0)
        measured = session.measure_device()
        session.info = replace(session.info, bandwidth=measured[0], flops=measured[1])
        return session.info

    def _adopt(self, setup: Setup) -> None:
        """A new champion keeps the data; anything else begins anew."""
        old = self._setup
        self._setup = setup
        if old is not None and replace(old, champion=setup.champion, best_seconds=setup.best_seconds) == setup:
            return
        for bench, _ in self._benches.values():
            bench.free()
        if self._proxies is not None:
            self._proxies.free()
        self._benches, self._proxies, self._runners = {}, None, {}

    def _bench(self, size: Size) -> tuple[Bench, Reference]:
        assert self._setup is not None
        name = str(size)
        if name not in self._benches:
            self._tell.stage("preparing", PREPARE_SECONDS)
            bench = Bench(self.session, self._setup.workload, size, self._setup.options.seed)
            self._benches[name] = bench, reference(bench, self._setup.baseline)
        return self._benches[name]

    def _champion(self, bench: Bench, candidate: Built) -> Runner | None:
        assert self._setup is not None
        built = self._setup.champion
        if built is None or not limits.applies(built.program, bench.scalars):
            built = self._setup.baseline
        if built.program.key == candidate.program.key:
            return None
        key = built.program.key, str(bench.size)
        if key not in self._runners:
            self._runners = {k: r for k, r in self._runners.items() if k[0] == built.program.key}
            self._runners[key] = bench.bind(built)
        return self._runners[key]

    def _measure(self, built: Built) -> Outcome:
        assert self._setup is not None
        with self._ledger.phase(PREPARE):
            for size in self._setup.workload.tune:
                self._bench(size)
            if self._config.proxies_here and self._proxies is None:
                self._tell.stage("preparing", PREPARE_SECONDS)
                self._proxies = Proxies(self.session, self._setup)
                self._proxies.prepare()
        begin = time.monotonic()
        wrong = built.mismatch(self._setup.options.flags)
        if wrong:
            return Outcome(Verdict.LAUNCH_FAILURE, wrong)
        try:
            outcome = self._judge(built)
        except DeviceFault as e:
            verdict = Verdict.CRASHED if e.poisoned else Verdict.LAUNCH_FAILURE
            outcome = Outcome(verdict, str(e), poisoned=e.poisoned)
        if outcome.verdict not in (Verdict.OK, Verdict.ABORTED_SLOW) and not outcome.poisoned:
            with self._ledger.phase(VERIFY):
                for bench, _ in self._benches.values():
                    bench.repair()
        return replace(outcome, seconds=time.monotonic() - begin)

    def _judge(self, built: Built) -> Outcome:
        setup = self._setup
        assert setup is not None
        if self._proxies is not None:
            self._tell.stage("small checks", setup.run_limit(runs=2))
            with self._ledger.phase(VERIFY):
                small = self._proxies.check(built)
            if small.reason:
                return Outcome(Verdict.WRONG, small.reason, max_error=small.max_error)
        runs: list[tuple[Size, Bench, Reference, Runner, Check]] = []
        worst = 0.0
        for size in setup.workload.tune:
            bench, want = self._bench(size)
            program = built if limits.applies(built.program, bench.scalars) else setup.baseline
            over = limits.over_grid_limits(program.program, bench.scalars, self.session.info)
            if over:
                return Outcome(Verdict.OVER_LIMITS, over)
            self._tell.stage("running", setup.run_limit(size))
            with self._ledger.phase(LOAD):
                runner = bench.bind(program)
            with self._ledger.phase(VERIFY):
                result = check(bench, runner, want, setup.tolerances, 0)  # the other pattern: after the timing
            worst = max(worst, result.max_error)
            if result.reason:
                return Outcome(Verdict.WRONG, result.reason, max_error=result.max_error)
            runs.append((size, bench, want, runner, result))
        return self._time(built, runs, worst)

    def _time(self, built: Built, runs: list[tuple[Size, Bench, Reference, Runner, Check]], worst: float) -> Outcome:
        setup = self._setup
        assert setup is not None
        best = [setup.best_seconds.get(str(size), 0.0) for size, *_ in runs]
        firsts = []
        for (_, bench, _, runner, result), b in zip(runs, best, strict=True):
            first = result.seconds
            if 0 < setup.options.slow_factor * b < first < LOOK_AGAIN:  # loading the code, or a neighbour
                with self._ledger.phase(TIME):
                    first = min(first, timing.sample(bench, runner, setup.options))
            firsts.append(first)
        weights = sum(size.weight for size, *_ in runs)
        slow = statistics.log_mean([(size.weight, first / b) for (size, *_), first, b in
                                    zip(runs, firsts, best, strict=True) if b > 0 and statistics.valid(first)])
        if weights > 0 and slow > setup.options.slow_factor:
            return Outcome(Verdict.ABORTED_SLOW, f"{slow:.1f} times as slow as the best so far",
                           tuple(statistics.timing(str(size), [f]) for (size, *_), f in zip(runs, firsts, strict=True)),
                           worst)
        timings = []
        for (size, bench, want, runner, _), first, b in zip(runs, firsts, best, strict=True):
            self._tell.stage("timing", setup.run_limit(size, setup.options.samples) + setup.options.min_time)
            champion = self._champion(bench, built)
            try:
                with self._ledger.phase(TIME):
                    taken = timing.measure(bench, runner, setup.options, first, b, champion,
                                           self._ledger.during(VERIFY, looking(setup, bench, want)),
                                           zlib.crc32(built.program.key.encode()) + setup.options.seed)
            except timing.WrongWhileTimed as e:
                return Outcome(Verdict.NOT_REPEATABLE, f"right first, wrong in {e}", max_error=worst)
            except timing.Unfinished as e:
                return Outcome(Verdict.LAUNCH_FAILURE, f"{e} at size {size}", max_error=worst)
            if not 0 < PROMISING * b < taken.median:  # nothing slower is ever chosen; confirmation checks all anew
                with self._ledger.phase(VERIFY):
                    again = check(bench, runner, want, setup.tolerances, 1)  # C21: wrong only after some calls
                worst = max(worst, again.max_error)
                if again.reason:
                    return Outcome(Verdict.NOT_REPEATABLE, "right first, wrong after the timed launches: "
                                   + again.reason, max_error=worst)
            if not taken.samples:
                return Outcome(Verdict.LAUNCH_FAILURE, f"no valid time at size {size}")
            floor = timing.floor_seconds(_written(bench, want), setup.bandwidth, self.session.info.l2_bytes)
            if taken.median < floor:
                return Outcome(Verdict.WRONG, f"{taken.median:.3g} s at size {size} is faster than its outputs can be "
                                              f"written ({floor:.3g} s at the device's bandwidth)", max_error=worst)
            timings.append(taken)
        return Outcome(Verdict.OK, timings=tuple(timings), max_error=worst)


def _written(bench: Bench, want: Reference) -> float:
    """Bytes that every correct program must write at least once."""
    total = 0.0
    for name, array in want.arrays.items():
        left = want.untouched.get(name)
        total += array.nbytes if left is None else array.nbytes - int(left.sum()) * array.itemsize
    return total
