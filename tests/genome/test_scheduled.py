"""The state that genes transform: launch geometry, preconditions, limits, plans."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genome.errors import Loc, Refusal
from genome.expressions import evaluate
from genome.lower.mapping import axis_codes
from genome.lower.names import Names
from genome.printer.cuda import print_expr
from genome.schedule import MODES, AxisMap, Schedule, Stage, Tile, Unroll
from tests.helpers.kernels import (
    EXAMPLES,
    applied,
    block,
    coarsen,
    composite,
    example,
    order,
    refusal,
    stage,
    swizzle,
    tile,
    unroll,
)


@pytest.mark.parametrize("name", EXAMPLES)
def test_baseline(name: str) -> None:
    state = example(name)
    assert not state.edited and state.same_mapping and state.grid == state.launch.grid
    assert state.schedule.block == state.launch.block and state.plans() == ()
    state.require_free_mapping()
    state.validate()


def test_grid_follows_the_block_and_the_order() -> None:
    state = example("sgemm_wrong_axes")
    assert applied(state, block(x=64, y=4)).grid == ("ceil_div(M, 64)", "ceil_div(N, 4)", "1")
    turned = applied(state, order("yx"), coarsen("y", 2))
    assert turned.grid == ("ceil_div(N, 32)", "ceil_div(M, 16)", "1") and turned.schedule.block == (16, 16, 1)
    assert applied(state, tile("k", 8)).grid == state.launch.grid and not applied(state, coarsen("x", 2)).same_mapping


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.integers(1, 4), st.sampled_from(MODES), st.sampled_from((1, 2, 4)))
def test_mapping_is_a_bijection(threads: int, groups: int, mode: str, fragment: int) -> None:
    """Every point of a block's interval is some thread's item exactly once."""
    state = example("softmax")
    m = AxisMap(threads, groups * (fragment if mode == "fragments" else 1), mode, fragment)
    schedule = Schedule(("x",), (("x", m),))
    code = axis_codes(state.logical, schedule, Names(state.unit.kernel), "tid")["x"]
    from genome import ir

    seen = []
    for t, item in itertools.product(range(threads), range(m.items)):
        first = t * (1 if m.items == 1 or mode == "strided" else m.items if mode == "blocked" else fragment)
        text = print_expr(code.local(ir.IntLit(item)))
        seen.append(evaluate(text.replace("/", "//"), {code.thread: first}))
    assert sorted(seen) == list(range(m.extent)) == list(range(threads * m.items))


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(2, 5))
def test_swizzle_is_a_permutation_of_the_blocks(width: int, height: int, rows: int) -> None:
    """The emitted statements, evaluated for every block."""
    from genome.lower.mapping import swizzle as code

    state = applied(example("sgemm"), swizzle(rows))
    names = Names(state.unit.kernel)
    axes = axis_codes(state.logical, state.schedule, names, "tid")
    statements = code(state.schedule, axes, names)
    seen = set()
    for y, x in itertools.product(range(height), range(width)):
        env: dict[str, int] = {}
        for s in statements:
            env[s.name] = _value(s.init, {**env, "gridDim.x": width, "gridDim.y": height, "blockIdx.x": x,
                                          "blockIdx.y": y})
        seen.add((env[statements[-2].name], env[statements[-1].name]))
    assert seen == set(itertools.product(range(width), range(height)))


@pytest.mark.parametrize("shape", [(8, 8), (16, 16), (32, 16), (16, 8), (64, 16)])
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("across", [2, 4, 8, 16])
def test_warp_tiles_are_rectangles_and_cover_the_block(shape: tuple[int, int], depth: int, across: int) -> None:
    """The emitted thread numbers, evaluated for every linear id: a bijection, and each warp a rectangle."""
    from genome.lower.mapping import lane_numbers

    down = 32 // across
    if shape[0] % across or shape[1] % down:
        return  # refused: warp-tile-shape
    axes = tuple(zip("xyz", (AxisMap(n) for n in (*shape, depth)), strict=True))
    x, y, _ = lane_numbers(Schedule(("x", "y", "z"), axes, lanes=across), "tid")
    places = [(_value(x, {"tid": t}), _value(y, {"tid": t}), t // (shape[0] * shape[1]))
              for t in range(shape[0] * shape[1] * depth)]
    assert sorted(places) == sorted(itertools.product(range(shape[0]), range(shape[1]), range(depth)))
    for w in range(0, len(places), 32):
        xs, ys = ({p[d] for p in places[w:w + 32]} for d in (0, 1))
        assert (max(xs) - min(xs) + 1, max(ys) - min(ys) + 1) == (across, down)


def _value(e: object, env: dict[str, int]) -> int:
    from genome import ir

    match e:
        case ir.IntLit(value=v):
            return v
        case ir.Var(name=n) | ir.Builtin(name=n):
            return env[n]
        case ir.Cast(operand=o):
            return _value(o, env)
        case ir.Ternary(cond=c, then=t, other=o):
            return _value(t, env) if _value(c, env) else _value(o, env)
        case ir.Bin(op=op, left=left, right=right):
            a, b = _value(left, env), _value(right, env)
            return int({"+": a + b, "-": a - b, "*": a * b, "<": a < b, "/": a // b if b else 0,
                        "%": a % b if b else 0}[op])
    raise AssertionError(e)


def test_preconditions() -> None:
    state = example("sgemm")
    assert set(state.preconditions) == {"M >= 1", "N >= 1", "K >= 1"}
    assert state.disjoint() == ("disjoint(C, A)", "disjoint(C, B)")
    new = applied(state, block(x=32, y=8), coarsen("x", 2))
    assert new.preconditions == (*state.preconditions, "disjoint(C, A)", "disjoint(C, B)")
    assert applied(state, unroll("k")).preconditions == state.preconditions


def test_limits_are_checked_after_every_gene() -> None:
    """The last gene in the list is refused for what all of them need together."""
    r = refusal(example("sgemm"), coarsen("x", 16), tile("k", 64), stage("A", "k.o"), stage("B", "k.o"))
    assert r.code == "shared-memory-over-limit" and r.reason.startswith(f"{64 * (16 + 256) * 4} bytes")
    r = refusal(example("sgemm"), tile("k", 64), stage("A", "k.o"), stage("B", "k.o"), coarsen("x", 16))
    assert r.code == "shared-memory-over-limit"


def test_plans_are_kept() -> None:
    state = applied(example("conv2d"), stage("in"))
    assert state.plans() is state.plans()


def test_order_of_genes_hardly_matters() -> None:
    first, *rest = composite()
    last = rest.pop()
    assert applied(example("sgemm_wrong_axes"), *rest, first, last).schedule == \
        applied(example("sgemm_wrong_axes"), first, *rest, last).schedule


def test_schedule_queries() -> None:
    s = Schedule(("y", "x"), (("x", AxisMap(4, 2)), ("y", AxisMap(8))), (Tile(("i", "j"), (4, 8)),),
                 (Stage("A", "j.o"),), (Unroll("j", "full"),))
    assert s.block == (8, 4, 1) and s.threads == 32 and s.axis("x").extent == 8
    assert s.tile_of("j") == s.tiles[0] and s.tile_of("k") is None
    assert s.unroll_of("j") == s.unrolls[0] and s.unroll_of("i") is None and s.depth_of("j.o") == 1
    assert s.with_axis("y", AxisMap(2)).axis("y") == AxisMap(2) and s.axis("y") == AxisMap(8)


def test_refusals_as_text() -> None:
    assert str(Refusal("some-code", "why", Loc(3, 1), 2)) == "gene 2: some-code: why (line 3)"
    assert str(Refusal("some-code", "why")) == "some-code: why"
