"""A kernel's structure as data and as text: what the analysis found, and what stands in the way of transforms."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evo import between
from evo.problem.dtypes import spell
from genome import ir
from genome.errors import Refusal
from genome.gene import ParamValue
from genome.memory_cost import WARP, lane_coordinates, sectors
from genome.poly import Poly, coord_symbol
from genome.printer.cuda import print_expr
from genome.walk import walk

if TYPE_CHECKING:
    from evo.problem import Problem
    from genome.logical import Access
    from genome.scheduled import Scheduled
    from genome.unit import SourceUnit
    from mutators.base import Mutator

TRIALS = 60  # parameter choices tried at a site before it is called refused
SECONDS = 1.0  # for trying parameter choices, in sum over all sites
Report = dict[str, Any]


def of_unit(unit: SourceUnit) -> Report:
    """What the text alone tells: parameters, tree of statements, what is kept as text, what was left out."""
    k = unit.kernel
    return {
        "file": unit.file, "line": k.loc.line, "kernel": k.name,
        "parameters": [{"name": p.name, "type": spell(p.type)} for p in k.params],
        "tree": tree(k.body), "opaque": opaque(k.body), "notes": list(unit.notes),
        "other_kernels": list(unit.other_kernels), "assumed": [],
    }


def of_problem(problem: Problem) -> Report:
    """The same with what sizes, shapes and launch tell: axes, arrays, accesses, sites."""
    from genome.scheduled import schedule_kernel

    return {**of_unit(problem.unit),
            **of_state(schedule_kernel(problem.unit, problem.workload, problem.launch))}


def of_source(unit: SourceUnit, block: tuple[int, int, int] | None = None) -> Report:
    """The same for a bare file, with sizes, shapes and launch assumed and said to be."""
    from evo.problem.assume import assumed_for
    from genome.scheduled import schedule_kernel

    assumed = assumed_for(unit, block)
    state = schedule_kernel(unit, assumed.workload, assumed.launch)
    return {**of_unit(unit), **of_state(state), "assumed": list(assumed.notes)}


def of_state(state: Scheduled) -> Report:
    logical = state.logical
    refusal = logical.mapping_refusal
    return {
        "axes": [{"name": a.name, "threads": a.threads, "extent": a.text, "guarded": a.guarded} for a in logical.axes],
        "mapping": None if refusal is None else _refusal(refusal),
        "blockers": [_refusal(b) for b in logical.blockers],
        "arrays": [{"name": a.name, "type": spell(a.element), "role": a.role, "read": a.read, "written": a.written,
                    "accesses": [access_report(x, state) for x in logical.accesses if x.array == a.name]}
                   for a in logical.arrays.values()],
        "threads": between.of_threads(state, element_bytes),
        "sites": list(_sites(state)),
    }


def _refusal(r: Refusal) -> Report:
    return {"code": r.code, "reason": r.reason, "line": r.loc.line}


# ------------------------------------------------------------------------------------------------ the parts
def tree(body: tuple[ir.Stmt, ...]) -> list[Report]:
    """Loops with their labels, branches, barriers and kept text; the number of plain statements in between."""
    out: list[Report] = []
    plain = 0

    def node(kind: str, text: str, line: int, children: list[Report] | None = None, label: str = "") -> None:
        nonlocal plain
        if plain:
            out.append({"kind": "statements", "text": f"{plain} statement{'s' * (plain > 1)}", "line": 0, "label": "",
                        "children": []})
            plain = 0
        if kind:
            out.append({"kind": kind, "text": text, "line": line, "label": label, "children": children or []})

    for s in body:
        if isinstance(s, ir.For):
            head = f"for {s.var} from {print_expr(s.lo)} while {s.cmp} {print_expr(s.hi)} step {print_expr(s.step)}"
            node("for", head, s.loc.line, tree(s.body), s.label)
        elif isinstance(s, ir.Loop):
            node("loop", f"{s.kind} loop without a canonical form", s.loc.line, tree(s.body), s.label)
        elif isinstance(s, ir.If):
            node("if", f"if {print_expr(s.cond)}", s.loc.line, tree(s.then))
            if s.other:
                node("else", "else", s.loc.line, tree(s.other))
        elif isinstance(s, ir.Block):
            node("block", "block", s.loc.line, tree(s.body))
        elif isinstance(s, ir.Barrier):
            node("barrier", "__syncthreads()", s.loc.line)
        elif isinstance(s, ir.Opaque):
            node("text", f"kept as text: {' '.join(s.text.split())[:60]}", s.loc.line)
        else:
            plain += 1
    node("", "", 0)
    return out


def opaque(body: tuple[ir.Stmt, ...]) -> list[Report]:
    return [{"line": n.loc.line, "reason": n.reason or "not understood", "text": " ".join(n.text.split())[:60],
             "barrier": isinstance(n, ir.Opaque) and n.barrier}
            for n in walk(body) if isinstance(n, (ir.Opaque, ir.OpaqueExpr)) and (n.writes or not static(n))]


def static(n: ir.Opaque | ir.OpaqueExpr) -> bool:
    """Kept text that does nothing when the kernel runs: ``sizeof``, a constant's qualified name, ``using``."""
    return isinstance(n, ir.OpaqueExpr) or n.reason in (*ir.COMPILE_TIME, "pragma")


