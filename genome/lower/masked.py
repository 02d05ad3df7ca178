"""What may be evaluated for points that the kernel's guards mask: nothing that traps, reads out of bounds or never
ends. Loads are another matter: each gets the guard that it needs."""

from __future__ import annotations

import re

from genome import ir
from genome.facts import integer_type
from genome.footprint import uniform
from genome.logical import LogicalKernel
from genome.poly import INTEGER_BASES, Poly, from_expr, is_integer
from genome.prove import implies
from genome.walk import walk

VECTOR = re.compile(r"(?:u?(?:char|short|int|long|longlong)|float|double)([1-4])")


def speculable(logical: LogicalKernel, value: object) -> bool:
    """Whether evaluating it has no effect and cannot trap, its loads from arrays left out."""
    for n in walk(value):
        match n:
            case ir.Bin(op="/" | "%") if not is_floating(logical, n):
                if not _divisor_is_positive(logical, n.right):
                    return False
            case ir.Call(func=f) if f not in logical.pure:
                return False
            case ir.IncDec() | ir.AssignExpr() | ir.OpaqueExpr():
                return False
            case ir.Un(op="*"):
                return False
            case ir.Index(base=ir.Var(name=b), subs=subs) if b not in logical.arrays:
                # A private array's subscript must stay inside it for masked points too.
                if not all(isinstance(x, ir.IntLit) or (isinstance(x, ir.Var) and x.name in logical.loops)
                           for x in subs):
                    return False
    return True


def assignment_is_speculable(logical: LogicalKernel, s: ir.Assign) -> bool:
    if s.op in ("/=", "%=") and not speculable(logical, ir.Bin(s.op[0], s.target, s.value)):
        return False
    return speculable(logical, s.value)


def _divisor_is_positive(logical: LogicalKernel, divisor: ir.Expr) -> bool:
    if isinstance(divisor, ir.IntLit):
        return divisor.value > 0
    p = from_expr(divisor, logical.resolve)
    return p is not None and implies(logical.facts, p - Poly.const(1))


def is_floating(logical: LogicalKernel, e: ir.Bin) -> bool:
    """A division is floating-point when an operand evidently is; otherwise it is taken for an integer one."""
    def floating(n: ir.Expr) -> bool:
        match n:
            case ir.FloatLit():
                return True
            case ir.Var(name=name):
                t = logical.types.get(name)
                return t is not None and not t.pointer and t.base in ("float", "double")
            case ir.Index(base=ir.Var(name=name)):
                t = logical.types.get(name)
                return t is not None and t.base in ("float", "double")
            case ir.Cast(type=t2):
                return t2.base in ("float", "double")
            case ir.Call(func=f):
                return f.endswith("f") and f in logical.pure
            case ir.Bin(op=op, left=a, right=b) if op in ("+", "-", "*", "/"):
                return floating(a) or floating(b)
            case ir.Un(operand=o):
                return floating(o)
        return False

    return floating(e.left) or floating(e.right)


def bounded_trips(logical: LogicalKernel, loop: ir.For) -> bool:
    """Whether the loop ends soon for masked points as well: bounds that all threads of a block share, or sums of
    coordinates, parameters and loop variables that mean the same in C as in mathematics. ``k < n - x`` in unsigned
    arithmetic runs four thousand million times where x passes n; a variable may hold anything there."""
    return all(speculable(logical, e) and (uniform(logical, e) or _mathematical(logical, e))
               for e in (loop.lo, loop.hi, loop.step))


def zero_of(t: ir.CType) -> ir.Expr | None:
    """What a masked load of this type gives instead; None for a type that has no zero one could write."""
    if t.pointer == 0 and (t.base in INTEGER_BASES or t.base in ("float", "double", "uint8_t", "int8_t", "uint16_t",
                                                                "int16_t")):
        return ir.IntLit(0)
    lanes = VECTOR.fullmatch(t.base)
    if t.pointer == 0 and lanes:
        return ir.Call(f"make_{t.base}", (ir.IntLit(0),) * int(lanes[1]))
    return None


def loads_have_zeros(logical: LogicalKernel, node: object) -> bool:
    """Whether every load below could be guarded."""
    return all(zero_of(logical.arrays[n.base.name].element) is not None for n in walk(node)
               if isinstance(n, ir.Index) and isinstance(n.base, ir.Var) and n.base.name in logical.arrays)


def takes_zeros(logical: LogicalKernel, name: str) -> bool:
    """Whether adding zero leaves a private sum as it is: it is an integer, or never -0, which +0 would turn into +0
    (and a reciprocal would show). In rounding to nearest a sum that starts with anything else never becomes -0."""
    t = logical.types.get(name)
    if t is not None and is_integer(t):
        return True
    target = ir.Var(name)
    for n in walk(logical.body):
        match n:
            case ir.Decl(name=other, init=value) if other == name and value is not None:
                if not _literal_not_minus_zero(value):
                    return False
            case ir.Assign(target=lhs, op="=", value=value) if lhs == target:
                added = isinstance(value, ir.Bin) and value.op == "+" and value.left == target
                fused = isinstance(value, ir.Call) and value.func in ("fma", "fmaf") and value.args[-1:] == (target,)
                if not (added or fused or _literal_not_minus_zero(value)):
                    return False
            case ir.Assign(target=lhs, op=op) if lhs == target and op not in ("+=", "-="):
                return False
            case ir.AssignExpr(target=lhs) if lhs == target:
                return False
    return True


def _literal_not_minus_zero(e: ir.Expr) -> bool:
    if isinstance(e, ir.Cast):
        return _literal_not_minus_zero(e.operand)
    if isinstance(e, ir.Un) and e.op == "-":
        return isinstance(e.operand, (ir.IntLit, ir.FloatLit)) and (
            isinstance(e.operand, ir.IntLit) or float(e.operand.text.rstrip("fF")) != 0)
    return isinstance(e, (ir.IntLit, ir.FloatLit))


def _mathematical(logical: LogicalKernel, e: ir.Expr) -> bool:
    for n in walk(e):
        if isinstance(n, (ir.Var, ir.Coord, ir.Bin, ir.Un, ir.Cast, ir.IntLit)):
            p, t = from_expr(n, logical.resolve), integer_type(n, logical.types)
            if p is None or t is None or not (t[1] or implies(logical.facts, p)):
                return False
        else:
            return False
    return True


__all__ = ["assignment_is_speculable", "bounded_trips", "is_floating", "loads_have_zeros", "speculable", "takes_zeros",
           "zero_of"]
