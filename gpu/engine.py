"""The thread that owns all child processes: hands out work, watches deadlines, replaces what dies.

Two kinds of children: *builders* (compile; on OpenCL also the small checks) and one *worker* that owns the device,
with a warm spare. A task that outlives its announced limit or takes its process down ends with a :class:`Loss`; every
other task is untouched.
"""

from __future__ import annotations

import os
import selectors
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from genome.errors import InputError
from gpu import frames
from gpu.child import Child
from gpu.setup import Setup

FIRST_LIMIT = 120.0  # seconds until a child announces its first stage: import and driver start
MAX_FAILURES = 3  # children in a row that die before they say anything


@dataclass(frozen=True)
class Loss:
    """A task that took its process along. ``stage`` is what it was doing; ``hung``: cut off at its limit."""

    stage: str
    hung: bool
    why: str
    facts: dict[str, Any]
    seconds: float


Reply = tuple[str, Any]  # ("done", result) | ("input-error", InputError) | ("failed", text) | ("lost", Loss)


@dataclass
class Task:
    """``message`` goes to a child of the pool; ``answer`` is called in the engine's thread with the reply."""

    message: dict[str, Any]
    answer: Callable[[Reply, dict[str, Any]], None]
    retried: bool = False
    starts: int = 0  # children that died with it before they began
    urgent: bool = False
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class Slot:
    pool: Pool
    child: Child
    task: Task | None = None
    stage: str = ""
    deadline: float = 0.0
    began: float = 0.0
    version: int = 0  # of the setup that the child knows
    spoke: bool = False  # has said anything yet


class Pool:
    """``count`` children of one role that work on a common queue."""

    def __init__(self, name: str, count: int, start: Callable[[int], Child], spare: bool = False) -> None:
        self.name, self.count, self.start, self.keep_spare = name, count, start, spare
        self.urgent: deque[Task] = deque()
        self.waiting: deque[Task] = deque()
        self.slots: list[Slot] = []
        self.spare: Child | None = None
        self.failures = 0

    def next_task(self) -> Task | None:
        if self.urgent:
            return self.urgent.popleft()
        return self.waiting.popleft() if self.waiting else None


