"""The evaluator: compile → verify → time, in processes that may die. Implements :class:`gpu.interface.Evaluator`."""

from __future__ import annotations

import math
import os
import queue
import re
import time
from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import asdict, replace
from types import TracebackType
from typing import Any, TypeVar

from genome.errors import InputError
from genome.expressions import ExpressionError
from genome.program import Program
from genome.workload import Workload
from gpu import compile_nvcc, data, devices, health, limits, peaks, sanitizer, watch
from gpu.backend import Backend, make_backend
from gpu.build import Built
from gpu.compile_common import BuildOutcome
from gpu.confirm import Trial, certain
from gpu.engine import Engine, Loss, Pool, Reply, Task, result
from gpu.gate import RUNNING, GateResult
from gpu.health import State, doubtful
from gpu.interface import Confirmation, EvaluatorOptions, GateReport
from gpu.ledger import Account
from gpu.outcome import Outcome
from gpu.records import DeviceInfo, Evaluation, Resources, Verdict
from gpu.sanitizer import SanitizerReport
from gpu.setup import Setup

BASELINE = "baseline"
KEPT_BUILDS = 512
T = TypeVar("T")


def open_evaluator(backend: str, workload: Workload, baseline: Program, options: EvaluatorOptions | None = None,
                   double: Program | None = None) -> LocalEvaluator:
    """Opens the best device of a back end ("cuda", "opencl", "auto") for a problem. ``double`` is the baseline printed
    in double precision (:mod:`genome.double`), where it can be.

    Raises :class:`InputError` when there is no device or the baseline cannot run on it whatever the data.
    """
    options = options or EvaluatorOptions()
    watched_by = health.profiler(os.environ)
    if watched_by:
        raise InputError(f"times under a profiler are no times: {watched_by}", remedy="run evo without it")
    limits.check_constraints(options.constraints)
    for argument in workload.arguments:
        data.dtype_of(argument)
    if not workload.tune:
        raise InputError("there is no size to optimise for", remedy="give at least one under [sizes] tune")
    device = devices.pick(backend)
    if baseline.language != ("opencl" if device.backend == "opencl" else "cuda"):
        raise InputError(f"a program in {baseline.language} cannot run on {device.name} ({device.backend})")
    over = limits.over_block_limits(baseline, device)
    if over:
        raise InputError(f"the baseline cannot be launched: {over}", remedy="change the block")
    for size in workload.tune + workload.check:
        try:
            over = (limits.over_grid_limits(baseline, workload.scalars(size), device)
                    or limits.over_memory(workload, size, device))
        except ExpressionError as e:
            raise InputError(f"size {size}: {e}") from e
        if over:
            raise InputError(f"size {size}: {over}", remedy="change the size or the launch")
    return LocalEvaluator(make_backend(device, options), workload, baseline, options, double)


def identity(built: Built) -> str:
    """What two candidates share that are the same to measure: the binary, and when it may run."""
    return "|".join((built.resources.binary, *sorted(built.program.preconditions)))


