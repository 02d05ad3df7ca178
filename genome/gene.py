"""Genes and genomes: frozen, serialisable, replayable data."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

ParamValue = int | str | bool | tuple[int, ...]


@dataclass(frozen=True)
class Gene:
    """One mutator at one site with parameters. ``site`` is named by role first (array, axis, loop label)."""

    mutator: str
    site: str
    params: tuple[tuple[str, ParamValue], ...] = ()

    @staticmethod
    def make(mutator: str, site: str, **params: ParamValue) -> Gene:
        return Gene(mutator, site, tuple(sorted((k, tuple(v) if isinstance(v, list) else v)
                                                for k, v in params.items())))

    def as_dict(self) -> dict[str, ParamValue]:
        return dict(self.params)

    def __str__(self) -> str:
        inside = ", ".join(f"{k}={v}" for k, v in self.params)
        return f"{self.mutator}({self.site}{': ' if inside else ''}{inside})"


Genome = tuple[Gene, ...]


def to_json(genome: Genome) -> str:
    return json.dumps([[g.mutator, g.site, dict(g.params)] for g in genome], separators=(",", ":"))


def from_json(text: str) -> Genome:
    """Raises ValueError on anything but what :func:`to_json` writes."""
    data: Any = json.loads(text)
    try:
        return tuple(Gene.make(m, s, **p) for m, s, p in data)
    except (TypeError, AttributeError) as e:
        raise ValueError(f"not a genome: {text[:80]}") from e


def genome_key(genome: Genome) -> str:
    return hashlib.sha256(to_json(genome).encode()).hexdigest()[:16]
