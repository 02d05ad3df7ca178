"""Static counts at a concrete size: trip counts, floating-point operations, compulsory bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping

from genome import ir
from genome.expressions import Number, evaluate
from genome.footprint import ELEMENT_BYTES
from genome.logical import LogicalKernel
from genome.poly import Poly, from_expr
from genome.walk import children, walk
from genome.workload import Size, Workload

UNKNOWN_TRIPS = 8.0  # what a loop counts for whose bounds depend on data
TRANSCENDENTAL = 8.0  # FLOP that a call of exp, log, … counts for


def value(p: Poly, at: Mapping[str, Number]) -> float | None:
    """The polynomial at a point; None when a symbol has no value there."""
    total = 0.0
    for m, c in p.terms:
        term = float(c)
        for s in m:
            v = at.get(s.removeprefix("$"))
            if v is None:
                return None
            term *= v
        total += term
    return total


def trips(logical: LogicalKernel, label: str, scalars: Mapping[str, Number]) -> float:
    """Iterations of a canonical loop, enclosing loops at their start."""
    node = logical.loops[label].node
    lo, hi = from_expr(node.lo, logical.resolve), from_expr(node.hi, logical.resolve)
    step = node.step.value if isinstance(node.step, ir.IntLit) else 1
    if lo is None or hi is None or step == 0:
        return UNKNOWN_TRIPS
    at = {**scalars, **dict.fromkeys(logical.axis_symbols, 0), **dict.fromkeys(logical.loops, 0)}
    a, b = value(lo, at), value(hi, at)
    if a is None or b is None:
        return UNKNOWN_TRIPS
    n = math.floor((b - a) / step) + 1 if node.cmp in ("<=", ">=") else math.ceil((b - a) / step)
    return float(max(n, 0))


def executions(logical: LogicalKernel, loops: tuple[str, ...], scalars: Mapping[str, Number]) -> float:
    """How often a statement under these loops runs for one point."""
    n = 1.0
    for label in loops:
        n *= trips(logical, label, scalars)
    return n


def flops_per_point(logical: LogicalKernel, scalars: Mapping[str, Number]) -> float:
    """Floating-point operations of one point: arithmetic one each, calls of transcendental functions eight."""
    return _flops(logical, logical.body, scalars)


def _flops(logical: LogicalKernel, node: object, scalars: Mapping[str, Number]) -> float:
    if isinstance(node, tuple):
        return sum(_flops(logical, n, scalars) for n in node)
    if isinstance(node, ir.For):
        return trips(logical, node.label, scalars) * _flops(logical, node.body, scalars)
    if isinstance(node, ir.Loop):
        return UNKNOWN_TRIPS * _flops(logical, node.body, scalars)
    own = 0.0
    match node:
        case ir.Assign(target=t, op=op) if op in ("+=", "-=", "*=", "/=") and _floating(logical, t):
            own = 1.0
        case ir.Bin(op=op) if op in ("+", "-", "*", "/") and _floating(logical, node):
            own = 1.0
        case ir.Call(func=f):
            own = 2.0 if f in ("fmaf", "fma") else 1.0 if f in ("fmaxf", "fminf", "fabsf") else TRANSCENDENTAL
    if isinstance(node, ir.Index):
        return 0.0  # subscripts are integer arithmetic
    return own + sum(_flops(logical, c, scalars) for c in children(node))


def _floating(logical: LogicalKernel, e: object) -> bool:
    for n in walk(e):
        match n:
            case ir.FloatLit():
                return True
            case ir.Var(name=name):
                t = logical.types.get(name)
                if t is not None and t.base in ("float", "double", "float2", "float4", "half"):
                    return True
    return False


def points(logical: LogicalKernel, scalars: Mapping[str, Number]) -> float:
    n = 1.0
    for a in logical.axes:
        n *= float(evaluate(a.text, scalars))
    return n


def compulsory_bytes(logical: LogicalKernel, workload: Workload, size: Size) -> float:
    """Each array that is read once, each that is written once."""
    total = 0.0
    for name, array in logical.arrays.items():
        try:
            n = workload.elements(name, size)
        except KeyError:
            continue
        width = ELEMENT_BYTES.get(array.element.base, 4)
        total += n * width * (int(array.read) + int(array.written))
    return total


def flops(logical: LogicalKernel, workload: Workload, size: Size) -> float:
    """All floating-point operations of a launch at a size, masked points left out."""
    scalars = workload.scalars(size)
    return points(logical, scalars) * flops_per_point(logical, scalars)
