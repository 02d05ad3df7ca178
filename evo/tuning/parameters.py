"""The parameters of a tunable kernel and all of their admissible combinations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evo.tuning.restrictions import Column, Restriction
from genome.errors import InputError
from genome.gene import ParamValue

LIMIT = 4_000_000  # combinations that are held at once

Configuration = tuple[ParamValue, ...]


def number(value: ParamValue) -> float | None:
    """A parameter's value as a number, where it is one: genes hold fractions as text."""
    if isinstance(value, (bool, int)):
        return float(value)
    if isinstance(value, str):
        try:
            out = float(value)
        except ValueError:
            return None
        return out if np.isfinite(out) else None
    return None


@dataclass(frozen=True)
class Parameters:
    """``values`` by name, in order. A configuration is one value of each; as *indices* it is a row of small integers,
    the positions within ``values``."""

    values: Mapping[str, tuple[ParamValue, ...]]

    def __post_init__(self) -> None:
        for name, domain in self.values.items():
            if not domain or len(set(domain)) != len(domain):
                raise InputError(f"the parameter {name} has no values, or one of them twice")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.values)

    def configuration(self, row: Sequence[int] | NDArray[np.int16]) -> Configuration:
        return tuple(domain[int(i)] for domain, i in zip(self.values.values(), row, strict=True))

    def rows(self, configurations: Iterable[Configuration]) -> NDArray[np.int16]:
        """Shape (configurations, parameters). Raises InputError for a value outside its domain."""
        index = [{v: i for i, v in enumerate(domain)} for domain in self.values.values()]
        try:
            found = [[at[v] for at, v in zip(index, c, strict=True)] for c in configurations]
        except (KeyError, ValueError) as e:
            raise InputError(f"a configuration is not within the parameters' values: {e}") from e
        return np.asarray(found, dtype=np.int16).reshape(-1, len(index))

    def columns(self, rows: NDArray[np.int16], names: Iterable[str]) -> dict[str, Column]:
        """The values in these rows of the named parameters, each of shape (rows,), as restrictions read them."""
        out: dict[str, Column] = {}
        for name in names:
            domain = self.values[name]
            numbers = [number(v) for v in domain]
            if any(n is None for n in numbers):
                column: Column = np.asarray(domain, dtype=object)
            elif all(isinstance(v, int) for v in domain):
                column = np.asarray(domain, dtype=np.int64)
            else:
                column = np.asarray(numbers, dtype=np.float64)
            out[name] = column[rows[:, self.names.index(name)]]
        return out

    def admissible(self, restrictions: Sequence[Restriction]) -> NDArray[np.int16]:
        """Every combination that meets all restrictions, in the order of the product (last parameter fastest). Each
        restriction prunes as soon as its parameters are bound. Raises InputError past LIMIT, or for unknown names."""
        unknown = {n for r in restrictions for n in r.names} - set(self.names)
        if unknown:
            raise InputError(f"restrictions name {', '.join(sorted(unknown))}, which is no parameter",
                             remedy=f"one of {', '.join(self.names)}")
        rows = np.zeros((1, 0), dtype=np.int16)
        waiting = list(restrictions)
        for j, domain in enumerate(self.values.values()):
            if len(rows) * len(domain) > LIMIT:
                raise InputError(f"more than {LIMIT} combinations", remedy="fewer values, or tighter restrictions")
            rows = np.column_stack([np.repeat(rows, len(domain), axis=0),
                                    np.tile(np.arange(len(domain), dtype=np.int16), len(rows))])
            bound = set(self.names[: j + 1])
            for r in [r for r in waiting if r.names <= bound]:
                rows = rows[r.holds(self.columns(rows, r.names)) if r.names else
                            np.broadcast_to(r.holds({}), len(rows))]
                waiting.remove(r)
        return rows