class LocalEvaluator:
    """On a device of this machine. Thread-safe as far as the protocol goes; one gate before anything else."""

    def __init__(self, backend: Backend, workload: Workload, baseline: Program, options: EvaluatorOptions,
                 double: Program | None = None) -> None:
        self._double = double
        self.device: DeviceInfo = backend.device
        self._backend, self._workload, self._baseline, self._options = backend, workload, baseline, options
        self._builders = Pool("compiler", backend.builders, backend.start_builder)
        self._workers = Pool("device", 0, lambda _: backend.start_worker(), spare=True)
        self._results: queue.SimpleQueue[Evaluation] = queue.SimpleQueue()
        self._pending: set[str] = set()  # keys submitted and not collected
        self._setup: Setup | None = None
        self._binaries: dict[str, str] = {}  # binary → the key that had it first
        self._builds: OrderedDict[str, Built] = OrderedDict()  # program key → build
        self._medians: dict[str, dict[str, float]] = {}  # candidate key → medians by size
        self._account = Account()
        self._closed = False
        self._engine = Engine([self._builders, self._workers])

    # --- protocol

    def gate(self) -> GateReport:
        begin = time.monotonic()
        support = self._backend.support_programs()
        for name, program in support.items():  # the worker's own kernels: compiled like any other program
            self._backend.support[name] = self._compile(program)
        self._workers.count = 1  # from now on it may be started
        built = self._compile(self._baseline)
        over = limits.over_constraints(self._options.constraints, self._baseline, built.resources)
        plain = self._compile(self._baseline, plain=True) if self._backend.check_plain else None
        setup = Setup(self._workload, self._options, built, double=self._in_double())
        self.device = peaks.keep(self._ask({"op": "facts"}, DeviceInfo), self._options.cache_dir)
        reply, _ = self._wait_for(self._workers, {"op": "gate", "setup": setup, "plain": plain})
        if reply[0] == "lost" and reply[1].stage.startswith(RUNNING):
            raise _baseline_lost(self._baseline, reply[1], self._options.baseline_limit)
        report = result(reply)
        assert isinstance(report, GateResult)
        times = {t.size: t.median for t in report.timings}
        self._setup = replace(setup, proxies=report.proxies, tolerances=report.tolerances, baseline_seconds=times,
                              best_seconds=times, bandwidth=self.device.bandwidth, deterministic=report.deterministic,
                              terms=report.terms, double=setup.double if report.double else None)
        self._binaries[identity(built)] = BASELINE
        self._medians[BASELINE] = times
        self._publish(self._setup)
        notes = report.notes + self._backend.notes() + ((f"NOISY: {report.noisy}",) if report.noisy else ())
        if built.log.startswith(compile_nvcc.SAID):
            notes += (compile_nvcc.SAID,)
        if over:
            notes += (f"the baseline itself does not meet the constraint {over}",)
        evaluation = Evaluation(BASELINE, Verdict.OK, "", built.resources, report.timings, report.check_timings,
                                device_seconds=time.monotonic() - begin, memory_bytes=self._memory(built))
        return GateReport(evaluation, report.deterministic, report.spread, report.absolute, notes, self._ran(built),
                          report.noisy, report.device_bytes, self._watch_seconds())

    def submit(self, key: str, program: Program) -> None:
        if self._setup is None:
            raise RuntimeError("gate() comes before submit()")
        self._pending.add(key)
        over = limits.over_block_limits(program, self.device)
        if over:
            self._results.put(Evaluation(key, Verdict.OVER_LIMITS, over))
            return

        def built(reply: Reply, facts: dict[str, Any]) -> None:
            self._built(key, program, reply, facts)

        self._engine.call(lambda: self._engine.add(self._builders, Task({"op": "build", "program": program}, built)))

    def account(self) -> Account:
        """What the device's process has done with its time since the gate; shares come from differences."""
        return self._account

    def pending(self) -> int:
        return len(self._pending)

    def collect(self, timeout: float) -> list[Evaluation]:
        found: list[Evaluation] = []
        try:
            if self._pending:
                found.append(self._results.get(timeout=max(timeout, 0.0)) if timeout > 0 else
                             self._results.get_nowait())
                while True:
                    found.append(self._results.get_nowait())
        except queue.Empty:
            pass
        if self._engine.broken:  # no candidate's fault: the verdicts that come of it are none
            raise InputError(self._engine.broken,
                             remedy="evo doctor says what works on this machine; evo resume goes on with the run")
        wanted = [e for e in found if e.key in self._pending]
        self._pending -= {e.key for e in wanted}
        return wanted

    def abandon(self) -> None:
        forgotten, self._pending = self._pending, set()

        def drop() -> None:
            self._engine.abandon(self._builders)
            self._workers.waiting.clear()  # what is being measured ends by itself, and soon
            self._binaries = {b: key for b, key in self._binaries.items() if key not in forgotten}

        self._engine.call(drop)

    def set_champion(self, key: str, program: Program, median: float) -> None:
        setup = self._ready()
        base = setup.baseline_seconds
        known = self._medians.get(key)
        if known is None:  # measured elsewhere: the same gain at every size
            weights = [(s.weight, base[str(s)]) for s in self._workload.tune]
            mean = sum(w * t for w, t in weights) / sum(w for w, _ in weights)
            known = {size: t * median / mean for size, t in base.items()}
        champion = self._compile(program)
        self._setup = replace(setup, champion=champion, best_seconds=known)
        self._publish(self._setup)

    def confirm(self, key: str, program: Program, seconds: float = math.inf) -> Confirmation:
        setup, end = self._ready(), time.monotonic() + seconds
        seed = setup.options.seed + 0x5EED  # fresh data, reproducible
        over = limits.over_block_limits(program, self.device)
        if over:
            return _refused(Evaluation(key, Verdict.OVER_LIMITS, over))
        reply, facts = self._wait_for(self._builders, {"op": "build", "program": program})
        if reply[0] != "done" or reply[1].verdict != Verdict.OK:
            return _refused(_build_failure(key, reply, facts))
        built: Built = reply[1].built
        begin = time.monotonic()
        reply, _ = self._wait_for(self._workers, {"op": "confirm", "built": built, "seed": seed,
                                                  "until": end - self._watch_seconds()})
        if reply[0] != "done":
            return _refused(replace(_device_failure(key, reply), resources=built.resources))
        trial: Trial = reply[1]
        count = len(self._workload.tune)
        evaluation = Evaluation(key, trial.verdict, trial.reason, built.resources, trial.candidate[:count],
                                trial.candidate[count:], trial.max_error, time.monotonic() - begin,
                                memory_bytes=self._memory(built))
        if trial.verdict != Verdict.OK:
            return replace(_refused(evaluation), baseline=trial.baseline, candidate=trial.candidate)
        watched = watch.finalist(self.device.backend, setup, built, dict(self._backend.support), end) \
            if self._options.watch else watch.Watched()
        if watched.findings:
            evaluation = replace(evaluation, verdict=Verdict.NOT_REPEATABLE, reason=watched.findings[0])
            return replace(_refused(evaluation), baseline=trial.baseline, candidate=trial.candidate)
        said = watched.notes + tuple(
            f"clocks were lowered at size {t.size} ({', '.join(t.throttled)}): its times are doubtful"
            for t in trial.candidate if doubtful(State(throttled=t.throttled)))
        gain, low = trial.overall
        accepted = certain(trial, self._options)
        reason = "" if accepted else (f"no certain gain over the baseline: {gain:.3f}, at least {low:.3f}, "
                                      f"asked is {1.0 + self._options.min_gain:g}")
        return Confirmation(evaluation, accepted, trial.baseline, trial.candidate, trial.speedups, reason, trial.warm,
                            said)

    def sanitize(self, program: Program) -> SanitizerReport:
        """compute-sanitizer over a finalist (CUDA, where installed); seconds per tool, so for champions only."""
        setup = self._ready()
        if self.device.backend != "cuda":
            return SanitizerReport(notes=("compute-sanitizer is for CUDA; gpu.oclgrind checks OpenCL programs",))
        return sanitizer.check(setup, self._compile(program), dict(self._backend.support))

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._engine.close()

    def __enter__(self) -> LocalEvaluator:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    # --- helpers of the caller's thread

    def _watch_seconds(self) -> float:
        return watch.expected(self.device.backend) if self._options.watch else 0.0

    def _ready(self) -> Setup:
        if self._setup is None:
            raise RuntimeError("gate() comes first")
        return self._setup

    def _publish(self, setup: Setup) -> None:
        done: Future[None] = Future()

        def publish() -> None:
            self._engine.publish(setup)
            done.set_result(None)

        self._engine.call(publish)
        done.result()

    def _wait_for(self, pool: Pool, message: dict[str, Any]) -> tuple[Reply, dict[str, Any]]:
        """Hands over an urgent task and waits for its reply."""
        if self._closed:
            raise RuntimeError("the evaluator is closed")
        done: Future[tuple[Reply, dict[str, Any]]] = Future()
        task = Task(message, lambda reply, facts: done.set_result((reply, facts)))
        self._engine.call(lambda: self._engine.add(pool, task, urgent=True))
        while True:
            try:
                return done.result(timeout=0.2)
            except TimeoutError:
                if not self._engine.alive:
                    raise RuntimeError("the evaluator's thread ended") from None

    def _ask(self, message: dict[str, Any], kind: type[T]) -> T:
        value = result(self._wait_for(self._workers, message)[0])
        assert isinstance(value, kind)
        return value

    def _compile(self, program: Program, plain: bool = False) -> Built:
        """For programs that must compile (baseline, champion, support kernels). Raises :class:`InputError`."""
        known = None if plain else self._builds.get(program.key)
        if known is not None:
            return known
        reply, _ = self._wait_for(self._builders, {"op": "compile", "program": program, "plain": plain})
        outcome = result(reply)
        assert isinstance(outcome, BuildOutcome)
        if outcome.verdict != Verdict.OK or outcome.built is None:
            raise _compile_error(outcome)
        return outcome.built

    def _memory(self, built: Built) -> int:
        return limits.device_memory(self._workload, built.program, built.resources.stack_bytes, self.device)

    def _ran(self, built: Built) -> dict[str, Any]:
        """The record of what the gate ran (evaluator.md C18); raises :class:`InputError` when it is not what was asked.
        """
        wrong = built.mismatch(self._options.flags)
        if wrong:
            raise InputError(f"the baseline was {wrong}")
        sizes = {t: [dict(s.values) for s in g] for t, g in (("tune", self._workload.tune),
                                                             ("check", self._workload.check))}
        return {"options": asdict(self._options), "flags": list(built.flags), "sizes": sizes, "digest": built.digest,
                "binary": built.resources.binary, "types": {a.name: a.dtype for a in self._workload.arguments},
                "exactness": self._workload.exactness.name.lower(), "device": self.device.name}

    def _in_double(self) -> Built | None:
        """The baseline in double precision; None where it does not compile or run: it is an aid, no condition."""
        if self._double is None or self._workload.reference is not None or limits.over_block_limits(
                self._double, self.device):
            return None
        try:
            return self._compile(self._double)
        except InputError:
            return None

    # --- in the engine's thread

    def _built(self, key: str, program: Program, reply: Reply, facts: dict[str, Any]) -> None:
        if reply[0] != "done" or reply[1].verdict != Verdict.OK:
            self._results.put(_build_failure(key, reply, facts))
            return
        outcome: BuildOutcome = reply[1]
        built = outcome.built
        assert built is not None
        first = self._binaries.setdefault(identity(built), key)
        if first != key:
            self._results.put(Evaluation(key, Verdict.DUPLICATE, f"same binary as {first}", built.resources,
                                         device_seconds=outcome.seconds))
            return
        self._builds[program.key] = built
        while len(self._builds) > KEPT_BUILDS:
            self._builds.popitem(last=False)

        def measured(reply: Reply, facts: dict[str, Any]) -> None:
            self._measured(key, built, outcome, reply)

        self._engine.add(self._workers, Task({"op": "measure", "built": built, "ready": outcome.ready}, measured))

    def _measured(self, key: str, built: Built, before: BuildOutcome, reply: Reply) -> None:
        if reply[0] != "done":
            failure = _device_failure(key, reply)
            self._results.put(replace(failure, resources=built.resources,
                                      device_seconds=failure.device_seconds + before.seconds))
            return
        outcome: Outcome = reply[1]
        self._account = self._account.plus(outcome.spent)
        if outcome.verdict == Verdict.OK:
            self._medians[key] = {t.size: t.median for t in outcome.timings}
        self._results.put(Evaluation(key, outcome.verdict, outcome.reason, built.resources, outcome.timings,
                                     max_error=max(outcome.max_error, before.max_error),
                                     device_seconds=outcome.seconds + before.seconds,
                                     memory_bytes=self._memory(built)))


