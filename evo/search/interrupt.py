"""Ctrl-C, SIGTERM and the end of the terminal set a flag; a second Ctrl-C interrupts at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_on_signals(event: threading.Event) -> Iterator[threading.Event]:
    """Handlers are installed only in the main thread, and restored on leaving or at the first signal."""
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    if before[signal.SIGHUP] is signal.SIG_IGN:  # nohup
        del before[signal.SIGHUP]

    def restore() -> None:
        for s, h in before.items():
            signal.signal(s, h)

    def handle(number: int, frame: FrameType | None) -> None:
        del number, frame
        event.set()
        restore()

    for s in before:
        signal.signal(s, handle)
    try:
        yield event
    finally:
        restore()
