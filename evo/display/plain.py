"""Plain lines, for logs and pipes."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import TextIO

from evo.display import wording
from evo.display.snapshot import Snapshot
from results import units


class PlainDisplay:
    """A line when the best changes (at most one every ``quiet`` seconds, then with the newest best), one every
    ``heartbeat`` seconds in any case, so that a log shows that the run lives, and one at the end."""

    def __init__(self, stream: TextIO, quiet: float = 3.0, heartbeat: float = 30.0,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._quiet, self._heartbeat, self._clock = stream, quiet, heartbeat, clock
        self._last: Snapshot | None = None
        self._shown: Snapshot | None = None
        self._printed = -float("inf")
        self._closed = False

    def update(self, snapshot: Snapshot) -> None:
        self._last = snapshot
        since = self._clock() - self._printed
        changed = self._shown is None or (snapshot.best, snapshot.phase) != (self._shown.best, self._shown.phase)
        if since >= (self._quiet if changed else self._heartbeat):
            self._line(snapshot)

    def message(self, text: str) -> None:
        self._write(text)

    def close(self) -> None:
        if not self._closed and self._last is not None and self._last != self._shown:
            self._line(self._last)
        self._closed = True

    def _line(self, s: Snapshot) -> None:
        self._write(line(s))
        self._shown, self._printed = s, self._clock()

    def _write(self, text: str) -> None:
        if self._closed:
            return
        try:
            self._stream.write(text + "\n")
            self._stream.flush()
        except ValueError:  # the stream was closed
            self._closed = True
        except BrokenPipeError:  # the reader is gone (``| head``): as if the terminal had ended, where a run listens
            self._closed = True
            if callable(signal.getsignal(signal.SIGTERM)):
                signal.raise_signal(signal.SIGTERM)


def line(s: Snapshot) -> str:
    """One line that says where the run is."""
    parts = [wording.budget(s)]
    if s.per_second > 0:
        parts.append(f"{units.three(s.per_second)}/s")
    if s.best is not None:
        parts.append(f"best {units.seconds(s.best)}, speed-up {wording.speedup(s)}")
    elif s.baseline is not None:
        parts.append(f"baseline {units.seconds(s.baseline)}")
    counts = ", ".join(f"{n} {name}" for name, n in wording.verdicts(s.verdicts) if n)
    if counts:
        parts.append(counts)
    return (f"[{s.phase}] " if s.phase else "") + "; ".join(parts)
