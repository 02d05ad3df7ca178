"""The settings of a search; every field is recorded with the run."""

from __future__ import annotations

from dataclasses import dataclass

from genome.errors import InputError

POLICIES = ("bandit", "uniform")


@dataclass(frozen=True)
class Options:
    """``seconds`` (wall time, gate and confirmation included) and ``evaluations`` bound the run; at least one is set.
    ``seed`` fixes every draw of the search. ``screen``, ``policy``, ``agents`` and ``sketches`` switch parts of the
    search off, for comparison."""

    seconds: float | None = 600.0
    evaluations: int | None = None
    seed: int = 0
    agents: int = 4
    policy: str = "bandit"
    screen: bool = True
    sketches: bool = True
    sharing: float = 0.3  # weight of another agent's reward in an agent's own posterior; 0: none
    finalists: int = 3  # candidates that are confirmed, best first, until one is accepted
    reserve: float = 0.1  # share of the seconds kept for the confirmation
    queue: int = 0  # candidates in flight at most; 0: by the back end
    batch: int = 0  # candidates planned together; 0: by the number of agents

    def check(self) -> None:
        """Raises InputError for a value that cannot be used."""
        if self.seconds is None and self.evaluations is None:
            raise InputError("no budget", remedy="give --budget 10m, or a number of evaluations")
        if (self.seconds is not None and self.seconds <= 0) or (self.evaluations is not None and self.evaluations < 1):
            raise InputError("the budget is zero", remedy="give --budget 10m, or a number of evaluations")
        if self.agents < 1:
            raise InputError(f"--agents is {self.agents}", remedy="at least one agent")
        if self.policy not in POLICIES:
            raise InputError(f"unknown policy '{self.policy}'", remedy=f"known: {', '.join(POLICIES)}")
        if not 0 <= self.reserve < 1 or self.sharing < 0 or self.finalists < 1 or self.queue < 0 or self.batch < 0:
            raise InputError("reserve must be in [0, 1), sharing not negative, finalists at least 1, "
                             "queue and batch not negative")