def _refused(evaluation: Evaluation) -> Confirmation:
    return Confirmation(evaluation, False, (), (), reason=evaluation.reason)


def _build_failure(key: str, reply: Reply, facts: dict[str, Any]) -> Evaluation:
    """The verdict on a candidate that did not come out of its builder."""
    kind, value = reply
    resources = facts.get("resources", Resources())
    if kind == "done":
        return Evaluation(key, value.verdict, value.reason, value.built.resources if value.built else resources,
                          max_error=value.max_error, device_seconds=value.seconds, log=value.log)
    if kind == "lost":
        loss: Loss = value
        if loss.stage.startswith("compiling"):
            if loss.hung:
                return Evaluation(key, Verdict.COMPILE_TIMEOUT, "the compiler did not finish in time", resources)
            return Evaluation(key, Verdict.COMPILE_ERROR, f"the compiler crashed: {loss.why}", resources)
        return replace(_device_failure(key, reply), resources=resources)
    return Evaluation(key, Verdict.COMPILE_ERROR, str(value).strip().splitlines()[-1], resources, log=str(value))


def _device_failure(key: str, reply: Reply) -> Evaluation:
    kind, value = reply
    if kind == "lost":
        loss: Loss = value
        verdict = Verdict.TIMED_OUT if loss.hung else Verdict.CRASHED
        return Evaluation(key, verdict, loss.why, device_seconds=loss.seconds)
    return Evaluation(key, Verdict.LAUNCH_FAILURE, str(value).strip().splitlines()[-1], log=str(value))


