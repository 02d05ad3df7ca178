"""The report of a run as one HTML file: opens anywhere, loads nothing, and everything of the user's is escaped."""

from __future__ import annotations

import html
import json
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path

from genome.errors import InputError
from gpu.records import Verdict
from results import pareto, plot, report, units
from results.rows import Row
from results.store import BASELINE, Store

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; } th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
pre { background: #f6f6f6; padding: .8rem; overflow-x: auto; font-size: 13px; }
svg { width: 100%; height: auto; } svg text { font-size: 11px; fill: #444; } .mid { text-anchor: middle; }
.end { text-anchor: end; } .frame { fill: none; stroke: #999; } .grid { stroke: #eee; } .dot { fill: #b5b5b5; }
.line { fill: none; stroke: #1f5fa8; stroke-width: 2; }
"""


def page(store: Store, roofline: report.Roofline | None = None) -> str:
    """The whole document as text."""
    rows = store.rows()
    objectives, constraints = pareto.asked(store)
    front = pareto.front(rows, objectives, constraints)
    kernel = store.problem.get("kernel", "kernel")
    name = str(kernel.get("name", "kernel") if isinstance(kernel, dict) else kernel)
    began = time.strftime("%Y-%m-%d %H:%M", time.localtime(store.created()))
    device = (store.environment.get("device") or {}).get("name", "")
    facts = f"{store.status()}, begun {began}, ran {units.duration(store.elapsed())}"
    facts += f", on {device}" if device else ""
    champion = store.champion()
    parts = [f"<h1>{_e(name)}</h1><p>{_e(facts)}</p>",
             _pre(report.final_lines(store, roofline=roofline)),
             "<h2>Best latency over time</h2>", progress(rows, store.elapsed()),
             f"<h2>Pareto front: {_e(', '.join(objectives))}</h2>", front_plot(rows, front, objectives),
             _table(pareto.table(front, objectives)),
             "<h2>Verdicts</h2>", _table([["verdict", "candidates"], *(
                 [v.value, units.count(n)] for v, n in sorted(store.verdict_counts().items(), key=lambda x: -x[1]))])]
    refusals = store.refusal_counts()[:20]
    if refusals:
        parts += ["<h2>Refusals</h2>", _table([["mutator", "reason", "line", "count"], *(
            [r.mutator, r.reason, str(r.line or ""), units.count(r.count)] for r in refusals)])]
    if champion is not None:
        parts += [f"<h2>Champion {_e(champion.key)}</h2>", _pre([champion.source])]
    for title, data in (("Problem", store.problem), ("Environment", store.environment)):
        parts.append(f"<details><summary>{title}</summary>{_pre([json.dumps(data, indent=2)])}</details>")
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{_e(name)}</title>'
            f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>\n<body>\n'
            + "\n".join(parts) + "\n</body></html>\n")


def write(store: Store, path: Path | str, roofline: report.Roofline | None = None) -> Path:
    """Raises InputError when the file cannot be written."""
    path = Path(path)
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(page(store, roofline).encode("utf-8", "backslashreplace"))
        os.replace(part, path)
    except OSError as e:
        raise InputError(f"cannot write {path}: {e.strerror or e}", remedy="choose a writable place") from e
    return path


def progress(rows: Sequence[Row], elapsed: float) -> str:
    """Every verified candidate, and the best so far as stairs from the baseline to the end of the run."""
    timed = [r for r in rows if r.verdict is Verdict.OK and r.latency is not None]
    best, stairs = math.inf, []
    for r in timed:
        if (r.latency or math.inf) < best:
            best = r.latency or math.inf
            stairs.append((r.seconds, best))
    if stairs:
        stairs.append((max(elapsed, stairs[-1][0]), best))
    dots = [((r.seconds, r.latency or math.nan), f"{r.key}: {units.seconds(r.latency)}") for r in timed
            if r.key != BASELINE]
    return plot.svg("Best latency over time", plot.Axis("time of search", units.duration),
                    plot.Axis("latency", units.seconds, log=True), _thin(dots), stairs, stairs=True)


def front_plot(rows: Sequence[Row], front: Sequence[Row], objectives: Sequence[str]) -> str:
    """Latency, or the first objective, against the next one."""
    if len(objectives) < 2:
        return ""
    y, x = objectives[0], objectives[1]

    def at(r: Row) -> plot.Point:
        a, b = pareto.value(r, x), pareto.value(r, y)
        return math.nan if a is None else a, math.nan if b is None else b

    def axis(name: str) -> plot.Axis:
        text = units.seconds if name == "latency" else units.size if name.endswith("_bytes") else units.three
        return plot.Axis(pareto.OBJECTIVES[name].title, text, log=name == "latency")

    dots = [(at(r), f"{r.key}: {pareto.text(r, y)}, {pareto.text(r, x)}") for r in rows if r.verdict is Verdict.OK]
    return plot.svg("Pareto front", axis(x), axis(y), _thin(dots), sorted(at(r) for r in front))


def _thin(dots: list[tuple[plot.Point, str]], most: int = 3000) -> list[tuple[plot.Point, str]]:
    """Every n-th dot, so that a long run's page stays small."""
    return dots[::max(1, math.ceil(len(dots) / most))]


def _e(text: str) -> str:
    return html.escape(text, quote=True)


def _pre(lines: Sequence[str]) -> str:
    return "<pre>" + _e("\n".join(lines)) + "</pre>"


def _table(table: Sequence[Sequence[str]]) -> str:
    head, *body = table
    return ("<table><tr>" + "".join(f"<th>{_e(c)}</th>" for c in head) + "</tr>"
            + "".join("<tr>" + "".join(f"<td>{_e(c)}</td>" for c in line) + "</tr>" for line in body) + "</table>")
