"""``[accept]``, ``[objectives]`` and ``[search]``: what counts as right, what is optimised, how long."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from evo.problem.budget import DEFAULT, REMEDY, Budget, parse_budget
from evo.problem.table import Table, nearest
from genome.expressions import ExpressionError, names, parse
from genome.workload import Argument, Exactness, Tolerance
from results.pareto import OBJECTIVES

MEASURES = ("registers", "spill_bytes", "stack_bytes", "shared_bytes", "occupancy", "threads")
DISJOINT = re.compile(r"disjoint\(\s*(\w+)\s*,\s*(\w+)\s*\)")

# by the output's type: ordinary rounding of a sum of thousands of terms in that type
TOLERANCES = {"float16": Tolerance(1e-2, 1e-3), "float32": Tolerance(1e-4, 1e-5), "float64": Tolerance(1e-10, 1e-12)}


@dataclass(frozen=True)
class AcceptSection:
    assume: tuple[str, ...]
    exactness: Exactness
    tolerance: Tolerance
    reference: str | None


def read_accept(t: Table, arguments: tuple[Argument, ...], folder: Path, assumed: list[str]) -> AcceptSection:
    t.only("assume", "exactness", "tolerance", "reference")
    return AcceptSection(_assume(t, arguments), _exactness(t, assumed), _tolerance(t, arguments, assumed),
                         _reference(t, folder))


def _assume(t: Table, arguments: tuple[Argument, ...]) -> tuple[str, ...]:
    arrays = {a.name for a in arguments if a.is_array}
    assume = t.texts("assume")
    for n, text in enumerate(assume):
        if m := DISJOINT.fullmatch(text.strip()):
            for name in m.groups():
                if name not in arrays:
                    t.fail(f"'{text}' names '{name}', which is no array argument", "assume", n,
                           remedy=nearest(name, sorted(arrays)))
            if m[1] == m[2]:
                t.fail(f"'{text}': an array is not disjoint from itself", "assume", n)
            continue
        try:
            used = names(text)
        except ExpressionError as e:
            t.fail(str(e), "assume", n, remedy='write "K % 4 == 0" or "disjoint(A, B)"')
        if used & arrays:
            t.fail(f"'{text}' reads the array '{min(used & arrays)}'; assumptions are about scalars", "assume", n)
    return tuple(text.strip() for text in assume)


def _exactness(t: Table, assumed: list[str]) -> Exactness:
    known = {e.name.lower(): e for e in Exactness}
    if "exactness" not in t:
        assumed.append("exactness: reassociates (sums may be reordered; no approximate arithmetic)")
    text = t.text("exactness", "reassociates").lower()
    if text not in known:
        t.fail(f"unknown exactness '{text}'", "exactness", remedy=nearest(text, known))
    return known[text]


def _tolerance(t: Table, arguments: tuple[Argument, ...], assumed: list[str]) -> Tolerance:
    kinds = [a.dtype for a in arguments if a.role != "in" and a.dtype in TOLERANCES]
    default = TOLERANCES[next((k for k in TOLERANCES if k in kinds), "float32")]
    given = t.table("tolerance")
    given.only("rtol", "atol_scale")
    if not given.values and kinds:
        assumed.append(f"tolerance: {default.rtol:g} relative + {default.atol_scale:g} of the output's root mean "
                       "square")
    return Tolerance(given.number("rtol", default.rtol), given.number("atol_scale", default.atol_scale))


def _reference(t: Table, folder: Path) -> str | None:
    if "reference" not in t:
        return None
    text = t.text("reference")
    file, _, function = text.partition(":")
    if not file.endswith(".py") or not function.isidentifier():
        t.fail(f"reference '{text}' is not understood", "reference", remedy='write "check.py:function"')
    if not (folder / file).is_file():
        t.fail(f"there is no file {folder / file}", "reference", remedy="paths are relative to the problem file")
    return text


def read_objectives(t: Table, assumed: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Objectives (the first is what the champion is chosen by) and constraints."""
    t.only("minimise", "constraints")
    objectives = t.texts("minimise", ("latency", "registers"))
    if "minimise" not in t:
        assumed.append("objectives: latency, registers")
    for n, name in enumerate(objectives):
        if name not in OBJECTIVES:
            t.fail(f"unknown objective '{name}'", "minimise", n, remedy=nearest(name, OBJECTIVES))
        if name in objectives[:n]:
            t.fail(f"objective '{name}' is named twice", "minimise", n)
    if "latency" not in objectives:
        t.fail("'latency' must be among the objectives", "minimise", remedy='write minimise = ["latency", ...]')
    constraints = t.texts("constraints")
    for n, text in enumerate(constraints):
        try:
            used = names(text)
            comparison = any(type(node).__name__ == "Compare" for node in [parse(text)])
        except ExpressionError as e:
            t.fail(str(e), "constraints", n, remedy='write "registers <= 64"')
        for name in sorted(used):
            if name not in MEASURES:
                t.fail(f"constraint '{text}' names '{name}'", "constraints", n, remedy=nearest(name, MEASURES))
        if not used or not comparison:
            t.fail(f"constraint '{text}' compares nothing", "constraints", n, remedy='write "registers <= 64"')
    return objectives, constraints


def read_search(t: Table, override: str | None, assumed: list[str]) -> tuple[Budget, tuple[str, ...]]:
    """Budget (``override`` is the command line's) and the mutators that are not to be used."""
    t.only("budget", "veto", "dispatch")
    budget = DEFAULT
    if "budget" in t:
        value = t.values["budget"]
        try:
            budget = parse_budget(value if isinstance(value, str) else str(value))
        except ValueError as e:
            t.fail(str(e), "budget", remedy=REMEDY)
    elif override is None:
        assumed.append(f"budget: {DEFAULT}, baseline gate and confirmation included")
    if override is not None:
        budget = parse_budget(override)
    veto = t.texts("veto")
    if veto:
        known = mutator_names()
        for n, name in enumerate(veto):
            if name not in known:
                t.fail(f"unknown mutator '{name}' in veto", "veto", n, remedy=nearest(name, known))
    return budget, veto


def mutator_names() -> tuple[str, ...]:
    """The catalogue's names; imported late, because the catalogue loads every transform."""
    from mutators.catalogue import names as catalogue_names

    return tuple(catalogue_names())
