"""Which process is running a run, and whether it still lives: a killed run must not look like a running one."""

from __future__ import annotations

import os
from pathlib import Path


def me() -> str:
    """This process for the record: boot, process id and start time, which no later process shares."""
    return f"{_boot()} {os.getpid()} {_start(os.getpid())}"


def alive(owner: str) -> bool:
    """Whether the process that :func:`me` described is still there, on this machine, since the same boot."""
    fields = owner.split(" ")
    if len(fields) != 3 or fields[0] != _boot() or not fields[1].isdigit():
        return False
    start = _start(int(fields[1]))
    return start != "" and start == fields[2]


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"


def _start(pid: int) -> str:
    """Start time in ticks since boot; "" when there is no such process, or only its zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat[stat.rindex(")") + 2:].split(" ")  # the command's name may hold blanks and brackets
    return "" if fields[0] in "ZX" else fields[19]
