"""What the command line tells a run beyond the problem file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class RunOptions:
    """``seed`` fixes all random draws of the search and of the input data. ``agents`` is the arena's size. ``out`` is
    the folder in which ``runs/`` is made. ``screen``, ``policy`` and ``sketches`` switch parts of the search off, for
    comparison."""

    seed: int = 0
    agents: int = 4
    policy: str = "bandit"  # "bandit" or "uniform"
    screen: bool = True
    sketches: bool = True
    require: bool = False  # exit code 1 when nothing faster was found
    out: Path = Path(".")
