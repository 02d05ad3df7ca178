"""How long a search may take: seconds, evaluations, or both."""

from __future__ import annotations

import re
from dataclasses import dataclass

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Budget:
    """At least one of the two is set; the first that is used up ends the run. Seconds of wall time include the
    baseline gate and the confirmation."""

    seconds: float | None = None
    evaluations: int | None = None

    def __str__(self) -> str:
        parts = []
        if self.seconds is not None:
            parts.append(f"{self.seconds / 60:g} minutes" if self.seconds >= 120 else f"{self.seconds:g} seconds")
        if self.evaluations is not None:
            parts.append(f"{self.evaluations} evaluations")
        return " or ".join(parts)


DEFAULT = Budget(seconds=600.0)


def parse_budget(text: str) -> Budget:
    """``10m``, ``90s``, ``1h30m``, ``500`` (evaluations), ``5m,300`` (both). Raises ValueError that says what is
    wrong."""
    seconds: float | None = None
    evaluations: int | None = None
    for part in (p.strip() for p in str(text).split(",")):
        if re.fullmatch(r"[0-9]+", part):
            if evaluations is not None:
                raise ValueError(f"budget '{text}' names two numbers of evaluations")
            evaluations = int(part)
        elif re.fullmatch(r"([0-9]+(\.[0-9]+)?[hms])+", part):
            if seconds is not None:
                raise ValueError(f"budget '{text}' names two times")
            seconds = sum(float(n) * UNITS[u] for n, _, u in re.findall(r"(\d+(\.\d+)?)([hms])", part))
        else:
            raise ValueError(f"budget '{text}' is not understood")
    if seconds == 0 or evaluations == 0:
        raise ValueError(f"budget '{text}' is zero")
    return Budget(seconds, evaluations)


REMEDY = 'write "10m", "90s", "500" (evaluations) or "5m,300" (whichever ends first)'
