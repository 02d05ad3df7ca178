"""A child process: ``python -P -m gpu.child_main ROLE READ_FD WRITE_FD PARENT_PID CORES``.

The first message is the role's configuration; then one task at a time: a dict with ``op``. While it works on one, the
child says ``("stage", name, seconds)`` before each step that may hang (the parent kills it when the step takes
longer), and any number of ``("fact", name, value)`` that should survive its death; it ends each task with
``("done", result)``, ``("input-error", InputError)`` or ``("failed", text)``.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
import traceback
from typing import Any, Protocol

from genome.errors import InputError
from gpu import frames

PR_SET_PDEATHSIG = 1


class Role(Protocol):
    def handle(self, task: dict[str, Any]) -> object: ...


class Tell:
    """How a role reports progress while it works on a task."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def stage(self, name: str, seconds: float) -> None:
        frames.write(self._fd, ("stage", name, seconds))

    def fact(self, name: str, value: object) -> None:
        frames.write(self._fd, ("fact", name, value))


def die_with(parent: int) -> None:
    """Ends this process when the parent is gone, even while a kernel hangs in native code. 0: whoever is the parent
    now (a tool that runs this process)."""
    parent = parent or os.getppid()
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):
        pass  # not Linux: the watcher below does it alone

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def make(role: str, config: Any, tell: Tell) -> Role:
    """Imports what the role needs, and only that: a compile child must not load a driver, nor a device worker a
    compiler."""
    if role == "probe":
        from gpu.probe import Probe
        return Probe()
    if role == "builder-opencl":
        from gpu.compile_opencl import Builder
        return Builder(config, tell)
    if role == "builder-cuda":
        from gpu.compile_nvrtc import Builder as CudaBuilder
        return CudaBuilder(config, tell)
    if role == "oclgrind":
        from gpu.oclgrind_run import Run
        return Run()
    if role == "worker":
        from gpu.worker import Worker
        return Worker(config, tell)
    raise ValueError(f"no such role: {role}")


def main() -> None:
    role_name, read_fd, write_fd, parent = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    if len(sys.argv) > 5 and sys.argv[5]:
        os.sched_setaffinity(0, {int(c) for c in sys.argv[5].split(",")})
    try:
        role = make(role_name, frames.read(read_fd), Tell(write_fd))
        while True:
            task = frames.read(read_fd)
            try:
                reply: tuple[str, object] = ("done", role.handle(task))
            except InputError as e:
                reply = ("input-error", e)
            except frames.Closed:
                raise
            except Exception:  # reported to the parent, which decides whether this child is still good
                reply = ("failed", traceback.format_exc(limit=8))
            frames.write(write_fd, reply)
    except frames.Closed:
        return


if __name__ == "__main__":
    main()
