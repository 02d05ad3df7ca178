"""Dispatch tables: which version runs where, and one translation unit for all of them."""

from __future__ import annotations

from genome.program import Program
from genome.table import table
from genome.workload import Size
from tests.helpers.kernels import applied, block, coarsen, example, pipeline, split, stage, swizzle, tile
from tests.helpers.nvrtc import compile_ptx

TILED = (tile("k", 8), stage("A", "k.o"), stage("B", "k.o"), pipeline("k.o", 2))


def size(m: int, n: int, k: int) -> Size:
    return Size((("M", m), ("N", n), ("K", k)))


def two(language: str = "cuda") -> Program:
    base = example("sgemm", language)
    small = applied(base, block(x=8, y=8), *TILED, split("k", 4))
    large = applied(base, *TILED, coarsen("x", 4), swizzle(4))
    return table(base, [(small, [size(64, 64, 64), size(16, 16, 512)]), (large, [size(4096, 4096, 4096)])], language)


def versions(program: Program, m: int, n: int, k: int) -> set[int]:
    return {program.launches[i].version for i in program.at({"M": m, "N": n, "K": k})}


def test_the_nearest_size_decides() -> None:
    program = two()
    assert versions(program, 64, 64, 64) == versions(program, 16, 16, 512) == versions(program, 100, 90, 80) == {0}
    assert versions(program, 4096, 4096, 4096) == versions(program, 4095, 1, 90000) == {1}
    names = [program.launches[i].kernel for i in program.at({"M": 64, "N": 64, "K": 64})]
    assert names == ["sgemm_parts_v0", "sgemm_sums_v0"]
    assert versions(program, 0, 0, 0) == {0}, "no division by zero"


def test_the_baseline_runs_where_a_version_may_not() -> None:
    program = two()
    assert versions(program, 64, 64, 2**31 - 1) == {2}, "the split's steps would not fit into an int"
    assert versions(program, 2**22, 2**22, 2**22) == {2}, "blocks are counted in int"
    assert "disjoint(C, A)" in program.preconditions and not any("2147483" in p for p in program.preconditions)


def test_one_translation_unit() -> None:
    program = two()
    assert program.source.count("void evo_copy_async(") == 1
    for name in ("sgemm_parts_v0", "sgemm_sums_v0", "sgemm_v1", "sgemm_baseline"):
        assert program.source.count(f" {name}(") == 1
    assert ".entry sgemm_sums_v0" in compile_ptx(program.source)
    assert {w.name for w in program.workspaces} == {"acc_parts"}
    assert two("opencl").source.count("__kernel void") == 4
