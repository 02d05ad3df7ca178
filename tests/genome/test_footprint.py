"""Staged boxes against enumeration: every access of a block lies in the box, and the box is no larger than needed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from genome import ir
from genome.counts import trips
from genome.errors import Refusal
from genome.footprint import StagePlan, groups, scope_loop, sinkable, stage_plan, uniform
from genome.poly import from_expr
from genome.schedule import AxisMap, Schedule, Stage, Tile
from genome.scheduled import Scheduled
from tests.helpers.cmodel import value
from tests.helpers.kernels import EXAMPLES, applied, example, scheduled, stage, tile

REVERSED = """\
__global__ void reversed(const float* a, float* b, int H, int W)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < W && y < H) {
        float s = 0.0f;
        for (int d = 0; d < 3; ++d) {
            s += a[(H - 1 - y) * (W + 6) + (2 * d + x)] - a[(H - 1 - y) * (W + 6) + (2 * d + x + 1)];
        }
        b[y * W + x] = s;
    }
}
"""

WINDOW = """\
__global__ void window(const float* a, float* b, int N, int R)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < N) {
        float s = 0.0f;
        for (int k = 2; k < R; ++k) {
            s += a[x + 3 * k];
        }
        b[x] = s;
    }
}
"""


def reversed_kernel() -> Scheduled:
    return scheduled(REVERSED, block=(8, 4, 1), grid=("ceil_div(W, block_x)", "ceil_div(H, block_y)"),
                     sizes=({"H": 20, "W": 30},), shapes={"a": "H*(W + 6)", "b": "H*W"})


def window_kernel() -> Scheduled:
    return scheduled(WINDOW, sizes=({"N": 50, "R": 9},), shapes={"a": "N + 3*R", "b": "N"})


STATES = {**{n: (lambda n=n: example(n)) for n in EXAMPLES}, "reversed": reversed_kernel, "window": window_kernel}
SIZES = {"M": 13, "N": 11, "K": 10, "H": 9, "W": 12, "NX": 9, "NY": 8, "NZ": 7, "rows": 10, "cols": 9, "R": 9}


def random_schedule(state: Scheduled, rng: Random) -> Schedule:
    axes = tuple((a, AxisMap(rng.choice((1, 2, 3, 4)), rng.choice((1, 2, 4)),
                             rng.choice(("blocked", "strided", "fragments")), 2)) for a in state.schedule.order)
    tiles = tuple(Tile((label,), (rng.choice((2, 3, 4)),)) for label in state.logical.loops if rng.random() < 0.7)
    return replace(state.schedule, axes=axes, tiles=tiles)


def plans(state: Scheduled, schedule: Schedule, rng: Random) -> Iterator[StagePlan]:
    for g in groups(state.logical):
        scopes = ["", *(t.loops[-1] + ".o" for t in schedule.tiles)]
        order = list(range(len(g.accesses[0].dims)))
        rng.shuffle(order)
        for scope in scopes:
            try:
                yield stage_plan(state.logical, schedule, Stage(g.name, scope, tuple(order), rng.choice((0, 1, 4))))
            except Refusal as r:
                assert r.code.startswith("stage-")


def symbol_ranges(state: Scheduled, schedule: Schedule, plan: StagePlan, rng: Random) -> dict[str, tuple[int, int]]:
    """For each symbol inside the scope its first value in a block and a tile, and how many values it takes."""
    out: dict[str, tuple[int, int]] = {}
    for symbol, count in plan.counts.items():
        if symbol.startswith("@"):
            extent = schedule.axis(symbol[1:]).extent
            assert count == extent
            out[symbol] = (rng.randrange(3) * extent, extent)
            continue
        node = state.logical.loops[symbol].node
        lo = from_expr(node.lo, state.logical.resolve)
        assert lo is not None and isinstance(node.step, ir.IntLit)
        start = value(lo, SIZES)
        inside = schedule.tile_of(symbol) if plan.stage.scope and scope_loop(plan.stage.scope) == symbol else None
        if inside is not None:
            assert count == inside.sizes[0]
            start += rng.randrange(2) * count
        else:
            assert count == max(1, trips(state.logical, symbol, SIZES))
        out[symbol] = (start, count)
    return out


@pytest.mark.parametrize("name", STATES)
def test_boxes_hold_exactly_what_is_read(name: str) -> None:
    state, rng = STATES[name](), Random(name)
    seen = 0
    for _ in range(12):
        schedule = random_schedule(state, rng)
        for plan in plans(state, schedule, rng):
            seen += 1
            ranges = symbol_ranges(state, schedule, plan, rng)
            outer = {s: rng.randrange(4) for s in state.logical.loops if s not in ranges}
            outer.update({s: rng.randrange(5) for s in state.logical.axis_symbols if s not in ranges})
            first = {s: start for s, (start, _) in ranges.items()}
            for d, dim in enumerate(plan.dims):
                base = value(dim.outer, {**SIZES, **outer, **first}) + dim.low + sum(
                    c * first[s] for s, c in dim.spans)
                found = [value(a.dims[d], {**SIZES, **outer, **first, **dict(zip(names, at, strict=True))})
                         for a in plan.group.accesses for names in [tuple(s for s, _ in dim.spans)]
                         for at in itertools.product(*(range(ranges[s][0], sum(ranges[s])) for s in names))]
                assert (min(found), max(found)) == (base, base + dim.size - 1), f"{plan.group.name} dim {d}: {dim}"
                assert all(s not in dim.outer.symbols for s, _ in dim.spans)
            check_storage(plan)
    assert seen >= (3 if state.logical.loops or name == "transpose" else 1)


def check_storage(plan: StagePlan) -> None:
    sizes = [plan.dims[d].size for d in plan.order]
    sizes[-1] += plan.stage.pad
    assert plan.shape == tuple(sizes)
    elements = storage = 1
    for d in plan.dims:
        elements *= d.size
    for s in plan.shape:
        storage *= s
    assert plan.elements == elements and plan.bytes == 4 * storage


def test_halo_of_conv2d() -> None:
    """16 x 16 threads, 5 x 5 weights: 20 x 20 elements."""
    (plan,) = applied(example("conv2d"), stage("in", pad=1)).plans()
    assert [d.size for d in plan.dims] == [20, 20] and plan.shape == (20, 21)
    assert plan.bytes == 20 * 21 * 4 and plan.elements == 400
    assert [str(d.extent) for d in plan.dims] == ["H + 4", "W + 4"]
    assert [d.spans for d in plan.dims] == [(("@y", 1), ("dy", 1)), (("@x", 1), ("dx", 1))]


def test_cross_of_stencil7() -> None:
    """Seven points of an 8 x 8 x 8 block: one box of 10 x 10 x 10, starting one before the block."""
    state = example("stencil7")
    (group,) = groups(state.logical)
    assert group.name == "in" and len(group.accesses) == 7
    (plan,) = applied(state, stage("in", order="012")).plans()
    assert [(d.size, d.low) for d in plan.dims] == [(10, -1)] * 3


def test_tile_of_sgemm() -> None:
    state = applied(example("sgemm"), tile("k", 8), stage("A", "k.o", "10", 4), stage("B", "k.o"))
    a, b = state.plans()
    assert a.shape == (8, 20) and b.shape == (8, 16)
    assert dict(a.counts) == {"@y": 16, "k": 8} and dict(b.counts) == {"@x": 16, "k": 8}


def test_reversed_subscripts() -> None:
    """Row H - 1 - y of a block of 4 rows starts 3 below the row of its first point."""
    (plan,) = applied(reversed_kernel(), stage("a")).plans()
    rows, columns = plan.dims
    assert (rows.size, rows.low, rows.spans) == (4, -4, (("@y", -1),)) and str(rows.outer) == "H"
    assert (columns.size, columns.low, columns.spans) == (8 + 2 * 2 + 1, 0, (("@x", 1), ("d", 2)))


def test_groups_differ_by_more_than_constants() -> None:
    source = """\
