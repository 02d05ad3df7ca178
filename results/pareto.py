"""The Pareto front over named objectives, and its forms: table rows, CSV, JSON, PNG."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genome.errors import InputError
from genome.expressions import ExpressionError, Number, evaluate, names
from gpu.records import Verdict
from results import units
from results.rows import Row
from results.store import Store

DEFAULT_OBJECTIVES = ("latency", "registers")


@dataclass(frozen=True)
class Objective:
    """How one figure is read; everything is minimised but what says ``maximise``."""

    title: str
    unit: str
    maximise: bool = False


OBJECTIVES: Mapping[str, Objective] = {
    "latency": Objective("latency", "s"),
    "registers": Objective("registers", ""),
    "shared_bytes": Objective("shared", "B"),
    "spill_bytes": Objective("spills", "B"),
    "stack_bytes": Objective("stack", "B"),
    "code_bytes": Objective("code", "B"),
    "occupancy": Objective("occupancy", "", maximise=True),
}
BESIDE = ("registers", "shared_bytes", "spill_bytes")  # shown with every result, asked for or not
CONSTRAINED = (*OBJECTIVES, "threads", "constant_bytes", "compile_seconds")


def value(row: Row, name: str) -> float | None:
    """A row's figure by name; None where the back end cannot know it. Raises InputError for an unknown name."""
    if name == "latency":
        return row.latency
    if name == "threads":
        return row.threads
    if name not in CONSTRAINED:
        raise InputError(f"unknown objective '{name}'", remedy="one of: " + ", ".join(OBJECTIVES))
    figure: float = getattr(row.resources, name)
    return None if figure < 0 else figure


def cost(row: Row, objectives: Sequence[str]) -> tuple[float, ...]:
    """The row's figures with every sign turned to "less is better"; unknown counts as the worst."""
    figures = []
    for name in objectives:
        if name not in OBJECTIVES:
            raise InputError(f"unknown objective '{name}'", remedy="one of: " + ", ".join(OBJECTIVES))
        v = value(row, name)
        figures.append(math.inf if v is None or math.isnan(v) else -v if OBJECTIVES[name].maximise else float(v))
    return tuple(figures)


def dominates(a: Sequence[float], b: Sequence[float]) -> bool:
    """Nowhere worse and somewhere better (costs: less is better)."""
    return all(x <= y for x, y in zip(a, b, strict=True)) and tuple(a) != tuple(b)


def admissible(row: Row, constraints: Sequence[str]) -> bool:
    """Whether every constraint holds; one over a figure that the back end cannot know is passed. Raises InputError for
    a constraint that is no expression over the known names."""
    for text in constraints:
        try:
            used = names(text)
            unknown = used - set(CONSTRAINED)
            if unknown:
                raise InputError(f"constraint '{text}' uses {min(unknown)}", remedy="known: " + ", ".join(CONSTRAINED))
            figures: dict[str, Number] = {}
            for name in used:
                v = value(row, name)
                if v is not None:
                    figures[name] = v
            if len(figures) == len(used) and not evaluate(text, figures):
                return False
        except ExpressionError as e:
            raise InputError(f"constraint '{text}': {e}") from e
    return True


class Archive:
    """The front, kept as rows arrive: verified ones that meet the constraints and that none dominates. Of equals the
    first is kept."""

    def __init__(self, objectives: Sequence[str] = DEFAULT_OBJECTIVES, constraints: Sequence[str] = ()) -> None:
        self.objectives, self.constraints = tuple(objectives), tuple(constraints)
        self._members: list[tuple[tuple[float, ...], Row]] = []

    def add(self, row: Row) -> bool:
        """Whether the row is now on the front."""
        if row.verdict is not Verdict.OK or row.latency is None or not admissible(row, self.constraints):
            return False
        mine = cost(row, self.objectives)
        if any(theirs == mine or dominates(theirs, mine) for theirs, _ in self._members):
            return False
        self._members = [m for m in self._members if not dominates(mine, m[0])]
        self._members.append((mine, row))
        return True

    def front(self) -> list[Row]:
        """Sorted by latency, fastest first."""
        return sorted((r for _, r in self._members), key=lambda r: (r.latency or math.inf, r.key))


def front(source: Store | Iterable[Row], objectives: Sequence[str] = DEFAULT_OBJECTIVES,
          constraints: Sequence[str] = ()) -> list[Row]:
    """The nondominated verified candidates of a run, or of rows, fastest first. Raises InputError for unknown names."""
    archive = Archive(objectives, constraints)
    for row in source.rows() if isinstance(source, Store) else source:
        archive.add(row)
    return archive.front()


