"""Checks that several mutators share. Each raises one named refusal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from genome import ir
from genome.errors import Refusal
from genome.gene import ParamValue
from genome.logical import LogicalKernel, LoopInfo
from genome.scheduled import Scheduled
from genome.walk import walk
from genome.workload import Exactness


def loop_at(logical: LogicalKernel, label: str) -> LoopInfo:
    info = logical.loops.get(label)
    if info is None:
        known = ", ".join(logical.loops) or "none"
        raise Refusal("no-such-loop", f"there is no canonical loop '{label}' (loops: {known})")
    return info


def only_site(site: str, name: str) -> None:
    """For mutators with one site."""
    if site != name:
        raise Refusal("no-such-site", f"there is no site '{site}': this transform has the one site '{name}'")


def integer(params: Mapping[str, ParamValue], name: str, low: int, high: int) -> int:
    value = params.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise Refusal("bad-parameter", f"{name} = {value!r} is not an integer from {low} to {high}")
    return value


def choice(params: Mapping[str, ParamValue], name: str, allowed: Sequence[ParamValue]) -> ParamValue:
    value = params.get(name)
    if value is None or not any(value == a and type(value) is type(a) for a in allowed):  # 2.0 is no integer
        raise Refusal("bad-parameter", f"{name} = {value!r} is none of {', '.join(map(repr, allowed))}")
    return value


def not_in_opaque(loop: ir.For) -> None:
    """The loop's variable must not occur in text that is not understood: it could not be replaced there."""
    for n in walk(loop.body):
        if isinstance(n, (ir.Opaque, ir.OpaqueExpr)) and loop.var in n.reads | n.writes:
            raise Refusal("loop-variable-in-opaque-code", f"{loop.var} is used in code that is not understood", n.loc)


def unit_step(loop: ir.For, code: str) -> None:
    if not (isinstance(loop.step, ir.IntLit) and loop.step.value == 1 and loop.cmp in ("<", "<=")):
        raise Refusal(code, f"loop {loop.label} does not count up by one to a bound", loop.loc)
    if loop.type is None:
        raise Refusal("loop-variable-outlives-loop", f"{loop.var} is declared before its loop", loop.loc)


def simple_bounds(logical: LogicalKernel, loop: ir.For, code: str) -> None:
    """Bounds that may be written, and so evaluated, more than once."""
    for e in (loop.lo, loop.hi):
        for n in walk(e):
            if isinstance(n, (ir.Index, ir.Call, ir.OpaqueExpr, ir.AssignExpr, ir.IncDec)) or (
                    isinstance(n, ir.Un) and n.op in ("*", "&")):
                raise Refusal(code, f"a bound of loop {loop.label} is more than arithmetic on scalars", loop.loc)


def reassociation_allowed(state: Scheduled, what: str) -> None:
    if state.workload.exactness < Exactness.REASSOCIATES:
        raise Refusal("needs-reassociation", f"{what} changes the order of floating-point operations, and the problem "
                      "asks for exact results")