__global__ void k(const float* a, float* b, int H, int W)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < W && y < H) {
        b[y * W + x] = a[y * W + x] + a[y * W] + a[y * W + x] + a[x] + a[(int)b[0]];
    }
}
"""
    state = scheduled(source, block=(8, 4, 1), grid=("ceil_div(W, block_x)", "ceil_div(H, block_y)"),
                      sizes=({"H": 20, "W": 30},), shapes={"a": "H*W", "b": "H*W"})
    assert [(g.name, len(g.accesses)) for g in groups(state.logical) if g.array == "a"] == [
        ("a", 2), ("a#1", 1), ("a#2", 1)]


def test_uniform_and_sinkable() -> None:
    state = example("sgemm")
    row, k, m = ir.Var("row"), ir.Var("k"), ir.Var("M")
    load = ir.Index(ir.Var("A"), (ir.IntLit(0),))
    for e, is_uniform, can_sink in (
            (m, True, True), (k, True, True), (ir.Bin("+", m, k), True, True), (row, False, True),
            (ir.Bin("<", row, m), False, True), (load, False, False), (ir.Call("f", ()), False, False),
            (ir.Var("acc"), False, False), (ir.Coord("x"), False, True), (ir.Builtin("threadIdx.x"), False, False)):
        assert uniform(state.logical, e) == is_uniform, e
        assert sinkable(state.logical, e) == can_sink, e


@pytest.mark.parametrize(("base", "width"), [("double", 8), ("unsigned char", 1), ("short", 2), ("long long", 8)])
def test_bytes_of_elements(base: str, width: int) -> None:
    source = WINDOW.replace("const float* a", f"const {base}* a").replace("k < R", "k < 6")
    state = scheduled(source, sizes=({"N": 50, "R": 9},), shapes={"a": "N + 3*R", "b": "N"}, block=(32, 1, 1))
    (plan,) = applied(state, stage("a", order="0", pad=2)).plans()
    assert plan.shape == (32 + 3 * 3 + 2,) and plan.bytes == 43 * width
