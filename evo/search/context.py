"""The policy's view of a situation: a fixed-length vector with names, in a versioned schema.

Static features come from ``genome.summary`` (an open dictionary: what is absent reads as 0, its neutral value); the
rest from the parent's last measurement and from the site.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mutators.base import Direction

SCHEMA = 1
KINDS = ("axis", "array", "loop")


@dataclass(frozen=True)
class Situation:
    """A parent as the policy sees it. ``gain`` is ln(baseline time / time); ``roofline`` the fraction of the
    device's limit that is reached, ``occupancy`` 0..1, both -1 when unknown."""

    features: Mapping[str, float]
    gain: float = 0.0
    roofline: float = -1.0
    occupancy: float = -1.0
    registers: float = -1.0
    spill_bytes: float = 0.0
    length: int = 0
    horizon: int = 16
    best: float = 0.0  # the best gain so far
    applied: Mapping[Direction, int] = field(default_factory=dict)  # genes by direction


def _first(features: Mapping[str, float], *names: str) -> float | None:
    for n in names:
        v = features.get(n)
        if v is not None and math.isfinite(v):
            return v
    return None


def _log(value: float | None, centre: float, width: float) -> float:
    """log2 of a count, centred and squashed to about [-1, 1]; 0 when unknown."""
    if value is None:
        return 0.0
    return max(-1.5, min(1.5, (math.log2(max(value, 0.0) + 1.0) - centre) / width))


def _unit(value: float | None) -> float:
    """A fraction 0..1 as -1..1; 0 when unknown."""
    return 0.0 if value is None or value < 0 else max(-1.0, min(1.0, 2.0 * value - 1.0))


TERMS: tuple[tuple[str, Callable[[Situation], float]], ...] = (
    ("bias", lambda s: 1.0),
    ("gain", lambda s: math.tanh(s.gain / 2.0)),
    ("behind best", lambda s: math.tanh(s.best - s.gain)),
    ("roofline", lambda s: _unit(s.roofline)),
    ("occupancy", lambda s: _unit(s.occupancy)),
    ("registers", lambda s: _log(s.registers if s.registers >= 0 else None, 6.0, 2.0)),
    ("spills", lambda s: 1.0 if s.spill_bytes > 0 else 0.0),
    ("shared memory", lambda s: _log(_first(s.features, "shared_bytes"), 12.0, 12.0)),
    ("threads", lambda s: _log(_first(s.features, "threads"), 7.5, 3.0)),
    ("items", lambda s: _log(_first(s.features, "items"), 2.0, 3.0)),
    ("coalescing", lambda s: _unit(_first(s.features, "coalescing"))),
    ("intensity", lambda s: _log(_first(s.features, "intensity"), 3.0, 3.0)),
    ("length", lambda s: 2.0 * s.length / max(s.horizon, 1) - 1.0),
)
APPLIED_TERMS = tuple(f"applied {d.value}" for d in Direction)
SITE_TERMS = tuple(f"site {k}" for k in KINDS)
NAMES = tuple(n for n, _ in TERMS) + APPLIED_TERMS + SITE_TERMS
SIZE = len(NAMES)

Vector = NDArray[np.float64]


def vector(situation: Situation, kind: str = "") -> Vector:
    """The context of a decision in ``situation``, of shape (SIZE,); ``kind`` is the site's where there is one."""
    out = np.zeros(SIZE)
    out[: len(TERMS)] = [f(situation) for _, f in TERMS]
    out[len(TERMS) : SIZE - len(KINDS)] = [math.tanh(situation.applied.get(d, 0) / 2.0) for d in Direction]
    return at_site(out, kind)


def at_site(context: Vector, kind: str) -> Vector:
    """The same situation at a site of this kind; no copy where the kind is none of the schema's."""
    if kind not in KINDS:
        return context
    out = context.copy()
    out[SIZE - len(KINDS) + KINDS.index(kind)] = 1.0
    return out
