"""Kernels written to break the lowering: what must be refused is, and random legal genomes of the rest compute what
the baseline computes, bit for bit, with no race, no access out of bounds and no read of what was never written."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

import pytest

from benchmarks._draw import draw
from benchmarks._judge import Interpreter, Unsupported
from evo.problem import load_problem
from genome.express import emit, express
from genome.gene import Gene, from_json, to_json
from genome.scheduled import Scheduled, schedule_kernel
from mutators.catalogue import CATALOGUE
from tests.helpers.kernels import block, loads_first, refusal, stage, tile, unroll

FOLDER = Path(__file__).resolve().parents[1] / "adversarial"
NAMES = sorted(p.stem for p in FOLDER.glob("*.toml"))
FEW, MANY = 1, 25

# Why the points of these may not be dealt to threads in another way.
FIXED = {
    "atomic_histogram": "address-taken",
    "flat_over_rows": "points-not-proved-independent",
    "global_variable": "global-written",
    "grid_smaller": "extent-unknown",
    "grid_stride_carries": "geometry-is-semantic",  # threads hand a value from one number to the next
    "grid_stride_reads_ahead": "geometry-is-semantic",
    "in_place_stencil": "points-depend-on-each-other",
    "masked_store": "points-not-proved-independent",
    "nests_3d": "points-not-proved-independent",  # five extents are more than are told apart
    "own_shared": "own-shared-memory",
    "pitched": "points-not-proved-independent",  # nothing says that the pitch is no less than the width
    "racing_store": "points-not-proved-independent",
    "read_at_other_point": "points-depend-on-each-other",
    "skewed_nest": "points-not-proved-independent",
    "store_without_axis": "points-depend-on-each-other",
    "unguarded_hidden_size": "extent-unknown",
    "unsigned_masks": "points-not-proved-independent",  # x - 2 wraps, and what forbids that stands behind it
    "vector_elements": "pointer-escapes",
}
# Kernels that use what the interpreter does not: see tests/mutators/test_random_genomes.py for those on a device.
NOT_INTERPRETED = {"atomic_histogram", "float4_arrays", "global_variable", "int2_scatter", "vector_elements"}

REFUSED: tuple[tuple[str, str, tuple[Gene, ...]], ...] = (
    ("else_branches", "stage-under-else", (tile("k", 4), stage("B", "k.o"))),
    ("data_dependent_if", "stage-guard-not-sinkable", (tile("k", 4), stage("B", "k.o"))),
    ("triangular", "stage-loop-not-uniform", (tile("k", 4), stage("B", "k.o"))),
    ("loop_over_data", "tile-bound-not-simple", (tile("k", 4),)),
    ("dependent_bounds", "stage-loop-start-varies", (stage("A", order="0"),)),
    ("narrow_counter", "tile-loop-type", (tile("k", 8),)),
    ("loop_variable_after", "loop-variable-outlives-loop", (unroll("k", "full"),)),
    ("reversed_loops", "tile-loop-not-unit-step", (tile("k", 4),)),
    ("reversed_loops", "unroll-no-constant-trip", (unroll("j", "full"),)),
    ("continue_break", "unroll-jumps", (unroll("k", "factor"),)),
    ("carried_scalars", "no-change", (unroll("k", "factor", 1),)),
    ("skewed_nest", "tile-carries-dependence", (tile("i,j", 4, 4),)),
    ("products", "stage-already", (tile("k", 4), stage("A", "k.o"), stage("A", "k.o"))),
    ("own_shared", "unroll-around-barrier", (tile("k", 2), unroll("k.o"))),
    ("own_shared", "own-shared-memory", (stage("A", order="0"),)),
    ("own_point", "stage-array-written", (stage("A", order="0"),)),
    ("copy_and_scale", "stage-array-written", (stage("C"),)),
    ("atomic_histogram", "reorder-not-straight-line", (unroll("k", "full"), loads_first("k"))),
    ("max_reduction", "no-such-loop", (tile("q", 4),)),
    ("unguarded_exact", "block-under-a-warp", (block(x=2, y=2),)),
)


@cache
def kernel(name: str) -> Scheduled:
    problem = load_problem(FOLDER / f"{name}.toml", "opencl")
    return schedule_kernel(problem.unit, problem.workload, problem.launch)


def test_there_are_enough() -> None:
    assert len(NAMES) >= 60 and FIXED.keys() <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_fixed(name: str) -> None:
    found = kernel(name).logical.mapping_refusal
    assert (found.code if found else None) == FIXED.get(name)
    if found is not None:
        assert refusal(kernel(name), block(x=64)).code == FIXED[name]


@pytest.mark.parametrize(("name", "code", "genes"), REFUSED, ids=[f"{n}-{c}" for n, c, _ in REFUSED])
def test_what_is_refused(name: str, code: str, genes: tuple[Gene, ...]) -> None:
    assert refusal(kernel(name), *genes).code == code


def compared(name: str, seed: int, count: int) -> int:
    """Genomes that were compared; the first that is wrong fails the test."""
    base, judge, done = kernel(name), Interpreter(name), 0
    for i in range(count):
        drawn = draw(base, Random(f"{seed}:{i}:{name}"))
        if not drawn.genome:
            continue
        wrong = judge.compare(base, drawn.state, drawn.genome)
        assert not wrong, str(wrong[0])
        done += 1
    return done


@pytest.mark.parametrize("name", sorted(set(NAMES) - NOT_INTERPRETED))
def test_random_genomes(name: str) -> None:
    done = compared(name, 1, FEW)
    assert done or name in FIXED


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", sorted(set(NAMES) - NOT_INTERPRETED))
def test_many_random_genomes(name: str) -> None:
    done = compared(name, 2, MANY)
    assert done >= 20 or name in FIXED


@pytest.mark.parametrize("name", sorted(NOT_INTERPRETED))
def test_what_is_not_interpreted(name: str) -> None:
    base = kernel(name)
    drawn = draw(base, Random(1))
    with pytest.raises(Unsupported):
        Interpreter(name).compare(base, drawn.state, drawn.genome)


@pytest.mark.parametrize("seed", range(6))
def test_genomes_replay(seed: int) -> None:
    """What was drawn is what its text says, and what strict expression makes of it."""
    base = kernel("syrk")
    drawn = draw(base, Random(seed))
    assert from_json(to_json(drawn.genome)) == drawn.genome
    again = express(base, from_json(to_json(drawn.genome)), CATALOGUE, strict=True)
    assert (again.state.schedule, again.state.preconditions) == (drawn.state.schedule, drawn.state.preconditions)
    assert emit(again.state, "cuda") == emit(drawn.state, "cuda")
