"""Small sizes at which every candidate is checked with many kinds of data, derived from the workload.

Odd, prime and one-element extents find dropped tails and hidden divisibility assumptions (evaluator.md C11).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from genome.expressions import ExpressionError, Number, evaluate, names
from genome.program import Program
from genome.workload import Size, Workload

# Per number of extents; each row is one size, its values handed out in the order of the scalars.
_ROWS: dict[int, tuple[tuple[int, ...], ...]] = {
    1: ((1,), (37,), (1031,), (16411,)),
    2: ((1, 37), (67, 130), (130, 37), (259, 131)),
    3: ((1, 1, 1), (67, 130, 37), (37, 67, 130), (130, 37, 67)),
}
MOST_ELEMENTS = 2**20  # of all arrays of a small check together: each is compared many times over
# What to round up to when the declared assumptions ask for divisibility.
_MULTIPLES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def shape_scalars(workload: Workload) -> list[str]:
    """The size's own scalars that shapes depend on, directly or through computed scalars, in the size's order."""
    if not workload.tune:
        return []
    own = [name for name, _ in workload.tune[0].values]
    needed = {n for a in workload.arguments if a.shape is not None for n in names(a.shape)}
    computed = {a.name: names(a.value) for a in workload.arguments if a.value is not None}
    while True:
        more = {n for c in needed if c in computed and c not in own for n in computed[c]} - needed
        if not more:
            return [n for n in own if n in needed]
        needed |= more


def work(workload: Workload, size: Size) -> float:
    """A bound for the work at a size that needs no knowledge of the kernel: the product of the shapes' scalars."""
    values = size.as_dict()
    result = 1.0
    for name in shape_scalars(workload):
        result *= max(1.0, float(values[name]))
    return result


def small(workload: Workload, size: Size, limit: float) -> bool:
    """Whether a check at this size costs little, in work and in data."""
    return work(workload, size) <= limit and sum(
        workload.elements(a.name, size) for a in workload.arguments if a.is_array) <= MOST_ELEMENTS


def admissible(workload: Workload, program: Program, size: Size) -> bool:
    """Assumptions hold, shapes and the baseline's grids are positive."""
    try:
        scalars = workload.scalars(size)
        return (all(evaluate(text, scalars) for text in workload.assume)
                and all(workload.elements(a.name, size) > 0 for a in workload.arguments if a.is_array)
                and all(min(launch.grid_at(scalars)) > 0 for launch in program.launches))
    except ExpressionError:
        return False


def proxy_sizes(workload: Workload, program: Program, limit: float) -> tuple[Size, ...]:
    """Up to six sizes that are :func:`small` for ``limit``: the workload's own check sizes first."""
    chosen = [s for s in workload.check if small(workload, s, limit)][:2]
    scalars = shape_scalars(workload)
    if scalars:
        for row in _ROWS[min(len(scalars), 3)]:
            size = next((s for s in _shapes(workload, scalars, row)
                         if admissible(workload, program, s) and small(workload, s, limit)), None)
            if size is not None and size not in chosen:
                chosen.append(size)
    if not chosen:
        chosen = [s for s in sorted(workload.tune, key=lambda s: work(workload, s)) if small(workload, s, limit)][:1]
    return tuple(chosen)


def _shapes(workload: Workload, scalars: list[str], row: tuple[int, ...]) -> Iterator[Size]:
    """The row's size, then roundings of it to multiples, then equal extents, for workloads with assumptions."""
    base: dict[str, Number] = workload.tune[0].as_dict()
    for multiple in _MULTIPLES:
        values = [-(-v // multiple) * multiple for v, _ in zip(itertools.cycle(row), scalars, strict=False)]
        yield Size(tuple({**base, **dict(zip(scalars, values, strict=True))}.items()))
    for multiple in _MULTIPLES:
        value = -(-row[0] // multiple) * multiple
        yield Size(tuple({**base, **dict.fromkeys(scalars, value)}.items()))
