"""Static features of scheduled kernels, worked out by hand."""

from __future__ import annotations

import math

import pytest

from genome.summary import summarise
from tests.helpers.kernels import (
    EXAMPLES,
    applied,
    coarsen,
    composite,
    example,
    loads_first,
    order,
    pipeline,
    scheduled,
    stage,
    swizzle,
    tile,
    unroll,
    vectorize,
)


def test_naive_sgemm() -> None:
    """A point loads A and B 4096 times and stores C once; a warp is 16 x 2 threads."""
    f = summarise(example("sgemm"))
    assert f["global_requests"] == (2 * 4096 + 1) / 32
    # A: two rows, one element each; B: 16 neighbours of one row; C: 16 neighbours of two rows
    assert f["global_sectors"] == (4096 * 2 + 4096 * 2 + 4) / 32
    assert f["uncoalesced"] == 1.0 and f["shared_wavefronts"] == f["bank_conflicts"] == f["shared_bytes"] == 0
    assert f["flops_per_point"] == 8192 and f["log2_points"] == 24 and f["log2_blocks"] == 16
    assert f["intensity"] == 8192 * 4096**2 / (3 * 4096**2 * 4)
    assert f["issue_intensity"] == pytest.approx(8192 / f["global_requests"])
    assert (f["threads"], f["axes"], f["loop_depth"], f["points_per_thread"]) == (256, 2, 1, 1)


def test_register_tiled_sgemm() -> None:
    """8 x 8 points a thread, a block of 128 x 128 points, tiles of 8: 512 tiles of two boxes of 128 x 8."""
    state = applied(example("sgemm"), coarsen("x", 8), coarsen("y", 8), tile("k", 8), stage("A", "k.o", "10", 4),
                    stage("B", "k.o"))
    f = summarise(state)
    loads = 128 * 8 * 512 / (128 * 128)    # of each box, per point
    assert f["global_requests"] == (2 * loads + 1) / 32
    # the boxes coalesce: 4 bytes an element; C: lanes 32 bytes apart, a sector each
    assert f["global_sectors"] == 2 * loads * 4 / 32 + 32 / 32
    # reads of A_s and B_s once in eight points: one pass for A, four for B (lanes eight words apart)
    assert f["shared_wavefronts"] == 4096 / 8 * (1 + 4) / 32 + 2 * loads / 32
    assert f["bank_conflicts"] == 4 and f["uncoalesced"] == 8
    assert f["shared_bytes"] == 8 * 132 * 4 + 8 * 128 * 4 and (f["stages"], f["padding"]) == (2, 4)
    assert (f["items_0"], f["items_1"], f["points_per_thread"]) == (8, 8, 64)
    assert f["register_tile"] == 64 + 8 + 8 and f["log2_blocks"] == 10 and (f["tiles"], f["tile_size"]) == (1, 8)


def test_staged_conv2d() -> None:
    f = summarise(applied(example("conv2d"), stage("in")))
    assert f["shared_bytes"] == 20 * 20 * 4
    # the box of 400 elements for 256 points, 25 loads of w, one store
    assert f["global_requests"] == pytest.approx((400 / 256 + 25 + 1) / 32)
    assert f["loop_depth"] == 2


def test_wrong_axes_are_told_apart() -> None:
    state = example("sgemm_wrong_axes")
    wrong, right = summarise(state), summarise(applied(state, order("yx")))
    assert wrong["uncoalesced"] == 16 / 4 and right["uncoalesced"] == 1
    assert wrong["global_sectors"] > 4 * right["global_sectors"]


def test_what_genes_set() -> None:
    state = applied(example("sgemm"), coarsen("y", 4), tile("k", 8), stage("A", "k.o"), stage("B", "k.o", pad=4),
                    vectorize("B", 4), pipeline("k.o", 3), swizzle(8), unroll("k", "factor", 4),
                    unroll("k.o", "pragma", 1))
    f = summarise(state)
    assert f["shared_bytes"] == 3 * (64 * 8 + 8 * 20) * 4
    assert (f["pipeline_depth"], f["vector_width"], f["swizzle"], f["padding"]) == (3, 4, 8, 4)
    assert (f["unrolls"], f["unroll_factor"], f["copies"], f["loads_first"]) == (2, 4, 1, 0)
    moved = applied(example("transpose"), coarsen("y", 4), loads_first("out"))
    assert summarise(moved)["loads_first"] == 1


@pytest.mark.parametrize("name", EXAMPLES)
def test_all_features_are_finite_numbers(name: str) -> None:
    state = example(name)
    base = summarise(state)
    other = summarise(applied(state, coarsen(state.schedule.order[0], 4)))
    assert set(other) >= set(base) and all(math.isfinite(v) for v in (*base.values(), *other.values()))
    assert base != other and summarise(state) == base


def test_composite_beats_its_baseline() -> None:
    state = example("sgemm_wrong_axes")
    before, after = summarise(state), summarise(applied(state, *composite()))
    assert after["global_sectors"] < before["global_sectors"] / 10
    assert after["issue_intensity"] > 2 * before["issue_intensity"]


def test_a_kernel_without_axes() -> None:
    state = scheduled("__global__ void k(const float* a, float* b)\n{\n    b[threadIdx.x] = a[threadIdx.x];\n}\n",
                      grid=("1",), block=(64, 1, 1), shapes={"a": "64", "b": "64"})
    f = summarise(state)
    assert f["threads"] == 64 and f["axes"] == 0 and all(math.isfinite(v) for v in f.values())
