"""Seeded randomness: one :class:`Draws` per agent, never the process-wide generators.

DEAP's own operators draw from the global ``random``; evo uses none of those that do (``selNSGA2`` draws nothing).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


class Draws:
    """A pair of generators (discrete draws, Gaussian vectors) whose state is JSON."""

    def __init__(self, seed: int, stream: str = "") -> None:
        self.py = random.Random(f"{seed}:{stream}")
        self.np = np.random.Generator(np.random.PCG64(self.py.getrandbits(64)))

    def uniform(self) -> float:
        return self.py.random()

    def below(self, n: int) -> int:
        return self.py.randrange(n)

    def choice(self, items: Sequence[T]) -> T:
        return items[self.py.randrange(len(items))]

    def sample(self, items: Sequence[T], k: int) -> list[T]:
        return self.py.sample(list(items), min(k, len(items)))

    def normal(self, n: int) -> NDArray[np.float64]:
        return self.np.standard_normal(n)

    def gauss(self) -> float:
        return self.py.gauss(0.0, 1.0)

    def state(self) -> dict[str, Any]:
        version, words, spare = self.py.getstate()
        return {"py": [version, list(words), spare], "np": self.np.bit_generator.state}

    def restore(self, state: dict[str, Any]) -> None:
        version, words, spare = state["py"]
        self.py.setstate((version, tuple(words), spare))
        self.np.bit_generator.state = state["np"]