class Engine:
    def __init__(self, pools: list[Pool]) -> None:
        self._pools = pools
        self._setup: Setup | None = None
        self._version = 0
        self._lock = threading.Lock()
        self._calls: deque[Callable[[], None]] = deque()
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        self._selector.register(self._wake_read, selectors.EVENT_READ, None)
        self._stopping = False
        self.broken = ""  # why nothing works any more
        self._thread = threading.Thread(target=self._run, name="evo-evaluator", daemon=True)
        self._thread.start()

    # --- called from any thread

    def call(self, function: Callable[[], None]) -> None:
        """Runs ``function`` in the engine's thread."""
        with self._lock:
            self._calls.append(function)
        try:
            os.write(self._wake_write, b"x")
        except (BlockingIOError, OSError):
            pass  # the pipe is full: it will wake up anyway

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def close(self) -> None:
        """Kills all children; returns when they are gone."""
        if self._thread.is_alive():
            def stop() -> None:
                self._stopping = True
            self.call(stop)
            self._thread.join()

    # --- in the engine's thread

    def publish(self, setup: Setup) -> None:
        """What every child must know before its next task."""
        self._setup = setup
        self._version += 1

    def add(self, pool: Pool, task: Task, urgent: bool = False) -> None:
        if self.broken:
            task.answer(("failed", self.broken), {})
            return
        task.urgent = urgent
        (pool.urgent if urgent else pool.waiting).append(task)

    def abandon(self, pool: Pool) -> None:
        """Drops what waits and what is being worked on, its children with it; urgent tasks stay."""
        pool.waiting.clear()
        for slot in list(pool.slots):
            if slot.task is not None and not slot.task.urgent:
                self._drop(slot)

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._run_calls()
                if self._stopping:
                    break
                for pool in self._pools:
                    self._assign(pool)
                self._wait()
                self._expire()
        finally:
            for pool in self._pools:
                for slot in pool.slots:
                    slot.child.kill()
                if pool.spare is not None:
                    pool.spare.kill()
            self._selector.close()
            os.close(self._wake_read)
            os.close(self._wake_write)
            self._wake_write = -1

    def _run_calls(self) -> None:
        while True:
            with self._lock:
                if not self._calls:
                    return
                function = self._calls.popleft()
            function()

    def _assign(self, pool: Pool) -> None:
        while len(pool.slots) < pool.count and not self.broken and (
                pool.urgent or pool.waiting or not pool.slots):
            self._open(pool, len(pool.slots))
        for slot in list(pool.slots):
            if slot.task is not None:
                continue
            if self._setup is not None and slot.version != self._version:
                slot.version = self._version
                self._give(slot, Task({"op": "setup", "setup": self._setup}, lambda reply, facts: None))
                continue
            task = pool.next_task()
            if task is not None:
                self._give(slot, task)

    def _open(self, pool: Pool, index: int) -> None:
        child, pool.spare = pool.spare or pool.start(index), None
        if pool.keep_spare:
            pool.spare = pool.start(index)
        slot = Slot(pool, child)
        pool.slots.append(slot)
        self._selector.register(child.read_fd, selectors.EVENT_READ, slot)

    def _give(self, slot: Slot, task: Task) -> None:
        slot.task, slot.stage, slot.began = task, "starting", time.monotonic()
        slot.deadline = slot.began + FIRST_LIMIT
        task.facts = {}
        try:
            slot.child.send(task.message)
        except frames.Closed:
            pass  # the selector reports the end of its stream next

    def _wait(self) -> None:
        busy = [s.deadline for p in self._pools for s in p.slots if s.task is not None]
        with self._lock:
            timeout = 0.0 if self._calls else max(0.0, min(busy, default=time.monotonic() + 3600) - time.monotonic())
        for key, _ in self._selector.select(timeout):
            if key.data is None:
                os.read(self._wake_read, 4096)
                continue
            slot: Slot = key.data
            try:
                messages = slot.child.feed()
            except frames.Closed:
                self._lost(slot, hung=False)
                continue
            for message in messages:
                self._hear(slot, message)

    def _hear(self, slot: Slot, message: tuple[Any, ...]) -> None:
        slot.spoke, slot.pool.failures = True, 0
        if message[0] == "stage":
            slot.stage, slot.deadline = message[1], time.monotonic() + message[2]
        elif message[0] == "fact" and slot.task is not None:
            slot.task.facts[message[1]] = message[2]
        elif slot.task is not None:
            task, slot.task = slot.task, None
            if message[0] == "failed" or getattr(message[1], "poisoned", False):
                self._drop(slot)  # the process is no longer to be trusted
            task.answer((message[0], message[1]), task.facts)

    def _expire(self) -> None:
        now = time.monotonic()
        for pool in self._pools:
            for slot in list(pool.slots):
                if slot.task is not None and slot.deadline <= now:
                    self._lost(slot, hung=True)

    def _drop(self, slot: Slot) -> None:
        self._selector.unregister(slot.child.read_fd)
        slot.pool.slots.remove(slot)
        slot.child.kill()

    def _lost(self, slot: Slot, hung: bool) -> None:
        why = f"{slot.stage}: no answer within its time limit" if hung else slot.child.fate()
        said = slot.child.said()
        task = slot.task
        loss = Loss(slot.stage, hung, why + (f": {said.splitlines()[-1]}" if said and not hung else ""),
                    task.facts if task else {}, time.monotonic() - slot.began)
        self._drop(slot)
        killed = not hung and slot.child.process.returncode == -signal.SIGKILL  # from outside: by hand, for memory
        if not slot.spoke:
            slot.pool.failures += 1
            if slot.pool.failures >= MAX_FAILURES:
                self._give_up(f"the {slot.pool.name} process cannot be started: {loss.why}")
        if task is None:
            return
        if task.message["op"] == "setup":
            return  # its successor gets the setup anew
        if self.broken:
            task.answer(("failed", self.broken), task.facts)
        elif loss.stage == "starting" and task.starts < MAX_FAILURES:  # it never got to the task
            task.starts += 1
            slot.pool.urgent.appendleft(task)
        elif not task.retried and (killed or loss.stage in ("preparing", "opening the device")):
            task.retried = True  # not this task's fault, the first time
            slot.pool.urgent.appendleft(task)
        else:
            task.answer(("lost", loss), task.facts)

    def _give_up(self, why: str) -> None:
        self.broken = why
        for pool in self._pools:
            while (task := pool.next_task()) is not None:
                task.answer(("failed", why), {})


def result(reply: Reply) -> Any:
    """The result of a task that must succeed; raises :class:`InputError` otherwise."""
    kind, value = reply
    if kind == "done":
        return value
    if kind == "input-error":
        raise value
    if kind == "lost":
        raise InputError(f"the device process was lost while {value.stage}: {value.why}")
    raise InputError(str(value).strip().splitlines()[-1])
