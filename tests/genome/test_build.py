"""From source to the logical kernel: axes and their extents, arrays, accesses, loops, facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from genome import ir
from genome.build import poly_expr
from genome.expressions import evaluate
from genome.logical import LogicalKernel
from genome.poly import Poly, from_expr
from genome.printer.cuda import print_expr
from tests.helpers.kernels import EXAMPLES, example, scheduled

ACCESSES: Mapping[str, list[str]] = {
    "sgemm": ["read A[@y][k] of M x K", "read B[k][@x] of K x N", "write C[@y][@x] of M x N"],
    "sgemm_wrong_axes": ["read A[@x][k] of M x K", "read B[k][@y] of K x N", "write C[@x][@y] of M x N"],
    "transpose": ["write out[@x][@y] of W x H", "read in[@y][@x] of H x W"],
    "conv2d": ["read in[@y + dy][@x + dx] of H + 4 x W + 4", "read w[dx + 5*dy] of 25", "write out[@y][@x] of H x W"],
    "stencil7": ["write out[@z][@y][@x] of NZ x NY x NX"] + [
        f"read in[{z}][{y}][{x}] of NZ x NY x NX" for z, y, x in (
            ("@z", "@y", "@x"), ("@z", "@y", "@x - 1"), ("@z", "@y", "@x + 1"), ("@z", "@y - 1", "@x"),
            ("@z", "@y + 1", "@x"), ("@z - 1", "@y", "@x"), ("@z + 1", "@y", "@x"))],
    "softmax": ["read in[@x][0] of rows x cols", "read in[@x][j] of rows x cols", "read in[@x][j_2] of rows x cols",
                "write out[@x][j_3] of rows x cols", "read in[@x][j_3] of rows x cols"],
}


def described(k: LogicalKernel) -> list[str]:
    return [f"{'write' if a.write else 'read'} {a.array}{''.join(f'[{d}]' for d in a.dims)} of "
            + " x ".join(str(e) for e in a.extents) for a in k.accesses]


@pytest.mark.parametrize("name", EXAMPLES)
def test_accesses_of_the_examples(name: str) -> None:
    k = example(name).logical
    assert sorted(described(k)) == sorted(ACCESSES[name])
    assert all(a.in_bounds and not a.conditional for a in k.accesses)
    assert not k.blockers
    for a in k.accesses:
        total = Poly()
        for d, e in zip(a.dims, a.extents, strict=True):
            total = total * e + d
        assert total == a.poly
        for label in a.loops:
            assert label in k.loops


@pytest.mark.parametrize(("name", "extents"), [
    ("sgemm", {"x": "N", "y": "M"}), ("sgemm_wrong_axes", {"x": "M", "y": "N"}), ("transpose", {"x": "W", "y": "H"}),
    ("stencil7", {"x": "NX - 1", "y": "NY - 1", "z": "NZ - 1"}), ("softmax", {"x": "rows"})])
def test_axes_of_the_examples(name: str, extents: dict[str, str]) -> None:
    k = example(name).logical
    assert {a.name: a.text for a in k.axes} == extents and all(a.guarded for a in k.axes)
    assert {a.name: print_expr(a.extent) for a in k.axes} == extents


def test_roles_and_coordinates() -> None:
    k = example("sgemm").logical
    assert {n: (a.role, a.read, a.written) for n, a in k.arrays.items()} == {
        "A": ("in", True, False), "B": ("in", True, False), "C": ("out", False, True)}
    assert k.coordinates == {"row": ("y", ir.INT), "col": ("x", ir.INT)}
    assert k.written == {"C"} and k.axis_symbols == {"@x", "@y"}
    assert set(k.assumptions) == {"M >= 1", "N >= 1", "K >= 1"}
    assert not any(isinstance(n, ir.Decl) and n.name in k.coordinates for n in k.body)
    k.axis("x")
    with pytest.raises(KeyError):
        k.axis("z")


def one(body: str, **options: Any) -> LogicalKernel:
    params = options.pop("params", "const float* a, float* b, int N")
    coordinate = "int x = blockIdx.x * blockDim.x + threadIdx.x;"
    return scheduled(f"__global__ void k({params})\n{{\n    {coordinate}\n{body}\n}}\n", **options).logical


def test_axis_without_a_guard_is_masked() -> None:
    """The launch covers (N / 256) * 256 points; the mask keeps it so under any other mapping."""
    k = one("b[x] = a[x];", grid=("N / block_x",), sizes=({"N": 1000},))
    (axis,) = k.axes
    assert not axis.guarded and axis.text == "(N / 256)*256" and print_expr(axis.extent) == "N / 256 * 256"
    (mask,) = k.body
    assert isinstance(mask, ir.If) and not mask.other
    assert mask.cond == ir.Bin("<", ir.Cast(ir.INT, ir.Coord("x")), axis.extent)


def test_whole_blocks_at_all_sizes_are_an_assumption() -> None:
    k = one("b[x] = a[x];", grid=("N / block_x",), sizes=({"N": 1024},), check=({"N": 512},))
    (axis,) = k.axes
    assert not axis.guarded and axis.text == "N" and "N % 256 == 0" in k.assumptions
    k = one("b[x] = a[x];", grid=("N / block_x",), sizes=({"N": 1024},), check=({"N": 500},))
    assert k.axes[0].text == "(N / 256)*256" and "N % 256 == 0" not in k.assumptions


def test_guard_past_the_launch_is_no_extent() -> None:
    """The guard allows more points than are launched: the rest was never computed, and must not be."""
    k = one("if (x < N) b[x] = a[x];", grid=("N / block_x",), sizes=({"N": 1000},))
    (axis,) = k.axes
    assert not axis.guarded and axis.text == "(N / 256)*256"


def test_guard_that_the_launch_covers_at_all_sizes_is_an_assumption() -> None:
    k = one("if (x < N) b[x] = a[x];", grid=("N / block_x + 1",), sizes=({"N": 1000},), check=({"N": 512},))
    (axis,) = k.axes
    assert axis.guarded and axis.text == "N" and "N <= (N / 256 + 1)*256" in k.assumptions


@pytest.mark.parametrize(("guard", "text"), [
    ("x < N", "N"), ("x <= N - 2", "N - 1"), ("N > x", "N"), ("x >= 1 && x < N - 1", "N - 1"), ("!(x >= N)", "N"),
    ("x < N && x < N + 5", "N"), ("x + 2 < N", "N - 2")])
def test_guards(guard: str, text: str) -> None:
    (axis,) = one(f"if ({guard}) b[x] = a[x];").axes
    assert axis.guarded and axis.text == text


def test_only_guards_of_every_effect_count() -> None:
    (axis,) = one("if (x < N) b[x] = a[x];\nif (x < N - 8) b[x] = 1.0f;").axes
    assert not axis.guarded
    k = one("if (x < N - 8) b[x] = a[x];\nelse b[x] = 1.0f;")
    assert not k.axes[0].guarded


def test_facts_of_loops_and_conditions() -> None:
    k = one("if (x < N) {\n    for (int i = 1; i < N; ++i) {\n        if (i > 3) b[x] += a[i - 3];\n"
            "        b[x] += x > 2 ? a[x - 2] : 0.0f;\n        if (x > 0 && a[x - 1] > 0.0f) b[x] += 1.0f;\n    }\n}")
    by_text = {str(a.poly): a for a in k.accesses if a.array == "a"}
    assert by_text["i - 3"].in_bounds and not by_text["i - 3"].conditional and by_text["i - 3"].loops == ("i",)
    assert by_text["@x - 2"].in_bounds and by_text["@x - 2"].conditional
    assert by_text["@x - 1"].in_bounds and by_text["@x - 1"].conditional
    assert k.loops["i"].parents == () and [print_expr(c) for c in k.loops["i"].conditions] == ["x < N"]


def test_out_of_bounds_is_not_taken_for_in_bounds() -> None:
    k = one("if (x < N) b[x] = a[x + 1] + a[x - 1] + a[N - x];")
    assert {str(a.poly): a.in_bounds for a in k.accesses if a.array == "a"} == {
        "@x + 1": False, "@x - 1": False, "-@x + N": False}


def test_sizes_that_are_no_parameters() -> None:
    k = one("if (x < N) b[x] = a[x];", shapes={"a": "P*N", "b": "N"}, sizes=({"N": 8, "P": 2},))
    assert [str(f) for f in k.arrays["a"].factors] == ["$P", "N"]


def test_a_parameter_of_another_name() -> None:
    k = one("if (x < n) b[x] = a[x];", params="const float* a, float* b, int n", values={"n": "N"})
    assert [str(f) for f in k.arrays["a"].factors] == ["n"] and k.axes[0].text == "n"
    assert all(a.in_bounds for a in k.accesses)


def test_parameters_that_are_written_have_no_value() -> None:
    k = one("N = N - 1;\nif (x < N) b[x] = a[x];")
    assert "N" not in k.polys and not k.axes[0].guarded


def test_index_scalars_are_inlined() -> None:
    k = one("int at = x * 2 + 1;\nif (at < N) b[at] = a[at];")
    assert {str(a.poly) for a in k.accesses} == {"2*@x + 1"} and all(a.in_bounds for a in k.accesses)


def test_unsigned_scalars_keep_their_type() -> None:
    """``unsigned at = x - 1``: at x = 0 it is past every bound, so the guard does not prove x >= 1."""
    k = one("unsigned int at = x - 1;\nif (at < N) b[at] = a[at];")
    assert not any(a.in_bounds for a in k.accesses)


@pytest.mark.parametrize(("p", "text"), [
    (Poly.sym("N") * Poly.sym("M") - Poly.const(3), "M * N - 3"), (Poly(), "0"), (-Poly.sym("N"), "-N"),
    (Poly.const(2) * Poly.sym("N") + Poly.sym("K"), "K + 2 * N"), (Poly.const(4) - Poly.sym("N"), "4 - N")])
def test_polynomials_as_code(p: Poly, text: str) -> None:
    e = poly_expr(p)
    at = {"N": 7, "M": 5, "K": 3}
    assert from_expr(e, Poly.sym) == p
    assert evaluate(print_expr(e), at) == evaluate(text, at)


HIDDEN = """\
struct View { float* data; int n; float4 lanes[4]; };
struct Cells { float* p; __device__ float& operator[](int i) { return p[i]; } };
__device__ float* spare;
__global__ void k(View v, Cells cells, float** rows, const View* views, const float* a, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        STATEMENT;
    }
}
"""


@pytest.mark.parametrize(("statement", "code"), [
    ("v.data[i / 2] = a[i]", "pointer-in-object"), ("out[i] = v.data[i + 1]", "pointer-in-object"),
    ("out[i] = views[i].data[0]", "pointer-in-object"), ("out[i] = rows[0][i + 1]", "pointer-to-pointer"),
    ("rows[i / 2][0] = a[i]", "pointer-to-pointer"), ("*rows[0] = a[i]", "pointer-to-pointer"),
    ("out[i] = spare[i + 1]", "file-pointer"), ("cells[0] = a[i]", "indexed-object"),
    ("out[i] = cells[i + 1]", "indexed-object"), ("out[i] = a[i]", ""), ("out[i] = (float)v.n", "")])
def test_memory_that_nobody_knows(statement: str, code: str) -> None:
    """Pointers that are read from memory, from structs or from the file may lead anywhere: threads stay as they are."""
    refusal = scheduled(HIDDEN.replace("STATEMENT", statement),
                        values={"v": "0", "cells": "0", "n": "N"}).logical.mapping_refusal
    assert (refusal.code if refusal is not None else "") == code
