"""The parent's end of a child process: start, talk, kill. The child's end is ``gpu.child_main``.

Children are started afresh (never forked: neither a CUDA context nor an OpenCL one survives a fork), in a session of
their own so that Ctrl-C reaches the parent alone, with a pipe pair beside the standard streams so that a kernel's
``printf`` cannot garble a message.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpu import frames

ROOT = Path(__file__).resolve().parent.parent  # the folder that holds the packages


class Child:
    """One child process in a role of ``gpu.child_main``. ``config`` is the role's first message; ``prefix`` a command
    that runs it (a checking tool)."""

    def __init__(self, role: str, config: object, env: Mapping[str, str] | None = None,
                 cores: tuple[int, ...] = (), prefix: tuple[str, ...] = ()) -> None:
        self.role = role
        self.started = time.monotonic()
        self._scratch = tempfile.mkdtemp(prefix="evo-child-")
        self._errors = Path(self._scratch, "stderr")
        to_child, self.write_fd = os.pipe()
        self.read_fd, from_child = os.pipe()
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH", "")])])
        # PoCL unpacks kernels under POCL_CACHE_DIR: one folder per child, so that none sees another's half-written
        # files, and nothing stays behind
        full = {**os.environ, "PYTHONPATH": path, "POCL_CACHE_DIR": self._scratch, "PYOPENCL_NO_CACHE": "1",
                "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **(env or {})}
        with open(self._errors, "wb") as errors:
            self.process = subprocess.Popen(
                [*prefix, sys.executable, "-P", "-m", "gpu.child_main", role, str(to_child), str(from_child),
                 "0" if prefix else str(os.getpid()), ",".join(map(str, cores))],
                stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, env=full, close_fds=True,
                pass_fds=(to_child, from_child), start_new_session=True)
        os.close(to_child)
        os.close(from_child)
        self._reader = frames.Reader(self.read_fd)
        try:
            frames.write(self.write_fd, config)
        except frames.Closed:  # it died at once: the first read says so
            pass

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, message: object) -> None:
        """Raises :class:`frames.Closed` when the child is gone. Only an idle child is written to, so this is short."""
        frames.write(self.write_fd, message)

    def feed(self) -> list[Any]:
        """Messages that have arrived; call it when ``read_fd`` is readable. Raises :class:`frames.Closed`."""
        return self._reader.feed()

    def receive(self) -> Any:
        """The next message, blocking; for children with one short task. Raises :class:`frames.Closed`."""
        return frames.read(self.read_fd)

    def said(self, limit: int = 2000) -> str:
        """The tail of what the child wrote to its standard streams."""
        try:
            text = self._errors.read_bytes()[-limit:].decode(errors="replace")
        except OSError:
            return ""
        return text.strip()

    def fate(self) -> str:
        """Why the child ended, in words; waits a moment for the kernel to know."""
        try:
            code = self.process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            return "stopped answering"
        if code < 0:
            try:
                return f"ended by {signal.Signals(-code).name}"
            except ValueError:
                return f"ended by signal {-code}"
        return f"ended with exit code {code}"

    def finish(self, seconds: float = 30.0) -> None:
        """Lets an idle child end by itself: it leaves when nobody can send it a task any more."""
        os.close(self.write_fd)
        self.write_fd = -1
        try:
            self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            pass  # kill() follows

    def kill(self) -> None:
        """Ends the child and whatever it started, at once; idempotent."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass  # gone already
        try:
            self.process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            pass  # a driver tears a hung kernel down first; the process ends by itself then
        for fd in (self.write_fd, self.read_fd):
            if fd >= 0:
                os.close(fd)
        self.write_fd = self.read_fd = -1
        shutil.rmtree(self._scratch, ignore_errors=True)
