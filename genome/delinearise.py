"""Flat subscripts back to one subscript per declared extent: ``A[i*K + k]`` is ``A[i][k]`` when ``0 <= k < K``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from genome.poly import Poly
from genome.prove import implies


def _splits(factors: Sequence[Poly]) -> Iterator[tuple[Poly, ...]]:
    """Candidate extents, most dimensions first: the factors in any order, then neighbours merged. The declared order
    comes first; users write ``NX*NY*NZ`` for an array that they index ``(z*NY + y)*NX + x``."""
    n = len(factors)
    orders = list(itertools.permutations(factors)) if n <= 4 else [tuple(factors)]
    for parts in range(n, 1, -1):
        for order in orders:
            for cuts in itertools.combinations(range(1, n), parts - 1):
                bounds = [0, *cuts, n]
                yield tuple(_product(order[a:b]) for a, b in itertools.pairwise(bounds))


def _product(factors: Sequence[Poly]) -> Poly:
    out = Poly.const(1)
    for f in factors:
        out = out * f
    return out


def _divide(p: Poly, stride: Poly) -> tuple[Poly, Poly] | None:
    if stride.is_constant:
        s = stride.constant
        if s <= 0:
            return None
        quotient = Poly.of({m: c // s for m, c in p.terms if c % s == 0})
        return quotient, p - quotient * stride
    return p.divide(stride)


def delinearise(
    flat: Poly, factors: Sequence[Poly], facts: tuple[Poly, ...]
) -> tuple[tuple[Poly, ...], tuple[Poly, ...], bool]:
    """(subscripts, extents, in bounds). Every subscript but the first is proved to be in [0, extent), which makes the
    split unique; ``in bounds`` tells whether the first is too. Falls back to the flat subscript."""
    for extents in _splits(factors):
        subs: list[Poly] = []
        rest: Poly | None = flat
        for d in range(len(extents) - 1):
            cut = _divide(rest, _product(extents[d + 1 :])) if rest is not None else None
            if cut is None:
                rest = None
                break
            subs.append(cut[0])
            rest = cut[1]
        if rest is None:
            continue
        subs.append(rest)
        if all(_within(s, e, facts) for s, e in zip(subs[1:], extents[1:], strict=True)):
            return tuple(subs), extents, _within(subs[0], extents[0], facts)
    total = _product(factors)
    return (flat,), (total,), _within(flat, total, facts)


def _within(sub: Poly, extent: Poly, facts: tuple[Poly, ...]) -> bool:
    return implies(facts, sub) and implies(facts, extent - sub - Poly.const(1))
