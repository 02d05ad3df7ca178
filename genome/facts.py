"""What guards and loop bounds tell: conditions of the source as affine facts ``p >= 0``.

C's conversions decide what a comparison means: ``x - 1 < n`` in unsigned arithmetic is false at ``x == 0``, and
``n - x >= 0`` is always true. A comparison in an unsigned type is used only when both sides are proved
non-negative, for then the modular value is the mathematical one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from genome import ir
from genome.poly import INTEGER_BASES, Poly, from_expr
from genome.prove import implies
from genome.walk import walk

Resolve = Callable[[str], Poly | None]


def integer_type(e: ir.Expr, types: Mapping[str, ir.CType]) -> tuple[int, bool] | None:
    """(bits, signed) of an integer expression after C's promotions and conversions; None when it is none."""
    match e:
        case ir.IntLit(value=v, suffix=s):
            bits = 64 if "l" in s.lower() or v >= 2**32 or (v >= 2**31 and "u" not in s.lower()) else 32
            return bits, "u" not in s.lower()
        case ir.Var(name=n):
            t = types.get(n)
            if t is None or t.pointer or t.base not in INTEGER_BASES:
                return None
            return _promote(INTEGER_BASES[t.base])
        case ir.Coord() | ir.Builtin():
            return 32, False
        case ir.Cast(type=t):
            return None if t.pointer or t.base not in INTEGER_BASES else _promote(INTEGER_BASES[t.base])
        case ir.Un(op=op, operand=o) if op in ("-", "+", "~"):
            return integer_type(o, types)
        case ir.Bin(op=op, left=left, right=right) if op in ("+", "-", "*", "/", "%", "&", "|", "^"):
            a, b = integer_type(left, types), integer_type(right, types)
            return None if a is None or b is None else _convert(a, b)
        case ir.Bin(op=op, left=left) if op in ("<<", ">>"):
            return integer_type(left, types)
        case ir.Bin() | ir.Un(op="!"):
            return 32, True
        case ir.Ternary(then=a_, other=b_):
            a, b = integer_type(a_, types), integer_type(b_, types)
            return None if a is None or b is None else _convert(a, b)
    return None


def _promote(t: tuple[int, bool]) -> tuple[int, bool]:
    return (32, True) if t[0] < 32 else t


def _convert(a: tuple[int, bool], b: tuple[int, bool]) -> tuple[int, bool]:
    if a[0] != b[0]:
        return max(a, b)
    return a[0], a[1] and b[1]


def conjuncts(e: ir.Expr) -> tuple[ir.Expr, ...]:
    """The operands of a chain of ``&&``, in order."""
    if isinstance(e, ir.Bin) and e.op == "&&":
        return conjuncts(e.left) + conjuncts(e.right)
    return (e,)


def negate(e: ir.Expr) -> ir.Expr:
    """The logical negation, pushed through ``&&``, ``||`` and integer comparisons is the caller's business: only
    ``&&``, ``||`` and ``!`` are opened here, so that floating-point comparisons keep their meaning with NaN."""
    match e:
        case ir.Un(op="!", operand=o):
            return o
        case ir.Bin(op="||", left=left, right=right):
            return ir.Bin("&&", negate(left), negate(right), e.loc)
        case ir.Bin(op="&&", left=left, right=right):
            return ir.Bin("||", negate(left), negate(right), e.loc)
    return ir.Un("!", e, getattr(e, "loc", ir.NOWHERE))


FLIP = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def condition_facts(
    cond: ir.Expr, known: tuple[Poly, ...], resolve: Resolve, types: Mapping[str, ir.CType]
) -> tuple[Poly, ...]:
    """Affine consequences of ``cond`` being true, given ``known`` facts. What is not understood adds nothing."""
    facts: tuple[Poly, ...] = ()
    for c in conjuncts(cond):
        facts += _comparison(c, known + facts, resolve, types)
    return facts


def _comparison(
    c: ir.Expr, known: tuple[Poly, ...], resolve: Resolve, types: Mapping[str, ir.CType]
) -> tuple[Poly, ...]:
    if isinstance(c, ir.Un) and c.op == "!":
        inner = c.operand
        if isinstance(inner, ir.Bin) and inner.op == "||":
            return condition_facts(negate(inner), known, resolve, types)
        if isinstance(inner, ir.Bin) and inner.op in FLIP and _both_integers(inner, types):
            c = ir.Bin(FLIP[inner.op], inner.left, inner.right)
        else:
            return ()
    if not (isinstance(c, ir.Bin) and c.op in ("<", "<=", ">", ">=", "==")):
        return ()
    a, b = from_expr(c.left, resolve), from_expr(c.right, resolve)
    ta, tb = integer_type(c.left, types), integer_type(c.right, types)
    if a is None or b is None or ta is None or tb is None:
        return ()
    if not all(_widening_is_exact(side, known, resolve, types) for side in (c.left, c.right, c)):
        return ()
    for poly, t in ((a, ta), (b, tb)):
        if not (t[1] and _convert(ta, tb)[1]) and not implies(known, poly):
            return ()
    one = Poly.const(1)
    return {"<": (b - a - one,), "<=": (b - a,), ">": (a - b - one,), ">=": (a - b,), "==": (a - b, b - a)}[c.op]


def _widening_is_exact(
    e: ir.Expr, known: tuple[Poly, ...], resolve: Resolve, types: Mapping[str, ir.CType]
) -> bool:
    """No unsigned value is converted to a wider type unless it is proved non-negative as an integer:
    ``(long long)(u - w)`` is about 2^32 where ``u < w``."""
    for n in walk(e):
        match n:
            case ir.Cast(operand=o):
                parts, to = [o], integer_type(n, types)
            case ir.Bin(op=op, left=left, right=right) if op not in ("<<", ">>", "&&", "||", ","):
                parts = [left, right]
                a, b = integer_type(left, types), integer_type(right, types)
                to = None if a is None or b is None else _convert(a, b)
            case _:
                continue
        for part in parts:
            t = integer_type(part, types)
            if t is None or to is None or t[1] or t[0] >= to[0]:
                continue
            poly = from_expr(part, resolve)
            if poly is None or not implies(known, poly):
                return False
    return True


def _both_integers(c: ir.Bin, types: Mapping[str, ir.CType]) -> bool:
    return integer_type(c.left, types) is not None and integer_type(c.right, types) is not None


def loop_facts(
    loop: ir.For, known: tuple[Poly, ...], resolve: Resolve, types: Mapping[str, ir.CType]
) -> tuple[Poly, ...]:
    """Bounds of a canonical loop's variable inside its body, for a constant step."""
    if not (isinstance(loop.step, ir.IntLit) and loop.step.value != 0):
        return ()
    lo = from_expr(loop.lo, resolve)
    v = resolve(loop.var)
    if v is None:
        return ()
    facts: tuple[Poly, ...] = ()
    if lo is not None:
        # The variable starts at lo and moves away from it. Signed counters do not wrap in a valid program; an unsigned
        # one may, unless it goes up by one to a bound, and its start may wrap on conversion.
        tv = types.get(loop.var)
        signed = tv is not None and tv.base in INTEGER_BASES and INTEGER_BASES[tv.base][1]
        if signed:
            facts += (v - lo,) if loop.step.value > 0 else (lo - v,)
        elif loop.step.value == 1 and loop.cmp == "<" and implies(known, lo):
            facts += (v - lo,)
        else:
            facts += (v,)
    return facts + condition_facts(ir.Bin(loop.cmp, ir.Var(loop.var), loop.hi), known + facts, resolve, types)
