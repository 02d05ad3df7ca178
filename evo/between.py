"""What ``evo inspect`` tells of a kernel with barriers or shared memory of its own: races, bank conflicts, sectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from genome import ir
from genome.build import PURE_FUNCTIONS
from genome.memory_cost import lane_elements, passes_of, sectors_of
from genome.printer.cuda import print_expr
from genome.purity import pure_functions, silent_functions
from genome.races import all_touches, find_races
from genome.touches import collect
from genome.uniform import barriers_not_uniform, uniformity
from genome.walk import walk

if TYPE_CHECKING:
    from genome.scheduled import Scheduled

Report = dict[str, Any]


def of_threads(state: Scheduled, width_of: Any) -> Report | None:
    """None for kernels whose threads do not work together. ``width_of``: bytes of a type by its name, or None."""
    kernel, block = state.logical.kernel, state.launch.block
    if not any(isinstance(n, ir.Barrier) or (isinstance(n, ir.Decl) and "shared" in n.space)
               for n in walk(kernel.body)):
        return None
    workload = state.workload
    sizes = [workload.scalars(s) for s in (*workload.tune, *workload.check)]
    pure = PURE_FUNCTIONS | pure_functions(state.unit)
    silent = silent_functions(state.unit)
    races = find_races(kernel, block, sizes, pure, silent)
    known = uniformity(kernel, pure)
    touches = collect(kernel, block, known, silent=silent)
    accesses: dict[tuple[Any, ...], Report] = {}
    for t in all_touches(touches.items):
        base = touches.elements[t.array].base if t.space == "shared" else state.logical.arrays[t.array].element.base
        width = width_of(base)
        if t.poly is None or width is None or t.index is None:
            continue
        elements = lane_elements(t.poly, block, touches, sizes[0])
        if elements is None:
            continue
        cost = passes_of(elements, width) if t.space == "shared" else sectors_of(elements, width)
        least = max(1, -(-len(set(elements)) * width // (128 if t.space == "shared" else 32)))
        accesses[t.array, t.index, t.kind] = {
            "array": t.array, "space": t.space, "line": t.loc.line, "kind": t.kind, "subscript": print_expr(t.index),
            "cost": cost, "least": least}
    return {
        "block": list(block),
        "proved": [{"array": a, "at_sizes": a in races.at_sizes} for a in races.proved],
        "races": [{"array": r.array, "threads": [list(t) for t in r.threads], "at": dict(r.at),
                   "lines": [r.first.loc.line, r.second.loc.line], "text": str(r)} for r in races.races],
        "unproved": [{"array": u.array, "reason": u.reason, "line": u.loc.line} for u in races.unproved],
        "barriers_not_uniform": [s.loc.line for s in barriers_not_uniform(kernel, known)],
        "accesses": list(accesses.values()),
    }


def lines_of(r: Report) -> list[str]:
    block = " x ".join(str(b) for b in r["block"])
    free = [p["array"] + (" (at these sizes)" if p["at_sizes"] else "") for p in r["proved"]]
    lines = [f"no two threads of a block of {block} meet between barriers in: {', '.join(free)}"] if free else []
    lines += [f"race: {x['text']}" for x in r["races"]]
    lines += [f"{u['array']}: not proved free of races: {u['reason']} (line {u['line']})" for u in r["unproved"]]
    lines += [f"line {n}: threads of a block may differ in whether they reach the barrier inside"
              for n in r["barriers_not_uniform"]]
    for a in r["accesses"]:
        one, more = ("pass", "passes") if a["space"] == "shared" else ("sector", "sectors")
        what = one if a["cost"] == 1 else more
        lines.append(f"line {a['line']}: {a['kind']} {a['subscript']}: {a['cost']} {what} a warp"
                     + (f", {a['least']} would do" if a["cost"] > a["least"] else ""))
    return lines
