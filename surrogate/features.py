"""The cost model's view of a candidate: a row of numbers under a vocabulary that grows.

A row holds the kernel's static features, how often each mutator occurs, and each parameter of each (mutator, site).
Numbers enter as they are (XGBoost splits are invariant to monotone scaling), text as a category code in order of
appearance; what a candidate lacks is NaN, which XGBoost treats as missing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genome.gene import Genome, ParamValue

VERSION = 1
Row = dict[str, float]


class Vocabulary:
    """Names of columns in order of appearance, and the codes of textual values. Never shrinks."""

    def __init__(self) -> None:
        self.columns: dict[str, int] = {}
        self.codes: dict[str, dict[str, int]] = {}

    def number(self, column: str, value: ParamValue) -> float:
        """A tuple counts as its product (a block's threads); text by its code within the column."""
        if isinstance(value, (bool, int)):
            return float(value)
        if isinstance(value, tuple):
            return float(math.prod(value))
        codes = self.codes.setdefault(column, {})
        return float(codes.setdefault(value, len(codes)))

    def row(self, features: Mapping[str, float], genome: Genome) -> Row:
        out: Row = {f"static {k}": float(v) for k, v in features.items() if math.isfinite(v)}
        for gene in genome:
            count = f"count {gene.mutator}"
            out[count] = out.get(count, 0.0) + 1.0
            present = f"has {gene.mutator} {gene.site}"
            out[present] = 1.0
            for name, value in gene.params:
                column = f"param {gene.mutator} {gene.site} {name}"
                out[column] = self.number(column, value)
                if isinstance(value, tuple):
                    for i, v in enumerate(value):
                        out[f"{column} {i}"] = float(v)
        out["genes"] = float(len(genome))
        for name in out:
            self.columns.setdefault(name, len(self.columns))
        return out

    def matrix(self, rows: Sequence[Row]) -> NDArray[np.float32]:
        """Shape (rows, columns); NaN where a row lacks a column. Counts of mutators that are absent are 0."""
        out = np.full((len(rows), len(self.columns)), np.nan, dtype=np.float32)
        zero = [i for name, i in self.columns.items() if name.startswith(("count ", "has "))]
        out[:, zero] = 0.0
        for i, row in enumerate(rows):
            for name, value in row.items():
                j = self.columns.get(name)
                if j is not None:
                    out[i, j] = value
        return out

    def to_json(self) -> str:
        return json.dumps({"version": VERSION, "columns": list(self.columns), "codes": self.codes})

    @staticmethod
    def from_json(text: str) -> Vocabulary:
        """Raises ValueError on another version."""
        data: Any = json.loads(text)
        if data.get("version") != VERSION:
            raise ValueError(f"feature vocabulary of version {data.get('version')}, expected {VERSION}")
        v = Vocabulary()
        v.columns = {n: i for i, n in enumerate(data["columns"])}
        v.codes = {k: dict(c) for k, c in data["codes"].items()}
        return v


def distance(a: Row, b: Row) -> float:
    """Share of the columns present in either in which two rows differ (relative difference of numbers, at most 1)."""
    names = [n for n in {**a, **b} if not n.startswith("static ")]
    return sum(_difference(a.get(n), b.get(n)) for n in names) / len(names) if names else 0.0


def _difference(x: float | None, y: float | None) -> float:
    if x is None or y is None:
        return 1.0
    return 0.0 if x == y else min(1.0, abs(x - y) / max(abs(x), abs(y)))


def nearest(row: Row, others: Iterable[Row]) -> float:
    return min((distance(row, o) for o in others), default=1.0)
