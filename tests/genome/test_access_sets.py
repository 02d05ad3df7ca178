"""Access maps against what kernels do: the elements predicted for each access are those that an instrumented run on
the OpenCL device touches. Where a condition is not understood, the prediction may be too large, never too small."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import _data
from benchmarks._device import OpenCl, step
from benchmarks._sizes import cost
from benchmarks._sizes import sizes as awkward_sizes
from evo.problem import load_problem
from genome.errors import Refusal
from genome.program import Launch
from genome.scheduled import Scheduled, schedule_kernel
from genome.workload import Argument, Size, Workload
from tests.corpus.tools import load
from tests.genome.test_printer_opencl import DTYPES, RUNS
from tests.helpers.points import MARKS, instrument, predict, sites, subscripts

ROOT = Path(__file__).resolve().parents[2]
PROBLEMS = sorted(p for folder in ("examples/*/evo.toml", "tests/adversarial/*.toml") for p in ROOT.glob(folder))
NAMES = [p.stem if p.stem != "evo" else p.parent.name for p in PROBLEMS]
QUICK = {"sgemm", "conv2d", "stencil7", "triangular", "steps", "mirrored", "early_returns", "border_ternary",
         "walking_pointers", "reversed_loops", "unsigned_coordinate", "shrinking_guards", "indirect", "offset_bounds"}
CORPUS = sorted(set(RUNS) - {"dynamic_shared", "structs", "comparisons", "kernel_names", "namespaced"})
QUICK_CORPUS = {"early_return", "three_d", "pointer_walk", "negative_steps", "flat_index"}


@cache
def device() -> OpenCl:
    pytest.importorskip("pyopencl")
    return OpenCl()


def corpus_state(name: str) -> tuple[Scheduled, Size]:
    """A kernel of the corpus with arrays of 4096 elements, launched as the tests of the printer do."""
    unit = load(name)
    (work, local), given = RUNS[name]
    values = iter(given)
    arguments, scalars = [], []
    for p in unit.kernel.params:
        dtype = np.dtype(DTYPES.get(p.type.base, np.float32)).name
        if p.type.pointer:
            elements = "4096" if not p.type.base[-1].isdigit() or p.type.base.startswith("u") else "1024"
            arguments.append(Argument(p.name, dtype, elements, "inout", "integers:0:50"))
        else:
            arguments.append(Argument(p.name, dtype, value=p.name))
            scalars.append((p.name, next(values)))
    size = Size(tuple(scalars))
    grid = [str(g // b) for g, b in zip(work, local, strict=True)] + ["1", "1"]
    block = [*local, 1, 1]
    launch = Launch(unit.kernel.name, (grid[0], grid[1], grid[2]), (block[0], block[1], block[2]))
    return schedule_kernel(unit, Workload(tuple(arguments), (size,)), launch), size


def compare(state: Scheduled, size: Size) -> Counter[str]:
    """Runs the instrumented kernel and compares site by site; counts what was compared how."""
    logical, workload = state.logical, state.workload
    scalars = workload.scalars(size)
    most = max(workload.elements(a.name, size) for a in workload.arguments if a.is_array)
    marked = instrument(logical, most + 1)
    source = state.unit.opencl(marked.kernel, contract=False)
    arrays = _data.arrays(workload, size, "integers", 3)
    base = step(workload, state.launch, scalars, arrays, _data.scalars(workload, size))
    marks = np.zeros(max(1, len(marked.sites)) * marked.size, np.int32)
    run = type(base)(marked.kernel.name, base.grid, base.block, base.shared_bytes, (*base.arguments, (MARKS, marks)))
    got = device().run(device().build(source), run)
    plain = device().run(device().build(state.unit.opencl(contract=False)), base)
    for name, values in plain.items():
        assert got[name].tobytes() == values.tobytes(), f"marking changed {name}"
    seen: Counter[str] = Counter()
    launched = dict(zip("xyz", (g * b for g, b in zip(base.grid, base.block, strict=True)), strict=True))
    for i, site in enumerate(marked.sites):
        observed = marked.observed(got[MARKS], i)
        predicted = predict(logical, site, launched, scalars)
        where = f"{site.array} in line {site.accesses[0].loc.line} at {size}"
        if predicted is None:
            seen["not affine"] += 1
            continue
        assert observed <= predicted.elements, f"{where}: touched, not predicted: {observed - predicted.elements}"
        if predicted.exact:
            assert observed == predicted.elements, f"{where}: predicted, not touched: {predicted.elements - observed}"
        seen["exact" if predicted.exact else "too large at most"] += 1
        for a in site.accesses:
            check_dimensions(state, a, launched, scalars)
    return seen


def check_dimensions(state: Scheduled, a: Any, launched: dict[str, int], scalars: dict[str, Any]) -> None:
    """The subscripts per dimension are inside their extents wherever the access is made, and give the flat one."""
    found = subscripts(state.logical, a, launched, scalars)
    if found is None or len(a.dims) < 2:
        return
    dims, extents = found
    for d, extent in zip(dims[1:], extents[1:], strict=True):
        assert not d.size or (d.min() >= 0 and d.max() < extent)
    if a.in_bounds and dims[0].size:
        assert dims[0].min() >= 0 and dims[0].max() < extents[0]


def marked_slow(names: list[str], quick: set[str]) -> list[Any]:
    return [pytest.param(n, marks=[] if n in quick else pytest.mark.slow) for n in names]


@cache
def problem_counts(name: str) -> Counter[str]:
    try:
        problem = load_problem(PROBLEMS[NAMES.index(name)], "opencl")
        state = schedule_kernel(problem.unit, problem.workload, problem.launch)
        small = sorted(awkward_sizes(state, state), key=lambda s: cost(state, s))[:2]
        return sum((compare(state, s) for s in small), Counter())
    except Refusal as r:
        assert r.code == "opencl-untranslatable"
        pytest.skip(str(r))


@pytest.mark.parametrize("name", marked_slow(NAMES, QUICK))
def test_problems_touch_what_is_predicted(name: str) -> None:
    assert sum(problem_counts(name).values()) > 0 or name == "global_variable"


@pytest.mark.parametrize("name", marked_slow(CORPUS, QUICK_CORPUS))
def test_the_corpus_touches_what_is_predicted(name: str) -> None:
    compare(*corpus_state(name))


def test_most_accesses_are_predicted_exactly() -> None:
    total = sum((problem_counts(n) for n in sorted(QUICK)), Counter())
    assert total["exact"] >= 60 and total["exact"] > 2 * (total["not affine"] + total["too large at most"]), total


def test_the_comparison_sees_a_wrong_bound() -> None:
    """A prediction for one more row of threads than the kernel's guard lets through differs from what is touched."""
    problem = load_problem(ROOT / "examples" / "transpose", "opencl")
    state = schedule_kernel(problem.unit, problem.workload, problem.launch)
    size = min(awkward_sizes(state, state), key=lambda s: cost(state, s))
    scalars = state.workload.scalars(size)
    site = sites(state.logical)[0]
    grid = state.launch.grid_at(scalars)
    launched = dict(zip("xyz", (g * b for g, b in zip(grid, state.launch.block, strict=True)), strict=True))
    right = predict(state.logical, site, launched, scalars)
    assert right is not None and right.exact
    wrong = predict(state.logical, site, launched, {n: v + 1 if isinstance(v, int) else v for n, v in scalars.items()})
    assert wrong is not None and wrong.elements != right.elements
