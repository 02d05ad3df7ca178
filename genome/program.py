"""A candidate as the device sees it: source text and launches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from genome.expressions import Number, evaluate
from genome.workload import block_values


@dataclass(frozen=True)
class Workspace:
    """A device buffer that launches hand to each other: ``elements`` (an expression over the problem's scalars) values
    of the C type ``type``. Its content before the first launch means nothing."""

    name: str
    type: str
    elements: str


@dataclass(frozen=True)
class Launch:
    """One kernel launch. ``grid`` holds expressions over the problem's scalars and ``block_x/y/z``. The kernel takes
    all of the workload's arguments and, after them, ``workspaces``; those of the same name are the same buffer."""

    kernel: str
    grid: tuple[str, str, str]
    block: tuple[int, int, int]
    shared_bytes: int = 0  # dynamic shared memory
    workspaces: tuple[Workspace, ...] = ()

    def grid_at(self, scalars: Mapping[str, Number]) -> tuple[int, int, int]:
        values = {**scalars, **block_values(self.block)}
        x, y, z = (int(evaluate(g, values)) for g in self.grid)
        return x, y, z


@dataclass(frozen=True)
class Program:
    """A translation unit and its launches, in order.

    ``language`` is "cuda" or "opencl". ``preconditions`` are expressions over the scalars, or
    ``disjoint(A, B)``, that the launcher must check.
    """

    source: str
    launches: tuple[Launch, ...]
    language: str = "cuda"
    preconditions: tuple[str, ...] = ()

    @property
    def workspaces(self) -> tuple[Workspace, ...]:
        """Of all launches, each once."""
        return tuple({w.name: w for launch in self.launches for w in launch.workspaces}.values())

    @property
    def key(self) -> str:
        """Identity of text and launches (not of the binary)."""
        return hashlib.sha256(repr((self.source, self.launches, self.language)).encode()).hexdigest()[:16]


def launches_to_json(launches: Sequence[Launch]) -> str:
    """Launches as a JSON list; :func:`launches_from_json` reads it."""
    plain = [asdict(launch) for launch in launches]
    return json.dumps([{k: v for k, v in d.items() if k != "workspaces" or v} for d in plain])


def launches_from_json(text: str) -> tuple[Launch, ...]:
    """"" is no launches. Raises ValueError, KeyError or TypeError on anything else that was not written here."""
    out = []
    for d in json.loads(text) if text else []:
        x, y, z = [*(str(g) for g in d["grid"]), "1", "1"][:3]
        a, b, c = [*(int(n) for n in d["block"]), 1, 1][:3]
        out.append(Launch(d["kernel"], (x, y, z), (a, b, c), int(d.get("shared_bytes", 0)),
                          tuple(Workspace(**w) for w in d.get("workspaces", ()))))
    return tuple(out)
