"""A candidate as the device sees it: source text and launches."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from genome.expressions import Number, evaluate
from genome.workload import block_values


@dataclass(frozen=True)
class Launch:
    """One kernel launch. ``grid`` holds expressions over the problem's scalars and ``block_x/y/z``."""

    kernel: str
    grid: tuple[str, str, str]
    block: tuple[int, int, int]
    shared_bytes: int = 0  # dynamic shared memory

    def grid_at(self, scalars: Mapping[str, Number]) -> tuple[int, int, int]:
        values = {**scalars, **block_values(self.block)}
        x, y, z = (int(evaluate(g, values)) for g in self.grid)
        return x, y, z


@dataclass(frozen=True)
class Program:
    """A translation unit and its launches, in order; every launch takes all of the workload's arguments.

    ``language`` is "cuda" or "opencl". ``preconditions`` are expressions over the scalars, or
    ``disjoint(A, B)``, that the launcher must check.
    """

    source: str
    launches: tuple[Launch, ...]
    language: str = "cuda"
    preconditions: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Identity of text and launches (not of the binary)."""
        return hashlib.sha256(repr((self.source, self.launches, self.language)).encode()).hexdigest()[:16]
