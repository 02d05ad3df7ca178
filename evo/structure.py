"""A kernel's structure in lines of text: what the analysis found, and what stands in the way of transforms."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from evo.problem.dtypes import spell
from genome import ir
from genome.errors import Refusal
from genome.gene import ParamValue
from genome.printer.cuda import print_expr
from genome.walk import walk

if TYPE_CHECKING:
    from evo.problem import Problem
    from genome.scheduled import Scheduled
    from genome.unit import SourceUnit
    from mutators.base import Mutator

TRIALS = 60  # parameter choices tried at a site before it is called refused


def of_unit(unit: SourceUnit) -> list[str]:
    """What the text alone tells: parameters, loops, statements that are kept as they are."""
    kernel = unit.kernel
    parameters = ", ".join(f"{spell(p.type)} {p.name}" for p in kernel.params)
    lines = [f"{unit.file}:{kernel.loc.line}: {kernel.name}({parameters})"]
    lines += _section("loops", _loops(kernel.body))
    lines += _section("kept as text (transforms that would have to look inside refuse)", _opaque(kernel.body))
    if unit.other_kernels:
        lines.append(f"other kernels in the file: {', '.join(unit.other_kernels)}")
    return lines


def of_problem(problem: Problem) -> list[str]:
    """Structure, accesses and sites of a problem's kernel."""
    from genome.scheduled import schedule_kernel

    state = schedule_kernel(problem.unit, problem.workload, problem.launch)
    logical = state.logical
    lines = of_unit(problem.unit)
    lines += _section("axes", [
        f"{a.name}: {a.threads} threads a block, extent {a.text}, "
        + ("guarded by the kernel" if a.guarded else "not guarded by the kernel") for a in logical.axes])
    refusal = logical.mapping_refusal
    if refusal is not None:
        lines.append(f"points cannot be redistributed over threads: {refusal}")
    lines += _section("arrays", [
        f"{a.name}: {spell(a.element)}, {a.role}, "
        + " and ".join(w for w, yes in (("read", a.read), ("written", a.written)) if yes)
        for a in logical.arrays.values()])
    lines += _section("accesses", [
        f"line {a.loc.line}: {'write' if a.write else 'read'} {print_expr(a.index)}"
        + (f", as {a.array}[{']['.join(str(d) for d in a.dims)}]" if len(a.dims) > 1 else "")
        + (", in bounds" if a.in_bounds else ", bounds not proved") for a in logical.accesses])
    return lines + _section("sites", list(_sites(state)))


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in lines)] if lines else []


def _loops(body: tuple[ir.Stmt, ...], depth: int = 0) -> list[str]:
    out = []
    for s in body:
        if isinstance(s, ir.For):
            head = f"for {s.var} from {print_expr(s.lo)} while {s.cmp} {print_expr(s.hi)} step {print_expr(s.step)}"
            out += [f"{'  ' * depth}{s.label} (line {s.loc.line}): {head}", *_loops(s.body, depth + 1)]
        elif isinstance(s, ir.Loop):
            out += [f"{'  ' * depth}{s.label} (line {s.loc.line}): {s.kind} loop without a canonical form",
                    *_loops(s.body, depth + 1)]
        elif isinstance(s, ir.If):
            out += _loops(s.then, depth) + _loops(s.other, depth)
        elif isinstance(s, ir.Block):
            out += _loops(s.body, depth)
    return out


def _opaque(body: tuple[ir.Stmt, ...]) -> list[str]:
    return [f"line {n.loc.line}: {n.reason or 'not understood'}: {' '.join(n.text.split())[:60]}"
            for n in walk(body) if isinstance(n, (ir.Opaque, ir.OpaqueExpr))]


def _sites(state: Scheduled) -> Iterator[str]:
    """One line per transform and site: how many of the tried parameter choices are legal, or why none is."""
    from mutators.catalogue import CATALOGUE

    for name, mutator in CATALOGUE.items():
        sites = mutator.sites(state)
        if not sites:
            yield f"{name}: no site"
        for site in sites:
            legal, tried, why = _try(state, mutator, site.name)
            reason = "" if legal else f"; {why.most_common(1)[0][0]}" if why else "; no parameters to try"
            yield f"{name} at {site.name}: {legal} of {tried} parameter choices legal{reason}"


def _try(state: Scheduled, mutator: Mutator, site: str) -> tuple[int, int, Counter[str]]:
    legal = tried = 0
    why: Counter[str] = Counter()
    for params in itertools.islice(_choices(mutator.domain(state, site)), TRIALS):
        tried += 1
        try:
            added = mutator.check(state, site, params)
            new = mutator.apply(state, site, params)
            new.with_schedule(new.schedule, added).validate()
            legal += 1
        except Refusal as r:
            why[str(r)] += 1
    return legal, tried, why


def _choices(domain: Mapping[str, Sequence[ParamValue]]) -> Iterator[dict[str, ParamValue]]:
    for values in itertools.product(*domain.values()):
        yield dict(zip(domain, values, strict=True))
