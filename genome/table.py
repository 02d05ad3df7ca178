"""Dispatch tables: one program of several versions of a kernel, each chosen for the sizes it is best at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from genome import ir
from genome.express import STATIC_SHARED, emit, lowered
from genome.program import Launch, Program
from genome.scheduled import Scheduled
from genome.workload import Size


def table(baseline: Scheduled, versions: Sequence[tuple[Scheduled, Sequence[Size]]], language: str) -> Program:
    """Versions in order, the baseline last. A version runs where one of its sizes is the nearest in ratio (the product
    over the scalars of the larger over the smaller) and its own preconditions hold; where they do not, the baseline.

    Conditions on pointers (``disjoint``) and those that all versions share are the table's own."""
    programs = [emit(state, language) for state, _ in versions]
    shared = set(programs[0].preconditions).intersection(*(p.preconditions for p in programs[1:]))
    own = [tuple(c for c in p.preconditions if c not in shared and not c.startswith("disjoint")) for p in programs]
    common = tuple(dict.fromkeys(c for p in programs for c in p.preconditions
                                 if c in shared or c.startswith("disjoint")))
    varying = _varying([size for _, sizes in versions for size in sizes])
    near = [_nearest(sizes, varying) for _, sizes in versions]
    select = str(len(versions))
    for i in reversed(range(len(versions))):
        others = [n for k, n in enumerate(near) if k != i]
        tests = [f"{near[i]} <= {_least(others)}"] if others else []
        tests += [f"({c})" for c in own[i]]
        select = f"{i} if {' and '.join(tests)} else ({select})" if tests else str(i)
    kernels, launches = [], []
    for i, (state, _) in enumerate((*versions, (baseline, ()))):
        for kernel, launch in _kernels(state, language):
            name = f"{kernel.name}_v{i}" if i < len(versions) else f"{kernel.name}_baseline"
            kernels.append(replace(kernel, name=name))
            launches.append(replace(launch, kernel=name, version=i))
    unit = baseline.unit
    source = unit.cuda(*kernels) if language == "cuda" else unit.opencl(*kernels)
    return Program(source, tuple(launches), language, common, select)


def _kernels(state: Scheduled, language: str) -> list[tuple[ir.Kernel, Launch]]:
    if not state.edited:
        return [(state.unit.kernel, state.launch)]
    return lowered(state, STATIC_SHARED[language])


def _varying(sizes: Sequence[Size]) -> tuple[str, ...]:
    """The scalars that tell the sizes apart."""
    return tuple(n for n, _ in sizes[0].values if len({s.as_dict().get(n) for s in sizes}) > 1)


def _nearest(sizes: Sequence[Size], varying: tuple[str, ...]) -> str:
    return _least([_ratio(s, varying) for s in sizes])


def _ratio(size: Size, varying: tuple[str, ...]) -> str:
    parts = []
    for name, value in size.values:
        if name not in varying:
            continue
        if value > 0:
            parts.append(f"max(1.0*max({name}, 1)/{value}, {float(value)!r}/max({name}, 1))")
        else:
            parts.append(f"(1.0 + abs({name} - {value}))")
    return "*".join(parts) or "1.0"


def _least(texts: Sequence[str]) -> str:
    out = texts[0]
    for t in texts[1:]:
        out = f"min({out}, {t})"
    return out
