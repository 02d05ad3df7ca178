"""Are distinct logical points independent? No write of one may meet an access of another on the same element."""

from __future__ import annotations

from genome.errors import Refusal
from genome.logical import Access, LogicalKernel
from genome.poly import Poly, coord_symbol
from genome.prove import empty, sample


def _renamed(p: Poly, names: frozenset[str], suffix: str) -> Poly:
    return p.substitute({n: Poly.sym(n + suffix) for n in names})


def _private_symbols(logical: LogicalKernel) -> frozenset[str]:
    return logical.axis_symbols | frozenset(logical.loops)


def same_element(a: Access, b: Access, names: frozenset[str]) -> list[Poly] | None:
    """Equations that say that ``a`` at one point and ``b`` at another touch the same element; None: not expressible."""
    if a.poly is None or b.poly is None:
        return None
    if a.extents == b.extents and len(a.dims) > 1:
        return [_renamed(x, names, "'1") - _renamed(y, names, "'2") for x, y in zip(a.dims, b.dims, strict=True)]
    return [_renamed(a.poly, names, "'1") - _renamed(b.poly, names, "'2")]


def dependence_between_points(logical: LogicalKernel) -> Refusal | None:
    """A refusal with a witness, or one that says what could not be proved, or None: the points are independent."""
    names = _private_symbols(logical)
    for w in logical.accesses:
        if not w.write:
            continue
        for x in logical.accesses:
            if x.array != w.array:
                continue
            equal = same_element(w, x, names)
            if equal is None:
                return Refusal("points-not-proved-independent",
                               f"{w.array} is written and the subscript is not a polynomial of coordinates and loop "
                               "variables, so different threads might touch the same element", w.loc)
            system = [_renamed(f, names, "'1") for f in (*logical.facts, *w.facts)]
            system += [_renamed(f, names, "'2") for f in (*logical.facts, *x.facts)]
            for axis in logical.axes:
                p, q = (Poly.sym(coord_symbol(axis.name) + s) for s in ("'1", "'2"))
                for order in (p - q - Poly.const(1), q - p - Poly.const(1)):
                    if not empty([*system, order], equal):
                        return _refusal(logical, w, x, [*system, order], equal)
    return None


def _refusal(logical: LogicalKernel, w: Access, x: Access, system: list[Poly], equal: list[Poly]) -> Refusal:
    witness = sample(system, equal) if all(e.is_affine for e in equal) else None  # else products hide the truth
    kind = "writes" if x.write else "reads"
    if witness is None:
        return Refusal("points-not-proved-independent",
                       f"not proved that no other thread {kind} the element of {w.array} that a thread writes", w.loc)
    points = []
    for s in ("'1", "'2"):
        points.append("(" + ", ".join(f"{a.name}={witness.get(coord_symbol(a.name) + s, 0)}"
                                      for a in logical.axes) + ")")
    return Refusal("points-depend-on-each-other",
                   f"point {points[0]} writes an element of {w.array} that point {points[1]} {kind} "
                   f"(line {x.loc.line})", w.loc)
