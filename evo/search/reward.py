"""The reward of one step from a parent to a child: design.md, section 6, each term a function of its own.

A user replaces the whole by ``reward = "module:function"``, a function of one :class:`Step`.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from genome.errors import InputError
from gpu.records import Verdict

FREE = frozenset({Verdict.REFUSED})  # no cost arose
FLOOR, CEILING = -0.7, 1.4  # of the speed-up term: half and four times as fast
FAILURE = -0.5


@dataclass(frozen=True)
class Outcome:
    """One end of a step. ``times`` are seconds per size (empty when not timed), ``cv`` the robust coefficient of
    variation, ``overrun`` the relative excess over the user's constraints, ``potential`` what static analysis
    promises (see :func:`potential`)."""

    verdict: Verdict = Verdict.OK
    times: tuple[float, ...] = ()
    cv: float = 0.0
    spill_bytes: int = 0
    overrun: float = 0.0
    potential: float = 0.0


@dataclass(frozen=True)
class Weights:
    """The coefficients a, b, c and gamma of the formula; the champion's bonus and how it fades along the lineage."""

    noise: float = 1.0
    spill: float = 0.1
    overrun: float = 0.5
    gamma: float = 0.95
    bonus: float = 0.3
    fade: float = 0.5
    steps_back: int = 4


@dataclass(frozen=True)
class Step:
    parent: Outcome
    child: Outcome
    sizes: tuple[float, ...] = (1.0,)  # the sizes' weights, normalised by their sum
    weights: Weights = field(default_factory=Weights)


Reward = Callable[[Step], float]


def valid_times(times: Sequence[float]) -> bool:
    return bool(times) and all(math.isfinite(t) and t > 0 for t in times)


def log_speedup(before: Sequence[float], after: Sequence[float], weights: Sequence[float]) -> float:
    """Weighted mean over the sizes of ln(time before / time after). Sizes that ``after`` lacks (a candidate that was
    given up) are left out. Raises ValueError when no size is common to both."""
    n = min(len(before), len(after), len(weights))
    total = sum(weights[:n])
    if n == 0 or total <= 0:
        raise ValueError("no size in common")
    return sum(w * math.log(b / a) for w, b, a in zip(weights[:n], before, after, strict=False)) / total


def speed(step: Step) -> float:
    gain = log_speedup(step.parent.times, step.child.times, step.sizes)
    return min(CEILING, max(FLOOR, gain))


def noise(step: Step) -> float:
    return step.weights.noise * max(0.0, step.child.cv - step.parent.cv)


def spill(step: Step) -> float:
    return step.weights.spill if step.child.spill_bytes > 0 and step.parent.spill_bytes <= 0 else 0.0


def overrun(step: Step) -> float:
    return step.weights.overrun * max(0.0, step.child.overrun)


def shaping(step: Step) -> float:
    """Potential shaping (Ng, Harada and Russell 1999): enabling steps earn at once what they promise."""
    return step.weights.gamma * step.child.potential - step.parent.potential


def reward(step: Step) -> float:
    """0 if refused before any cost; -0.5 if it cost something and gave nothing (no compile, wrong, crashed, hung, or
    an invalid time); else the formula. A candidate over the limits is charged for its overrun, at most 0.5."""
    child = step.child
    if child.verdict in FREE:
        return 0.0
    if child.verdict is Verdict.OVER_LIMITS:
        return max(FAILURE, -overrun(step)) if child.overrun > 0 else FAILURE
    timed = child.verdict in (Verdict.OK, Verdict.ABORTED_SLOW, Verdict.DUPLICATE)
    if not timed or not valid_times(child.times) or not valid_times(step.parent.times):
        return FAILURE
    return speed(step) - noise(step) - spill(step) - overrun(step) + shaping(step)


def lineage_shares(weights: Weights) -> tuple[float, ...]:
    """What a new champion gives to its own step, its parent's, ... : ``bonus * fade**i``, ``steps_back`` steps."""
    return tuple(weights.bonus * weights.fade**i for i in range(weights.steps_back))


TermFunction = Callable[[Mapping[str, float], Mapping[str, float]], float]


def _fraction(name: str) -> TermFunction:
    def term(now: Mapping[str, float], base: Mapping[str, float]) -> float:
        value = now.get(name, 0.0)
        return min(1.0, max(0.0, value)) if math.isfinite(value) else 0.0
    return term


def _saved(name: str) -> TermFunction:
    """ln(baseline / now) of a count that costs time, squashed to -1..1."""
    def term(now: Mapping[str, float], base: Mapping[str, float]) -> float:
        a, b = now.get(name, 0.0), base.get(name, 0.0)
        return math.tanh(math.log(b / a)) if a > 0 and b > 0 and math.isfinite(a) and math.isfinite(b) else 0.0
    return term


POTENTIAL: tuple[tuple[float, TermFunction], ...] = (
    (0.15, _saved("bytes")),
    (0.10, _saved("flops")),
    (0.10, _fraction("coalescing")),
)


def potential(now: Mapping[str, float], base: Mapping[str, float]) -> float:
    """What the static features promise against the baseline's: bytes and operations saved, coalescing."""
    return sum(w * f(now, base) for w, f in POTENTIAL)


def load_reward(name: str, folder: str = ".") -> Reward:
    """The user's ``module:function``; modules are looked up in ``folder`` first. Raises InputError."""
    if name in ("", "default"):
        return reward
    module, _, function = name.partition(":")
    if not module or not function:
        raise InputError(f"reward '{name}' is not module:function", remedy="for example reward = \"mine:reward\"")
    sys.path.insert(0, folder)
    try:
        found = getattr(importlib.import_module(module), function)
    except ImportError as e:
        raise InputError(f"reward '{name}': {e}", remedy=f"put {module}.py beside the problem file") from e
    except AttributeError as e:
        raise InputError(f"reward '{name}': {module} has no {function}") from e
    finally:
        sys.path.remove(folder)
    if not callable(found):
        raise InputError(f"reward '{name}' is not callable")
    checked: Reward = found
    return checked
