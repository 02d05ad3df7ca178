"""A problem: everything that a run is told, validated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evo.problem.budget import DEFAULT, Budget
from genome.program import Launch
from genome.workload import Workload

if TYPE_CHECKING:
    from genome.unit import SourceUnit


@dataclass(frozen=True)
class Problem:
    """``launch`` is the baseline's. ``assumed``: one line for each thing that the user did not say. ``path`` and
    ``text`` are the problem file's, as read."""

    name: str  # the kernel's, without template arguments
    unit: SourceUnit
    workload: Workload
    launch: Launch
    backend: str
    flags: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    objectives: tuple[str, ...] = ("latency", "registers")
    constraints: tuple[str, ...] = ()
    budget: Budget = DEFAULT
    veto: tuple[str, ...] = ()
    dispatch: bool = False  # a search for each tune size, and one dispatch table
    assumed: tuple[str, ...] = ()
    path: Path = Path("evo.toml")
    text: str = ""

    @property
    def budget_seconds(self) -> float | None:
        return self.budget.seconds

    @property
    def budget_evaluations(self) -> int | None:
        return self.budget.evaluations
