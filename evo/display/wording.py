"""The phrases that both displays use."""

from __future__ import annotations

from collections.abc import Mapping

from evo.display.snapshot import ScreenState, Snapshot
from gpu.records import Verdict
from results import units

# In the user's words; several verdicts are one to whoever watches.
_GROUPS: tuple[tuple[str, tuple[Verdict, ...]], ...] = (
    ("ok", (Verdict.OK,)),
    ("slower", (Verdict.ABORTED_SLOW,)),
    ("refused", (Verdict.REFUSED,)),
    ("wrong", (Verdict.WRONG, Verdict.NOT_REPEATABLE)),
    ("crashed", (Verdict.CRASHED, Verdict.LAUNCH_FAILURE)),
    ("timed out", (Verdict.TIMED_OUT, Verdict.COMPILE_TIMEOUT)),
    ("over limits", (Verdict.OVER_LIMITS,)),
    ("not compiled", (Verdict.COMPILE_ERROR,)),
    ("duplicate", (Verdict.DUPLICATE,)),
)
_ALWAYS = ("ok", "refused", "wrong", "crashed", "timed out", "over limits")


def verdicts(counts: Mapping[Verdict, int]) -> list[tuple[str, int]]:
    """Groups and their counts; the rare groups only where there is one."""
    found = [(name, sum(counts.get(v, 0) for v in members)) for name, members in _GROUPS]
    return [(name, n) for name, n in found if n or name in _ALWAYS]


def speedup(s: Snapshot) -> str:
    """``4.85x (4.71 to 4.98)``; ``4.85x (at least 4.71)`` where only the lower end is known;
    ``, confirmed`` where it was measured on fresh data."""
    if s.speedup is None:
        return units.UNKNOWN
    spread = ""
    if s.speedup_low is not None and s.speedup_high is None:
        spread = f" (at least {units.three(s.speedup_low)})"
    elif s.speedup_low is not None and s.speedup_high is not None:
        spread = f" ({units.three(s.speedup_low)} to {units.three(s.speedup_high)})"
    return units.factor(s.speedup) + spread + (", confirmed" if s.confirmed else "")


def budget(s: Snapshot) -> str:
    """``1m 20s of 5m 00s, 300 of 1,000 candidates``."""
    time = units.duration(s.elapsed) + (f" of {units.duration(s.budget_seconds)}" if s.budget_seconds else "")
    many = units.count(s.evaluated) + (f" of {units.count(s.budget_evaluations)}" if s.budget_evaluations else "")
    return f"{time}, {many} candidates"


def screen(state: ScreenState) -> str:
    """``active: rank correlation 0.71 on the last batch, pool of 120``."""
    if state.state == "off":
        return "off"
    known = state.rank_correlation is not None
    measured = f"rank correlation {state.rank_correlation:.2f} on the last batch" if known else "no batch measured yet"
    return f"{state.state}: {measured}, pool of {units.count(state.pool)}"
