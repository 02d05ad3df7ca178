"""What the policy knows of parameter values and sites: one discounted Gaussian per value of a slot.

A slot is ``mutator/site-kind/parameter`` (or ``mutator//site`` for the choice of a site). Ordered values (numbers)
share strength with their neighbours: an observation at 32 counts ``SHARE`` at 16 and 64.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from evo.search.draws import Draws
from genome.gene import ParamValue

SHARE = 0.35
PRIOR_WEIGHT = 1.0  # observations that the prior is worth
NOISE = 0.35  # spread of one observation
LEGALITY = 0.3  # what certain legality is worth against certain refusal


class ValueModel:
    """``discount`` fades a slot's old observations, once per observation of that slot."""

    def __init__(self, *, discount: float = 0.98, spread: float = NOISE) -> None:
        self.discount, self.spread = discount, spread
        self.table: dict[str, dict[str, list[float]]] = {}  # slot -> value -> [weight, sum, legal, illegal]

    @staticmethod
    def _name(value: ParamValue) -> str:
        return json.dumps(value)

    def _cell(self, slot: str, value: ParamValue) -> list[float]:
        return self.table.setdefault(slot, {}).setdefault(self._name(value), [0.0, 0.0, 0.0, 0.0])

    def _mean(self, slot: str) -> float:
        cells = self.table.get(slot, {}).values()
        weight = sum(c[0] for c in cells)
        return sum(c[1] for c in cells) / (weight + PRIOR_WEIGHT)

    def legality(self, slot: str, value: ParamValue, draws: Draws) -> float:
        """A draw from the Beta(2 + legal, 1 + refused) posterior that a gene with this value is not refused."""
        c = self.table.get(slot, {}).get(self._name(value), (0.0, 0.0, 0.0, 0.0))
        return draws.py.betavariate(2.0 + c[2], 1.0 + c[3])

    def choose(self, slot: str, values: Sequence[ParamValue], draws: Draws, temperature: float = 1.0) -> ParamValue:
        """Thompson sampling over the values; a value that tends to be refused is discounted by its legality."""
        if len(values) == 1:
            return values[0]
        centre = self._mean(slot)
        known = self.table.get(slot, {})
        best, best_score = values[0], -math.inf
        for v in values:
            c = known.get(self._name(v), (0.0, 0.0, 0.0, 0.0))
            weight = c[0] + PRIOR_WEIGHT
            score = (c[1] + PRIOR_WEIGHT * centre) / weight
            score += temperature * self.spread / math.sqrt(weight) * draws.gauss()
            score += LEGALITY * self.legality(slot, v, draws)
            if score > best_score:
                best, best_score = v, score
        return best

    def learn(self, slot: str, value: ParamValue, values: Sequence[ParamValue], reward: float) -> None:
        for c in self.table.get(slot, {}).values():
            for i in range(4):
                c[i] *= self.discount
        self._cell(slot, value)[2] += 1.0
        for v, w in neighbours(value, values):
            c = self._cell(slot, v)
            c[0] += w
            c[1] += w * reward

    def refused(self, slot: str, value: ParamValue, weight: float = 1.0) -> None:
        for c in self.table.get(slot, {}).values():
            c[2] *= self.discount
            c[3] *= self.discount
        self._cell(slot, value)[3] += weight

    def state(self) -> dict[str, Any]:
        return {s: {v: list(c) for v, c in t.items()} for s, t in self.table.items()}

    def restore(self, state: dict[str, Any]) -> None:
        self.table = {s: {v: [float(x) for x in c] for v, c in t.items()} for s, t in state.items()}


def neighbours(value: ParamValue, values: Sequence[ParamValue]) -> list[tuple[ParamValue, float]]:
    """The value with weight 1 and, where all values are plain numbers, the next ones in order with ``SHARE``."""
    out: list[tuple[ParamValue, float]] = [(value, 1.0)]
    numbers = [v for v in values if isinstance(v, int) and not isinstance(v, bool)]
    if len(numbers) == len(values) and value in numbers:
        order = sorted(numbers)
        i = order.index(value)
        out += [(order[j], SHARE) for j in (i - 1, i + 1) if 0 <= j < len(order)]
    return out
