"""How a search is to be run: seed, budget, and what is switched on."""

from __future__ import annotations

from dataclasses import dataclass

from genome.errors import InputError

POLICIES = ("bandit", "uniform")


@dataclass(frozen=True)
class Options:
    """``seconds`` is wall time with gate and confirmation, ``evaluations`` counts submitted candidates; at least one
    must be given, and the first that is spent ends the search. ``queue`` and ``batch`` 0: chosen from the device."""

    seed: int = 0
    seconds: float | None = None
    evaluations: int | None = None
    agents: int = 6
    policy: str = "bandit"
    screen: bool = True
    sketches: bool = True
    strict: bool = False  # a device on which others compute is refused
    queue: int = 0  # candidates in the evaluator at once
    batch: int = 0  # candidates planned together
    reserve: float = 0.12  # share of the seconds kept for the confirmation
    finalists: int = 3  # confirmed at most until one is accepted
    sharing: float = 0.3  # weight of another agent's experience

    def check(self) -> None:
        """Raises InputError."""
        if self.seconds is None and self.evaluations is None:
            raise InputError("no budget", remedy="give seconds or evaluations, for example --budget 5m")
        if self.seconds is not None and not self.seconds > 0:
            raise InputError(f"budget of {self.seconds} seconds", remedy="give more than zero")
        if self.evaluations is not None and self.evaluations < 1:
            raise InputError(f"budget of {self.evaluations} evaluations", remedy="give at least one")
        if self.policy not in POLICIES:
            raise InputError(f"unknown policy '{self.policy}'", remedy=f"one of {', '.join(POLICIES)}")
        if self.agents < 1:
            raise InputError(f"{self.agents} agents", remedy="at least one")
        if not 0.0 <= self.reserve < 0.9:
            raise InputError(f"reserve {self.reserve}", remedy="a share of the budget, 0 to 0.9")
