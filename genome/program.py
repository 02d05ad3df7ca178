"""A candidate as the device sees it: source text and launches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from genome.expressions import Number, evaluate
from genome.workload import block_values

# C types that a workspace may hold, and NumPy's names of them.
WORKSPACE_TYPES = {"float": "float32", "double": "float64", "int": "int32", "unsigned int": "uint32",
                   "long long": "int64", "unsigned long long": "uint64"}


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
    version: int = 0  # see Program.select

    def grid_at(self, scalars: Mapping[str, Number]) -> tuple[int, int, int]:
        values = {**scalars, **block_values(self.block)}
        x, y, z = (int(evaluate(g, values)) for g in self.grid)
        return x, y, z


@dataclass(frozen=True)
class Program:
    """A translation unit and its launches, in order. A dispatch table has several versions of the whole: ``select`` is
    an expression over the scalars whose value is the version that runs there; "" is no table, and all launches run.

    ``language`` is "cuda" or "opencl". ``preconditions`` are expressions over the scalars, or
    ``disjoint(A, B)``, that the launcher must check.
    """

    source: str
    launches: tuple[Launch, ...]
    language: str = "cuda"
    preconditions: tuple[str, ...] = ()
    select: str = ""

    def at(self, scalars: Mapping[str, Number]) -> tuple[int, ...]:
        """Places in ``launches`` of those that run at these scalars."""
        version = evaluate(self.select, scalars) if self.select else None
        return tuple(i for i, launch in enumerate(self.launches) if version is None or launch.version == version)

    @property
    def geometry(self) -> tuple[object, ...]:
        """All that tells two programs of the same machine code apart."""
        return self.select, tuple((la.grid, la.block, la.shared_bytes, la.workspaces, la.version)
                                  for la in self.launches)

    @property
    def workspaces(self) -> tuple[Workspace, ...]:
        return workspaces_of(self.launches)

    @property
    def key(self) -> str:
        """Identity of text and launches (not of the binary)."""
        return hashlib.sha256(repr((self.source, self.launches, self.language, self.select)).encode()).hexdigest()[:16]


def workspaces_of(launches: Sequence[Launch]) -> tuple[Workspace, ...]:
    """The workspaces of all launches, each once."""
    return tuple({w.name: w for launch in launches for w in launch.workspaces}.values())


def launches_to_json(launches: Sequence[Launch]) -> str:
    """Launches as a JSON list; :func:`launches_from_json` reads it."""
    plain = [asdict(launch) for launch in launches]
    return json.dumps([{k: v for k, v in d.items() if v or k not in ("workspaces", "version")} for d in plain])


def launches_from_json(text: str) -> tuple[Launch, ...]:
    """"" is no launches. Raises ValueError, KeyError or TypeError on anything else that was not written here."""
    out = []
    for d in json.loads(text) if text else []:
        x, y, z = [*(str(g) for g in d["grid"]), "1", "1"][:3]
        a, b, c = [*(int(n) for n in d["block"]), 1, 1][:3]
        out.append(Launch(d["kernel"], (x, y, z), (a, b, c), int(d.get("shared_bytes", 0)),
                          tuple(Workspace(**w) for w in d.get("workspaces", ())), int(d.get("version", 0))))
    return tuple(out)
