"""Normal forms, one by one; that they keep the kernel's results is shown in test_printer_opencl."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from genome import ir, walk
from genome.normal import (
    alpha_rename,
    guard_regions,
    inline_scalars,
    localise_loops,
    merge_declarations,
    normalise,
    plain_coordinates,
    row_pointers,
)
from genome.printer.cuda import print_body, print_kernel
from genome.unit import load_unit
from tests.corpus.tools import CASES, load

Form = Callable[[ir.Kernel], ir.Kernel]
PARAMS = "const float* A, float* C, int M, int N, int K, unsigned U, const size_t Z"


@pytest.fixture
def form(tmp_path: Path) -> Any:
    def apply(body: str, fn: Form) -> str:
        """The body after ``fn``, as lines without indentation joined by blanks."""
        path = tmp_path / "k.cu"
        path.write_text(f"__global__ void k({PARAMS}) {{ {body} }}")
        kernel = fn(load_unit(path).kernel)
        return " ".join(line.strip() for line in print_body(kernel.body).splitlines())
    return apply


@pytest.mark.parametrize(("before", "after"), [
    ("if (M >= N || K <= M) return; C[0] = 1;", "if (M < N && K > M) { C[0] = 1; }"),
    ("if (M == N) { return; } C[0] = 1;", "if (M != N) { C[0] = 1; }"),
    ("if (A[0] > 1.0f) return; C[0] = 1;", "if (!(A[0] > 1.0f)) { C[0] = 1; }"),
    ("if (!(M < N)) return; C[0] = 1;", "if (M < N) { C[0] = 1; }"),
    ("if (M) return; C[0] = 1;", "if (!M) { C[0] = 1; }"),
    ("if (M > 0 && A[0] < 1.0f) return; C[0] = 1;", "if (M <= 0 || !(A[0] < 1.0f)) { C[0] = 1; }"),
    ("if (M > 1) return; if (N > 1) return; C[0] = 1;", "if (M <= 1 && N <= 1) { C[0] = 1; }"),
    ("C[1] = 0; if (M > 1) return; C[0] = 1; if (N > 1) return; C[2] = 1;",
     "C[1] = 0; if (M <= 1) { C[0] = 1; if (N <= 1) { C[2] = 1; } }"),
    ("C[0] = 1; if (M > 1) return;", "C[0] = 1;"), ("C[0] = 1; return;", "C[0] = 1;"),
    ("if (M > 1) return; else C[1] = 2; C[0] = 1;", "if (M > 1) { return; } else { C[1] = 2; } C[0] = 1;"),
    ("if (M > 1) { C[1] = 2; return; } C[0] = 1;", "if (M > 1) { C[1] = 2; return; } C[0] = 1;"),
])
def test_guard_regions(form: Any, before: str, after: str) -> None:
    assert form(before, guard_regions) == after


@pytest.mark.parametrize(("before", "after"), [
    ("int i = M * N + 3; C[i] = 0;", "C[M * N + 3] = 0;"),
    ("int i = M; int j = i + N; C[j * 2] = 0;", "C[(M + N) * 2] = 0;"),
    ("const int i = M - N; C[K - i] = 0;", "C[K - (M - N)] = 0;"),
    ("unsigned i = M + N; C[i] = 0;", "C[(unsigned int)(M + N)] = 0;"),
    ("int i = U + 1; C[i] = 0;", "C[(int)(U + 1)] = 0;"),
    ("short i = M; C[i] = 0;", "C[(short)M] = 0;"),
    ("long long i = M * N; C[i] = 0;", "C[(long long)(M * N)] = 0;"),
    ("bool b = M < N && U > 3; if (b) C[0] = 0;", "if (M < N && U > 3) { C[0] = 0; }"),
    ("bool b = M & 4; if (b) C[0] = 0;", "if ((bool)(M & 4)) { C[0] = 0; }"),
    ("int i = min(M, 3); C[i] = 0;", "C[min(M, 3)] = 0;"),
    ("for (int k = 0; k < K; ++k) { int i = k * N; C[i] = 0; }", "for (int k = 0; k < K; ++k) { C[k * N] = 0; }"),
    ("int i = threadIdx.x * 2; C[i] = 0;", "C[(int)(threadIdx.x * 2)] = 0;"),
    # left alone
    ("int i = M; i += 2; C[i] = 0;", "int i = M; i += 2; C[i] = 0;"),
    ("int i = (int)A[0]; C[i] = 0;", "int i = (int)A[0]; C[i] = 0;"),
    ("M = 3; int i = M; M = 4; C[i] = 0;", "M = 3; int i = M; M = 4; C[i] = 0;"),
    ("int i = M; int* p = &i; C[*p] = 0;", "int i = M; int* p = &i; C[*p] = 0;"),
    ("float f = M; C[0] = f;", "float f = M; C[0] = f;"),
    ("int i = blockIdx.x * blockDim.x + threadIdx.x; C[i] = 0;",
     "int i = blockIdx.x * blockDim.x + threadIdx.x; C[i] = 0;"),
    ("int s = 0; for (int k = 0; k < K; ++k) s += k; int i = s; C[i] = 0;",
     "int s = 0; for (int k = 0; k < K; ++k) { s += k; } int i = s; C[i] = 0;"),
    ('int i = M; asm("" : : "r"(i)); C[i] = 0;', 'int i = M; asm("" : : "r"(i)); C[i] = 0;'),
])
def test_inline_scalars(form: Any, before: str, after: str) -> None:
    assert form(before, inline_scalars) == after


def test_inline_named_scalars(form: Any) -> None:
    body = "int i = blockIdx.x * blockDim.x + threadIdx.x; int j = M * 2; C[i + j] = 0;"
    assert form(body, lambda k: inline_scalars(k, ["i"])) == \
        "int j = M * 2; C[(int)(blockIdx.x * blockDim.x + threadIdx.x) + j] = 0;"
    assert form(body, lambda k: inline_scalars(k, [])) == \
        "int i = blockIdx.x * blockDim.x + threadIdx.x; int j = M * 2; C[i + j] = 0;"


@pytest.mark.parametrize(("before", "after"), [
    ("C[0] = *A;", "C[0] = A[0];"), ("*(C + M) = A[0];", "C[M] = A[0];"), ("*(M + C) = *(A + 1);", "C[M] = A[1];"),
    ("C[0] = (A + M)[N];", "C[0] = A[(long long)M + N];"), ("C[0] = *&A[M];", "C[0] = A[M];"),
    ("C[0] = (A + Z)[N];", "C[0] = A[Z + N];"), ("C[0] = (&A[M])[1];", "C[0] = A[(long long)M + 1];"),
    ("C[0] = *(A + M - N);", "C[0] = A[(long long)M + -(long long)N];"),
    ("const float* r = A + M * K; C[0] = r[N];", "C[0] = A[(long long)(M * K) + N];"),
    ("const float* r = &A[M * K]; const float* q = r + 2; C[0] = q[N] + *r;",
     "C[0] = A[(long long)(M * K) + 2 + N] + A[M * K];"),
    ("float* r = C; r[M] = 1;", "C[M] = 1;"),
    ("const float* r = A + M; C[0] = *(const float4*)r;", "C[0] = ((const float4*)(A + M))[0];"),
    ("const float* p = A; for (int k = 0; k < K; ++k) { C[k] = *p; p += N; }",
     "for (int k = 0; k < K; ++k) { C[k] = A[(long long)k * N]; }"),
    ("const float* p = A + M; for (int k = 1; k < K; ++k) { C[k] = p[0]; p++; C[k] += p[0]; }",
     "for (int k = 1; k < K; ++k) { C[k] = A[(long long)M + ((long long)k - 1)]; "
     "C[k] += A[(long long)M + ((long long)k - 1 + 1)]; }"),
    ("const float* p = A; for (int k = K; k > 0; --k) { C[k] = *p; ++p; }",
     "for (int k = K; k > 0; --k) { C[k] = A[(long long)K - k]; }"),
    ("int q = 5; for (int k = 0; k < K; ++k) { C[q] = 1; q += 2; }",
     "for (int k = 0; k < K; ++k) { C[5 + k * 2] = 1; }"),
])
def test_row_pointers(form: Any, before: str, after: str) -> None:
    assert form(before, row_pointers) == after


@pytest.mark.parametrize("body", [
    "const float* p = A; if (M) { p = A + 1; } C[0] = p[0];",  # written twice
    "const double* p = (const double*)A; C[0] = p[0];",  # another element type
    "const float* p = A + (int)C[0]; C[0] = p[1];",  # the offset reads memory
    "const float* p = A; for (int k = 0; k < K; ++k) { if (M) continue; p += N; C[k] = p[0]; }",  # skipped at times
    "const float* p = A; for (int k = 0; k < K; ++k) { C[k] = p[0]; p += k; }",  # no fixed step
    "const float* p = A; for (int k = 0; k < K; ++k) { C[k] = p[0]; p += N; } C[0] = p[0];",  # used afterwards
    "const float* p = A; for (int k = 0; k < K; ++k) for (int j = 0; j < K; ++j) { C[k] += p[0]; p += N; }",
    "const float* p = A; for (int k = 0; k < K; k += M) { C[k] = p[0]; p += N; }",  # iterations need a division
    "const volatile float* p = A; C[0] = p[1];",
])
def test_pointers_that_stay(form: Any, body: str) -> None:
    assert "float* p = " in form(body, row_pointers) or "double* p = " in form(body, row_pointers)


def test_merge_declarations(form: Any) -> None:
    assert form("int i, j; i = M; j = i; j = 3; C[i + j] = 0;", merge_declarations) == \
        "int j; int i = M; j = i; j = 3; C[i + j] = 0;"
    assert form("int i; C[0] = 1; if (M) i = 3; C[1] = i;", merge_declarations) == \
        "int i; C[0] = 1; if (M) { i = 3; } C[1] = i;"


def test_localise_loops(form: Any) -> None:
    assert form("int k; for (k = 0; k < K; k++) C[k] = 0; for (k = 1; k < K; k++) C[k] = 1;", localise_loops) == \
        "for (int k = 0; k < K; ++k) { C[k] = 0; } for (int k = 1; k < K; ++k) { C[k] = 1; }"
    assert form("int k; for (k = 0; k < K; k++) C[k] = 0; C[k] = 1;", localise_loops).startswith("int k;")


@pytest.mark.parametrize(("spelling", "value"), [
    ("(size_t)blockIdx.x * blockDim.x + threadIdx.x", "(size_t)(blockIdx.x * blockDim.x + threadIdx.x)"),
    ("blockIdx.x * (long long)blockDim.x + threadIdx.x", "(long long)(blockIdx.x * blockDim.x + threadIdx.x)"),
    ("(int)blockIdx.x * (int)blockDim.x + (int)threadIdx.x", "(int)(blockIdx.x * blockDim.x + threadIdx.x)"),
    ("(int)blockIdx.x * blockDim.x + threadIdx.x", "blockIdx.x * blockDim.x + threadIdx.x"),
    ("(char)blockIdx.x * blockDim.x + threadIdx.x", "(char)blockIdx.x * blockDim.x + threadIdx.x"),
])
def test_plain_coordinates(form: Any, spelling: str, value: str) -> None:
    assert form(f"long long i = {spelling}; C[i] = 0;", plain_coordinates) == f"long long i = {value}; C[i] = 0;"


def test_alpha_rename() -> None:
    v, w = ir.Var("v"), ir.Var("w")
    kernel = ir.Kernel("k", (ir.Param(ir.INT, "w"),), (
        ir.Decl(ir.INT, "v", (), ir.IntLit(1)),
        ir.Block((ir.Decl(ir.INT, "v", (), w), ir.Decl(ir.INT, "w", (), v),
                  ir.Opaque("foo(v, x.v, w);", frozenset({"v", "w"}), frozenset({"v", "w"})))),
        ir.Assign(v, "=", w),
    ))
    assert print_kernel(alpha_rename(kernel)).splitlines()[1:-1] == [
        "    int v = 1;", "    {", "        int v_2 = w;", "        int w_2 = v_2;", "        foo(v_2, x.v, w_2);",
        "    }", "    v = w;"]
    assert alpha_rename(alpha_rename(kernel)) == alpha_rename(kernel)


@pytest.mark.parametrize("name", CASES)
def test_normalise_is_idempotent_and_keeps_the_conventions(name: str) -> None:
    once = normalise(load(name).kernel)
    assert print_kernel(normalise(once)) == print_kernel(once)
    loops = [n for n in walk.walk(once.body) if isinstance(n, (ir.For, ir.Loop))]
    assert len({n.label for n in loops}) == len(loops)
    names = [n.name for n in walk.walk(once.body) if isinstance(n, ir.Decl)] + [p.name for p in once.params]
    names += [n.var for n in loops if isinstance(n, ir.For) and n.type is not None]
    assert len(set(names)) == len(names)


def test_constants_named_in_types_and_calls_follow_their_scope() -> None:
    """``scaled<w>`` with a shadowed ``w`` is not the outer ``w``'s instance, and its ``w`` is not inlined away."""
    lines = print_kernel(normalise(load("generic:shadowed_constants").kernel))
    for text in ("const int w_2 = 2;", "scaled<w_2>(a[0])", "Ring<w_3> q", "sizeof(Ring<w_3>)", "((Ring<w_3>*)a)->v[1]",
                 "scaled<w>(a[3])", "const int w = 4;"):
        assert text in lines, lines