def _baseline_lost(baseline: Program, loss: Loss, limit: float) -> InputError:
    """One line for a baseline that took its process along: which kernel, where, and what to do about it."""
    kernel, where = baseline.launches[0].kernel, loss.stage.removeprefix(RUNNING).strip()
    if loss.hung:
        return InputError(f"the baseline {kernel} did not end within {limit:g} s {where}",
                          remedy="it loops for ever or is far too slow there: check its loops, choose a smaller "
                                 "size, declare what it assumes of its sizes, or allow more time with run --budget or "
                                 "check --limit")
    return InputError(f"the baseline {kernel} crashed {where}: {loss.why}",
                      remedy="check guards and shapes, or declare what it assumes of its sizes")


_PLACE = re.compile(r"^(?:error: )?(?P<file>[^\s:()]+)[:(](?P<line>\d+)[:)]", re.MULTILINE)


def _compile_error(outcome: BuildOutcome) -> InputError:
    """The compiler's message with the place in the user's file, which ``#line`` in the source has told it."""
    lines = [line for line in outcome.log.splitlines() if "error" in line] or [outcome.reason]
    place = _PLACE.search(lines[0].strip())
    message = re.sub(r"^.*?error\s*:?\s*(?:[^\s:]+:\d+:\d+:\s*)?", "", lines[0]).strip() or outcome.reason
    if place is None:
        return InputError(f"the kernel does not compile: {outcome.reason}")
    return InputError(f"the kernel does not compile: {message}", file=place["file"], line=int(place["line"]))
