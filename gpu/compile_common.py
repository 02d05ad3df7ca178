"""What the builders of all back ends share: configuration, outcome, and the flow of one build task."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Protocol

from genome.program import Program
from gpu import limits
from gpu.build import Built, CompileError
from gpu.child_main import Tell
from gpu.records import DeviceInfo, Verdict
from gpu.session import DeviceFault, Session
from gpu.setup import Setup
from gpu.verify import Check, Proxies

MISCOMPILED = "the OpenCL compiler miscompiles this candidate (right without optimisation)"


@dataclass(frozen=True)
class BuilderConfig:
    flags: tuple[str, ...]
    cache_dir: str | None
    compile_timeout: float
    device: DeviceInfo


@dataclass(frozen=True)
class BuildOutcome:
    """``verdict`` is OK when ``built`` may go on to the device."""

    verdict: Verdict
    reason: str = ""
    built: Built | None = None
    log: str = ""
    max_error: float = 0.0
    seconds: float = 0.0  # of device work
    ready: float = 0.0  # when it was done, on time.monotonic's clock, which is the same in every process


class Compiler(Protocol):
    @property
    def session(self) -> Session | None:
        """Where the small checks run; None when the builder has no device."""
        ...

    def compile(self, program: Program, optimise: bool) -> Built:
        """Raises :class:`CompileError` with the compiler's message."""
        ...


class BuilderRole:
    """Tasks: ``setup``; ``compile`` (nothing but that); ``build`` (a candidate: constraints and small checks too)."""

    def __init__(self, compiler: Compiler, config: BuilderConfig, tell: Tell) -> None:
        self._compiler, self._config, self._tell = compiler, config, tell
        self._setup: Setup | None = None
        self._proxies: Proxies | None = None

    def handle(self, task: dict[str, Any]) -> object:
        if task["op"] == "setup":
            self._adopt(task["setup"])
            return None
        self._tell.stage("compiling", self._config.compile_timeout)
        try:
            built = self._compiler.compile(task["program"], not task.get("plain", False)).sealed(self._config.flags)
        except CompileError as e:
            return BuildOutcome(Verdict.COMPILE_ERROR, _first_line(str(e)), log=str(e))
        outcome = self._judge(built) if task["op"] == "build" else BuildOutcome(Verdict.OK, built=built)
        return replace(outcome, ready=time.monotonic())

    def _adopt(self, setup: Setup) -> None:
        """A new champion changes nothing here; anything else does."""
        old, self._setup = self._setup, setup
        if old is not None and replace(old, champion=setup.champion, best_seconds=setup.best_seconds) == setup:
            return
        if self._proxies is not None:
            self._proxies.free()
        self._proxies = Proxies(self._compiler.session, setup) if self._compiler.session is not None else None

    def _judge(self, built: Built) -> BuildOutcome:
        setup = self._setup
        assert setup is not None
        self._tell.fact("resources", built.resources)
        over = limits.over_resources(built.program, built.resources) or limits.over_constraints(
            setup.options.constraints, built.program, built.resources)
        if over:
            return BuildOutcome(Verdict.OVER_LIMITS, over, built)
        if self._proxies is None:
            return BuildOutcome(Verdict.OK, built=built)
        self._tell.stage("preparing", 120.0)
        self._proxies.prepare()
        self._tell.stage("running", setup.options.hang_seconds)
        begin = time.monotonic()
        result = self._check(built)
        if not result.reason:
            return BuildOutcome(Verdict.OK, built=built, max_error=result.max_error, seconds=time.monotonic() - begin)
        reason = result.reason
        if self._right_without_optimisation(built.program, setup):
            reason = f"{MISCOMPILED}; {reason}"
        return BuildOutcome(Verdict.WRONG, reason, built, max_error=result.max_error, seconds=time.monotonic() - begin)

    def _check(self, built: Built) -> Check:
        assert self._proxies is not None
        try:
            return self._proxies.check(built)
        except DeviceFault as e:
            return Check(str(e))

    def _right_without_optimisation(self, program: Program, setup: Setup) -> bool:
        self._tell.stage("compiling without optimisation", self._config.compile_timeout)
        try:
            plain = self._compiler.compile(program, optimise=False)
        except CompileError:
            return False
        self._tell.stage("running", 2 * setup.options.hang_seconds)
        return not self._check(plain).reason


def _first_line(text: str) -> str:
    lines = text.splitlines()
    return next((line.strip() for line in lines if "error" in line), lines[0].strip() if lines else "")
