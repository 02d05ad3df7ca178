"""Proofs over integers with isl: is a system of affine (in)equalities empty?

Products of symbols are opaque to isl: a monomial of two symbols or more becomes one symbol of its own, which only
weakens what is known, so a proof stays a proof. "Not proved" is never "false".
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import islpy as isl

from genome.poly import Poly

MAX_OPERATIONS = 400_000


class NotProved(Exception):
    """isl gave up within its operation limit."""


@lru_cache(maxsize=20_000)
def _empty(nonnegative: tuple[Poly, ...], zero: tuple[Poly, ...]) -> bool:
    names: dict[tuple[str, ...], str] = {}
    for p in nonnegative + zero:
        for m, _ in p.terms:
            if m:
                names.setdefault(m, f"v{len(names)}")
    ctx = isl.Context()
    space = isl.Space.create_from_names(ctx, set=list(names.values()))
    result = isl.BasicSet.universe(space)
    try:
        ctx.set_max_operations(MAX_OPERATIONS)
        for group, equal in ((nonnegative, False), (zero, True)):
            for p in group:
                coefficients: dict[Any, int] = {1: 0}
                for m, c in p.terms:
                    key: str | int = names[m] if m else 1
                    coefficients[key] = coefficients.get(key, 0) + c
                make = isl.Constraint.eq_from_names if equal else isl.Constraint.ineq_from_names
                result = result.add_constraint(make(space, coefficients))
        return bool(result.is_empty())
    except (isl.Error, TypeError) as e:  # islpy hands a null object on as TypeError when the limit is reached
        raise NotProved(str(e)) from e


def empty(nonnegative: Iterable[Poly], zero: Iterable[Poly] = ()) -> bool:
    """Whether no integer point satisfies ``p >= 0`` for all of ``nonnegative`` and ``p == 0`` for all of ``zero``.
    False also when isl gives up."""
    try:
        return _empty(tuple(sorted(set(nonnegative), key=lambda p: p.terms)),
                      tuple(sorted(set(zero), key=lambda p: p.terms)))
    except NotProved:
        return False


def implies(facts: Iterable[Poly], goal: Poly) -> bool:
    """Whether ``f >= 0`` for all facts proves ``goal >= 0`` over the integers."""
    if goal.is_constant:
        return goal.constant >= 0
    negated = -goal - Poly.const(1)
    return empty([*facts, negated])


def sample(nonnegative: Iterable[Poly], zero: Iterable[Poly] = ()) -> dict[str, int] | None:
    """A point of the system as a witness, or None when there is none or isl gives up."""
    system, equal = list(nonnegative), list(zero)
    symbols = sorted({m for p in system + equal for m, _ in p.terms if m})
    names = {m: f"v{i}" for i, m in enumerate(symbols)}
    ctx = isl.Context()
    space = isl.Space.create_from_names(ctx, set=list(names.values()))
    s = isl.BasicSet.universe(space)
    try:
        ctx.set_max_operations(MAX_OPERATIONS)
        for group, is_eq in ((system, False), (equal, True)):
            for p in group:
                coefficients: dict[Any, int] = {1: 0}
                for m, c in p.terms:
                    key: str | int = names[m] if m else 1
                    coefficients[key] = coefficients.get(key, 0) + c
                make = isl.Constraint.eq_from_names if is_eq else isl.Constraint.ineq_from_names
                s = s.add_constraint(make(space, coefficients))
        if s.is_empty():
            return None
        point = s.sample_point()
        return {"*".join(m): int(point.get_coordinate_val(isl.dim_type.set, i).to_python())
                for i, m in enumerate(symbols)}
    except (isl.Error, TypeError):
        return None