def asked(store: Store) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Objectives and constraints of the run's problem; latency and registers where it names none."""
    problem = store.problem
    within = problem.get("objectives")
    if isinstance(within, dict):  # the problem file's own table
        objectives, constraints = within.get("minimise"), within.get("constraints")
    else:
        objectives, constraints = within, problem.get("constraints")
    return tuple(objectives or DEFAULT_OBJECTIVES), tuple(constraints or ())


def text(row: Row, name: str) -> str:
    """A row's figure as people read it."""
    return figure(name, value(row, name))


def figure(name: str, v: float | None) -> str:
    """An objective's figure (seconds, bytes, a count, a share) as people read it."""
    if v is None:
        return units.UNKNOWN
    if name == "latency":
        return units.seconds(v)
    if name == "occupancy":
        return f"{100 * v:.0f} %"
    return units.size(v) if name.endswith("_bytes") else f"{v:.0f}"


def table(rows: Iterable[Row], objectives: Sequence[str] = DEFAULT_OBJECTIVES) -> list[list[str]]:
    """Header and one line of texts per row: key, the objectives, what else it uses, speed-up over the baseline and what
    measured it (a confirmation's figure stands before the search's), agent, genes."""
    more = [n for n in BESIDE if n not in objectives]
    lines = [["candidate", *(OBJECTIVES[n].title for n in (*objectives, *more)), "memory", "speed-up", "from", "agent",
              "genes"]]
    for r in rows:
        speedup, source = r.speedup
        lines.append([r.key, *(text(r, n) for n in (*objectives, *more)), units.size(r.memory_bytes or None),
                      units.factor(speedup), source, r.agent, str(len(r.genes))])
    return lines


def records(rows: Iterable[Row], objectives: Sequence[str] = DEFAULT_OBJECTIVES) -> list[dict[str, Any]]:
    """Plain figures (seconds, bytes, counts; None where unknown) for CSV and JSON. All of :data:`OBJECTIVES` are
    given, those asked for first."""
    columns = [*objectives, *(n for n in OBJECTIVES if n not in objectives)]
    return [{"candidate": r.key, **{n: value(r, n) for n in columns},
             "memory_bytes": r.memory_bytes or None, "speedup": r.speedup[0], "speedup_from": r.speedup[1],
             "search_speedup": None if r.gain is None else math.exp(r.gain), "confirmed": r.confirmed, "agent": r.agent,
             "round": r.round, "seconds": r.seconds, "genome": [str(g) for g in r.genes]} for r in rows]


def to_json(rows: Iterable[Row], objectives: Sequence[str] = DEFAULT_OBJECTIVES) -> str:
    return json.dumps({"objectives": list(objectives), "front": records(rows, objectives)}, indent=2) + "\n"


def to_csv(rows: Iterable[Row], objectives: Sequence[str] = DEFAULT_OBJECTIVES) -> str:
    """Header and one line per row; a genome is its genes joined by blanks around semicolons."""
    found = records(rows, objectives)
    head = list(found[0]) if found else list(records([Row("")], objectives)[0])
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    for r in found:
        writer.writerow("" if v is None else " ; ".join(v) if isinstance(v, list) else v for v in r.values())
    return out.getvalue()


def write_png(path: Path | str, rows: Iterable[Row], objectives: Sequence[str] = DEFAULT_OBJECTIVES) -> None:
    """A plot of all verified rows and their front over the first two objectives. Raises InputError without Matplotlib,
    for fewer than two objectives, and when the file cannot be written."""
    if len(objectives) < 2:
        raise InputError("a plot of the front needs two objectives", remedy="add one, as in: latency, registers")
    try:
        from matplotlib.figure import Figure
    except ImportError as e:
        raise InputError("the plot needs Matplotlib", remedy="pip install matplotlib") from e
    x, y = objectives[1], objectives[0]
    points = [(r, value(r, x), value(r, y)) for r in rows if r.verdict is Verdict.OK and r.latency is not None]
    known = [(r, a, b) for r, a, b in points if a is not None and b is not None]
    best = front([r for r, _, _ in known], (y, x))
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    axes.scatter([a for _, a, _ in known], [b for _, _, b in known], s=12, color="0.7", label="verified")
    line = sorted((value(r, x) or 0.0, value(r, y) or 0.0) for r in best)
    axes.plot([a for a, _ in line], [b for _, b in line], "o-", color="C0", label="Pareto front")
    for name, label, scale in ((x, axes.set_xlabel, axes.set_xscale), (y, axes.set_ylabel, axes.set_yscale)):
        unit = OBJECTIVES[name].unit
        label(OBJECTIVES[name].title + (f" ({unit})" if unit else ""))
        if name == "latency" and known:
            scale("log")
    axes.legend()
    axes.grid(alpha=0.3)
    try:
        figure.savefig(path, dpi=120, format="png")
    except OSError as e:
        raise InputError(f"cannot write {path}: {e.strerror or e}", remedy="choose a writable place") from e