def element_bytes(base: str) -> int | None:
    """Bytes of a scalar or vector type, None for others."""
    from genome.frontend.types import SCALARS, VECTORS, width

    if base in ("half", "__half", "__nv_bfloat16"):
        return 2
    if base in SCALARS:
        return width(base)
    if base in ("half2", "__half2"):
        return 4
    if base in VECTORS and base[-1].isdigit():
        core = base[:-1]
        unsigned = {"uchar": 1, "ushort": 2, "uint": 4, "ulong": 8, "longlong": 8, "ulonglong": 8}
        return unsigned.get(core, width(core)) * int(base[-1])
    return None


def access_report(a: Access, state: Scheduled) -> Report:
    """An access with its stride from one thread to the next and the 32-byte sectors that a warp touches."""
    out: Report = {
        "line": a.loc.line, "kind": "update" if a.read and a.write else "write" if a.write else "read",
        "subscript": print_expr(a.index), "in_bounds": a.in_bounds, "stride": None, "sectors": None, "least": None,
        "dimensions": [str(d) for d in a.dims] if len(a.dims) > 1 else []}
    size = element_bytes(state.logical.arrays[a.array].element.base)
    if a.poly is None or size is None or not state.schedule.order:
        return out
    first = coord_symbol(state.schedule.order[0])
    stride = a.poly.substitute({first: Poly.sym(first) + Poly.const(1)}) - a.poly
    values = state.workload.scalars(state.workload.tune[0])
    warp = range(min(WARP, state.schedule.threads))
    lanes = {tuple(sorted(lane_coordinates(state.schedule, n).items())) for n in warp}
    distinct = len({tuple((k, v) for k, v in lane if coord_symbol(k) in a.poly.symbols) for lane in lanes})
    out.update(stride=str(stride), sectors=sectors(a, state.schedule, values, size),
               least=float(max(1, -(-distinct * size // 32))))
    return out


def _sites(state: Scheduled) -> Iterator[Report]:
    """For each transform and site: how many of the tried parameter choices are legal, and why the others are not."""
    from mutators.catalogue import CATALOGUE

    todo = [(n, m, s.name) for n, m in CATALOGUE.items() for s in m.sites(state)]
    end = time.monotonic() + SECONDS
    found: dict[str, list[Report]] = {n: [] for n in CATALOGUE}
    for i, (name, mutator, site) in enumerate(todo):
        now = time.monotonic()
        legal, tried, why = _try(state, mutator, site, now + max(0.0, end - now) / (len(todo) - i))
        found[name].append({"mutator": name, "site": site, "legal": legal, "tried": tried, "refusals": [
            {"code": code, "reason": reason, "line": line, "count": n}
            for (code, reason, line), n in why.most_common(3)]})
    for name, reports in found.items():
        yield from reports or [{"mutator": name, "site": None, "legal": 0, "tried": 0, "refusals": []}]


def _try(state: Scheduled, mutator: Mutator, site: str, until: float) -> tuple[int, int, Counter[tuple[str, str, int]]]:
    legal = tried = 0
    why: Counter[tuple[str, str, int]] = Counter()
    for params in itertools.islice(_choices(mutator.domain(state, site)), TRIALS):
        if tried and time.monotonic() > until:
            break
        tried += 1
        try:
            added = mutator.check(state, site, params)
            new = mutator.apply(state, site, params)
            new.with_schedule(new.schedule, added).validate()
            legal += 1
        except Refusal as r:
            why[r.code, r.reason, r.loc.line] += 1
    return legal, tried, why


def _choices(domain: Mapping[str, Sequence[ParamValue]]) -> Iterator[dict[str, ParamValue]]:
    for values in itertools.product(*domain.values()):
        yield dict(zip(domain, values, strict=True))


# ------------------------------------------------------------------------------------------------ as text
def lines_of(r: Report) -> list[str]:
    """The report as lines of text."""
    parameters = ", ".join(f"{p['type']} {p['name']}" for p in r["parameters"])
    lines = [f"{r['file']}:{r['line']}: {r['kernel']}({parameters})"]
    if r["assumed"]:
        lines.append(f"assumed, because there is no problem file: {'; '.join(r['assumed'])}")
    lines += _section("structure", _tree_lines(r["tree"]))
    lines += _section("kept as text (transforms that would have to look inside refuse)", [
        f"line {o['line']}: {o['reason']}: {o['text']}" for o in r["opaque"]])
    if "axes" in r:
        lines += _section("axes", [
            f"{a['name']}: {a['threads']} threads a block, extent {a['extent']}, "
            + ("guarded by the kernel" if a["guarded"] else "not guarded by the kernel") for a in r["axes"]])
        if r["mapping"] is not None:
            lines.append(f"points cannot be redistributed over threads: {_because(r['mapping'])}")
            lines += [f"  also: {_because(b)}" for b in r["blockers"][1:]]
        lines += _section("arrays", [line for a in r["arrays"] for line in _array_lines(a)])
        if r["threads"] is not None:
            lines += _section("threads of a block", between.lines_of(r["threads"]))
        lines += _section("sites", [_site_line(s) for s in r["sites"]])
    lines += _section("left out of the translation unit", r["notes"])
    if r["other_kernels"]:
        lines.append(f"other kernels in the file: {', '.join(r['other_kernels'])}")
    return lines


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in lines)] if lines else []


def _because(r: Report) -> str:
    return f"{r['code']}: {r['reason']}" + (f" (line {r['line']})" if r["line"] else "")


def _tree_lines(nodes: Sequence[Report], depth: int = 0) -> list[str]:
    out: list[str] = []
    for n in nodes:
        label = f"{n['label']}: " if n["label"] else ""
        line = f" (line {n['line']})" if n["line"] else ""
        out += [f"{'  ' * depth}{label}{n['text']}{line}", *_tree_lines(n["children"], depth + 1)]
    return out


def _array_lines(a: Report) -> list[str]:
    use = " and ".join(w for w in ("read", "written") if a[w]) or "not subscripted"
    out = [f"{a['name']}: {a['type']}, {a['role']}, {use}"]
    for x in a["accesses"]:
        if x["sectors"] is None:
            cost = "subscript not understood: counted as a sector for each thread"
        else:
            degree = x["least"] / max(x["sectors"], x["least"])
            cost = f"stride {x['stride']} between threads, {x['sectors']:.0f} sectors a warp ({degree:.0%} coalesced)"
        where = f", as {a['name']}[{']['.join(x['dimensions'])}]" if x["dimensions"] else ""
        bounds = "in bounds" if x["in_bounds"] else "bounds not proved"
        out.append(f"  line {x['line']}: {x['kind']} {x['subscript']}{where}, {bounds}; {cost}")
    return out


def _site_line(s: Report) -> str:
    if s["site"] is None:
        return f"{s['mutator']}: no site"
    reason = "" if s["legal"] else f"; {_because(s['refusals'][0])}" if s["refusals"] else "; no parameters to try"
    return f"{s['mutator']} at {s['site']}: {s['legal']} of {s['tried']} parameter choices legal{reason}"
