"""What the device worker's wall time goes into, by activity; sums that can be compared between two moments."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")
PREPARE, LOAD, VERIFY, TIME, OTHER = "prepare", "load", "verify", "time", "other"
WAITED = "waited"  # for a task, while the candidate was compiled already: what an evaluator must not do
STARVED = "starved"  # for a task, while no candidate was compiled


class Ledger:
    """Phases may be nested: time belongs to the innermost one. ``clock``: seconds, monotonic."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._since = clock, clock()
        self._open: list[str] = []
        self.seconds: dict[str, float] = {}

    def add(self, name: str, seconds: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def _turn(self) -> None:
        now = self._clock()
        if self._open:
            self.add(self._open[-1], now - self._since)
        self._since = now

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        self._turn()
        self._open.append(name)
        try:
            yield
        finally:
            self._turn()
            self._open.pop()

    def during(self, name: str, function: Callable[[], T]) -> Callable[[], T]:
        """``function``, its time counted to a phase."""
        def timed() -> T:
            with self.phase(name):
                return function()
        return timed

    def take(self) -> dict[str, float]:
        """The sums since the last call; open phases up to now."""
        self._turn()
        taken, self.seconds = self.seconds, {}
        return taken


@dataclass(frozen=True)
class Account:
    """Sums in seconds since the evaluator's gate. ``candidates``: measured, whatever their verdict."""

    seconds: dict[str, float] = field(default_factory=dict)
    candidates: int = 0

    def plus(self, seconds: dict[str, float]) -> Account:
        both = {n: self.seconds.get(n, 0.0) + seconds.get(n, 0.0) for n in (*self.seconds, *seconds)}
        return Account(both, self.candidates + 1)

    def since(self, before: Account) -> Account:
        return Account({n: s - before.seconds.get(n, 0.0) for n, s in self.seconds.items()},
                       self.candidates - before.candidates)

    @property
    def busy(self) -> float:
        return sum(s for n, s in self.seconds.items() if n not in (WAITED, STARVED))

    @property
    def idle_share(self) -> float:
        """The part 0..1 of the time in which the device's process waited although a compiled candidate was there."""
        return self._share(WAITED, self.busy + self.seconds.get(WAITED, 0.0) + self.seconds.get(STARVED, 0.0))

    @property
    def verify_share(self) -> float:
        """The part 0..1 of the device work (verifying and timing) that goes into verifying."""
        return self._share(VERIFY, self.seconds.get(VERIFY, 0.0) + self.seconds.get(TIME, 0.0))

    def line(self) -> str:
        """For people; "" when nothing was measured."""
        if not self.candidates:
            return ""
        return (f"Device: verification took {100 * self.verify_share:.0f} % of verifying and timing; it waited "
                f"{100 * self.idle_share:.0f} % of the time although a compiled candidate was there.")

    def _share(self, name: str, whole: float) -> float:
        return self.seconds.get(name, 0.0) / whole if whole > 0 else 0.0
