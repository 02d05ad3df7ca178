"""compute-sanitizer over a finalist at its small checks: invalid accesses and races that produced no wrong value.

The tool instruments every access, so it runs in a process of its own and at small sizes only. It comes with the CUDA
toolkit; some virtual machines refuse it, which is reported and no finding.
"""

from __future__ import annotations

import math
import re
import select
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from gpu import frames
from gpu.build import Built
from gpu.child import Child
from gpu.setup import Setup
from gpu.worker_config import WorkerConfig

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
TIMEOUT, LEAST = 120.0, 5.0
_SUMMARY = re.compile(r"(ERROR|RACECHECK) SUMMARY: (\d+) (?:errors?|hazards? displayed \((\d+) error)")
_REFUSED = re.compile(r"Device not supported|not supported on this|Unable to|initialization failed", re.IGNORECASE)


@dataclass(frozen=True)
class SanitizerReport:
    """``findings``: one line each, empty when clean. ``notes``: tools that could not be run, and why."""

    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def available() -> bool:
    return shutil.which("compute-sanitizer") is not None


def check(setup: Setup, built: Built, support: dict[str, Built], tools: tuple[str, ...] = TOOLS,
          until: float = math.inf) -> SanitizerReport:
    """Runs the program once at each small check under each tool; none is begun after ``until`` (time.monotonic)."""
    if not available():
        return SanitizerReport(notes=("compute-sanitizer is not installed",))
    findings: list[str] = []
    notes: list[str] = []
    for tool in tools:
        if time.monotonic() >= until:
            notes.append(f"{tool}: no time was left")
            continue
        with tempfile.TemporaryDirectory(prefix="evo-sanitizer-") as folder:
            log = Path(folder, "log")
            failure = _run(tool, log, setup, built, support, min(TIMEOUT, max(LEAST, until - time.monotonic())))
            text = log.read_text(errors="replace") if log.is_file() else ""
            found = parse(tool, text)
            findings += found
            if failure and not found:
                notes.append(f"{tool}: {failure}")
    return SanitizerReport(tuple(findings), tuple(notes))


def _run(tool: str, log: Path, setup: Setup, built: Built, support: dict[str, Built], limit: float) -> str:
    """Why the run came to nothing, or ""."""
    child = Child("worker", WorkerConfig("cuda", support=support),
                  prefix=("compute-sanitizer", "--tool", tool, "--log-file", str(log), "--print-limit", "20"))
    try:
        for task in ({"op": "setup", "setup": setup}, {"op": "exercise", "built": built}):
            child.send(task)
            while True:
                if not select.select([child.read_fd], [], [], limit)[0]:
                    return f"did not finish within {limit:.0f} s"
                kind, value, *_ = child.receive()
                if kind not in ("stage", "fact"):
                    break
            if kind != "done":
                return str(value).strip().splitlines()[-1]
        child.finish()  # the summary is written when the process ends by itself
        return ""
    except frames.Closed:
        return f"{child.fate()} {child.said(200)}"
    finally:
        child.kill()


def parse(tool: str, log: str) -> list[str]:
    """Findings in a log: the head line of each report. Lines begin with "=========", details are indented."""
    heads = []
    for line in log.splitlines():
        text = line.removeprefix("=========")
        if text.startswith(" ") and not text.startswith("  "):
            text = text.strip()
            if text.startswith(("Invalid", "Error:", "Uninitialized", "Race reported", "Misaligned", "Barrier error",
                                "Program hit")):
                heads.append(f"{tool}: {text}")
    summary = _SUMMARY.search(log)
    if summary is not None and int(summary[3] or summary[2]) and not heads:
        heads.append(f"{tool}: {summary[0]}")
    if heads and all(_REFUSED.search(h) or "Program hit" in h for h in heads) and _REFUSED.search(log):
        return []  # the tool itself failed
    return list(dict.fromkeys(heads))
