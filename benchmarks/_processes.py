"""Processes of this machine from /proc: children, memory, whether they still live."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    role: str  # of gpu.child_main; "" for anything else
    rss: int  # bytes


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # ended meanwhile


def process(pid: int) -> Process | None:
    """None when it has ended (a zombie has)."""
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(b")")[2].split()
    if not fields or fields[0] in (b"Z", b"X"):
        return None
    words = _read(Path(f"/proc/{pid}/cmdline")).split(b"\0")
    role = words[words.index(b"gpu.child_main") + 1].decode() if b"gpu.child_main" in words[:-1] else ""
    return Process(pid, int(fields[1]), role, int(fields[21]) * 4096)


def children(parent: int) -> list[Process]:
    found = (process(int(p.name)) for p in Path("/proc").glob("[0-9]*"))
    return [p for p in found if p is not None and p.parent == parent]


def left(pids: set[int], seconds: float = 10.0) -> list[int]:
    """Those that still live after a while."""
    end = time.monotonic() + seconds
    while True:
        alive = [p for p in sorted(pids) if process(p) is not None]
        if not alive or time.monotonic() > end:
            return alive
        time.sleep(0.05)
