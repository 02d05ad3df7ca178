"""The CUDA front-end: what is recognised, what is kept as text, and what a user is told."""

from __future__ import annotations

import random
import statistics
import time
from pathlib import Path
from typing import Any

import pytest

from genome import ir, walk
from genome.errors import InputError
from genome.frontend.preprocess import expand
from genome.printer.cuda import print_expr, print_kernel
from genome.unit import SourceUnit, load_unit
from tests.corpus.tools import CASES, FILES, FOLDER, INSTANCES, NAMES, load

GX = "blockIdx.x * blockDim.x + threadIdx.x"


@pytest.fixture
def unit(tmp_path: Path) -> Any:
    def make(text: str, kernel: str | None = None, **options: Any) -> SourceUnit:
        path = tmp_path / "k.cu"
        path.write_text(text)
        return load_unit(path, kernel, **options)
    return make


def nodes(u: SourceUnit, kind: type) -> list[Any]:
    return [n for n in walk.walk(u.kernel.body) if isinstance(n, kind)]


# ------------------------------------------------------------------------------------------------ coordinates
@pytest.mark.parametrize("text", [
    GX, "threadIdx.x + blockIdx.x * blockDim.x", "blockDim.x * blockIdx.x + threadIdx.x",
    "(blockIdx.x * blockDim.x) + (threadIdx.x)", "__umul24(blockIdx.x, blockDim.x) + threadIdx.x",
    "__mul24(blockDim.x, blockIdx.x) + threadIdx.x", "threadIdx.x + (blockDim.x * (blockIdx.x))",
])
def test_coordinate_spellings(unit: Any, text: str) -> None:
    u = unit(f"__global__ void k(int* a) {{ int i = {text}; a[i] = 0; }}")
    assert u.kernel.body[0].init == ir.Coord("x")


@pytest.mark.parametrize("text", [
    "blockIdx.x * blockDim.y + threadIdx.x", "blockIdx.y * blockDim.x + threadIdx.x", "blockIdx.x * 16 + threadIdx.x",
    "blockIdx.x * blockDim.x - threadIdx.x", "blockIdx.x * blockDim.x + threadIdx.y",
])
def test_what_is_no_coordinate(unit: Any, text: str) -> None:
    assert not nodes(unit(f"__global__ void k(int* a) {{ int i = {text}; a[i] = 0; }}"), ir.Coord)


def test_literal_block_extent(unit: Any) -> None:
    text = "#define B 16\n__global__ void k(int* a) { int i = blockIdx.y * B + threadIdx.y; a[i] = 0; }"
    assert unit(text, block=(8, 16, 1)).kernel.body[0].init == ir.Coord("y")
    assert not nodes(unit(text, block=(16, 8, 1)), ir.Coord)
    assert not nodes(unit(text), ir.Coord)


# ------------------------------------------------------------------------------------------------------ macros
def test_line_numbers_are_the_users(unit: Any) -> None:
    u = unit("#define LONG(a, b) \\\n   ((a) \\\n  + (b))\n/* two\n lines */\n#if 0\nnothing\n#endif\n"
             "__global__ void k(float* a, int n)\n{\n    a[0] = LONG(1,\n        2); a[3] = 5;\n\n    a[1] = 3;\n"
             "    for (int i = 0; i < n; ++i)\n        a[i] = i;\n}\n")
    assert u.kernel.loc.line == 9
    assert [s.loc.line for s in u.kernel.body] == [11, 12, 14, 15]
    assert u.kernel.body[3].body[0].loc.line == 16
    assert u.kernel.params[1].loc.line == 9


def test_expansion_keeps_lines_and_tokens_apart() -> None:
    text = "#define NEG -1\n#define N 4 // comment\n#define M(x) -x\nint a = 3-NEG;\nint b[N]; int c = M(-2); // kept\n"
    lines = expand(text, "f.cu", {}).split("\n")
    assert lines[3] == "int a = 3- -1;"
    assert lines[4].replace(" ", "") == "intb[4];intc=--2;//kept"
    assert "- -2" in lines[4]


def test_defines_override_the_files_own(unit: Any) -> None:
    text = "#define T 4\n#ifndef U\n#define U 2\n#endif\n__global__ void k(int* a) { a[T] = U; }"
    assert "a[4] = 2;" in unit(text).cuda()
    assert "a[8] = 16;" in unit(text, defines={"T": 8, "U": 16}).cuda()
    assert "a[1] = 2;" in unit(text, defines={"T": True}).cuda()


def test_loops_hidden_in_macros() -> None:
    loops = [n for n in walk.walk(load("macros").kernel.body) if isinstance(n, ir.For)]
    assert [(n.var, print_expr(n.hi)) for n in loops] == [("r", "rows")]


def test_unroll_pragmas() -> None:
    body = load("unroll_pragmas").kernel.body
    unrolls = [n.unroll for n in walk.walk(body) if isinstance(n, (ir.For, ir.Loop))]
    assert unrolls == [4, None, 0, 2, 1]


@pytest.mark.parametrize(("head", "unroll"), [
    ("#pragma unroll\nfor (int i = 0; i < 4; ++i) a[i] = 0;", 0),
    ("for (int i = 0; i < 4; ++i)\n#pragma unroll 3\n a[i] = 0;", 3),
    ("#pragma unroll (4)\n// why\nfor (int i = 0; i < 4; ++i) a[i] = 0;", 4),
    ("#pragma nounroll\nfor (int i = 0; i < 4; ++i) a[i] = 0;", 1),
    ("#pragma unroll\na[5] = 1; for (int i = 0; i < 4; ++i) a[i] = 0;", None),
])
def test_where_an_unroll_pragma_belongs(unit: Any, head: str, unroll: int | None) -> None:
    u = unit(f"__global__ void k(int* a) {{\n{head}\n}}")
    assert [n.unroll for n in nodes(u, ir.For)] == [unroll]


def test_conditions_of_the_compiler_go_through() -> None:
    text = load("conditional").cuda()
    assert "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 350\n#define LOAD(p) __ldg(p)" in text
    assert "typedef float real;" in text and "typedef double real;" not in text


# ------------------------------------------------------------------------------------------------------- loops
@pytest.mark.parametrize(("head", "cmp", "step"), [
    ("int i = 0; i < n; i++", "<", 1), ("int i = 0; i <= n; ++i", "<=", 1), ("int i = n; i > 0; i--", ">", -1),
    ("int i = n; i >= 0; i -= 2", ">=", -2), ("unsigned i = 0; n > i; i = i + 3", "<", 3),
    ("size_t i = 0; i < n; i = 2 + i", "<", 2), ("int i = 0; (i) < (n); i += 4", "<", 4),
])
def test_canonical_loops(unit: Any, head: str, cmp: str, step: int) -> None:
    u = unit(f"__global__ void k(int* a, int n) {{ for ({head}) a[i] = 0; }}")
    (loop,) = nodes(u, ir.For)
    assert (loop.label, loop.cmp, loop.step) == ("i", cmp, ir.IntLit(step))


@pytest.mark.parametrize("loop", [
    "for (int i = 0; i < n; ++i) { a[i] = 0; if (i > 3) break; }",
    "for (int i = 0; i < n; ++i) { if (a[i]) return; a[i] = 0; }",
    "for (int i = 0; i < n; ++i) { a[i] = 0; ++i; }", "for (int i = 0; i < n; ++i) { a[i] = 0; n--; }",
    "for (int i = 0; i < a[0]; ++i) a[i] = 0;", "for (int i = 0; i < n; i *= 2) a[i] = 0;",
    "for (int i = 0; i != n; ++i) a[i] = 0;", "for (int i = 0; i < n; i += i) a[i] = 0;",
    "for (float i = 0; i < n; ++i) a[0] = 0;", "for (int* p = a; p < a + n; ++p) *p = 0;",
    "for (int i = 0, j = 0; i < n; ++i) a[i] = j;", "for (int i = 0; i < n; ++i) { int* p = &i; a[i] = *p; }",
    "for (int i = 0; i < n; ++i) { a[i] = 0; touch(i); }", "int i = 0; for (; i < n; ++i) a[i] = 0;",
    "for (int i = 0; i < n; ++i) switch (a[i]) { default: a[i] = 0; }",
    "for (int i = 0; i < next(a); ++i) a[i] = 0;",
])
def test_what_is_no_canonical_loop(unit: Any, loop: str) -> None:
    u = unit("__device__ void touch(int& x) { ++x; }\n__device__ int next(int* a) { return a[0]++; }\n"
             f"__global__ void k(int* a, int n) {{ {loop} }}")
    assert not nodes(u, ir.For) and len(nodes(u, ir.Loop)) == 1


def test_an_inner_break_leaves_the_outer_loop_canonical(unit: Any) -> None:
    u = unit("__global__ void k(int* a, int n) { for (int i = 0; i < n; ++i) { for (int j = 0; j < n; ++j) "
             "{ if (a[j]) break; } continue; } }")
    assert [n.var for n in nodes(u, ir.For)] == ["i"]


def test_labels_are_unique(unit: Any) -> None:
    u = unit("__global__ void k(int* a) { int i; for (i = 0; i < 3; ++i) a[i] = 0; for (i = 0; i < 4; ++i) a[i] = 1; "
             "for (int j = 0; j < 2; ++j) a[j] = 2; for (int j = 0; j < 2; ++j) a[j] = 3; while (a[0]) a[0]--; "
             "while (a[1]) a[1]--; }")
    labels = [n.label for n in walk.walk(u.kernel.body) if isinstance(n, (ir.For, ir.Loop))]
    assert labels == ["i", "i_2", "j", "j_2", "while", "while_2"]


def test_local_names_are_unique_and_differ_from_parameters() -> None:
    for name in CASES:
        kernel = load(name).kernel
        names = [n.name for n in walk.walk(kernel.body) if isinstance(n, ir.Decl)]
        names += [n.var for n in walk.walk(kernel.body) if isinstance(n, ir.For) and n.type is not None]
        names += [p.name for p in kernel.params]
        assert len(set(names)) == len(names), name


# ------------------------------------------------------------------------------------------------ declarations
def test_declarations(unit: Any) -> None:
    u = unit("""__global__ void k(const float *__restrict__ a, unsigned n) {
        int x = 0, *p, y[3] = {1}; const unsigned long long int big = 5ull; __shared__ volatile float s[4][8];
        extern __shared__ __align__(16) char dyn[]; float4 v; size_t z = sizeof(float); static const int t[2] = {1, 2};
        float b = a[n] , c(1.0f); const int *const q = y; auto w = v.x; dim3 shape(n, 2); int bad(1, 2);
    }""")
    assert u.kernel.params[0].type == ir.CType("float", 1, const=True, restrict=True)
    assert u.kernel.params[1].type == ir.UINT
    d = {s.name: s for s in nodes(u, ir.Decl)}
    assert d["p"].type == ir.CType("int", 1) and d["y"].dims == (ir.IntLit(3),)
    assert d["big"].type == ir.CType("unsigned long long", const=True)
    assert d["s"].space == "shared" and d["s"].type.volatile and len(d["s"].dims) == 2
    assert d["dyn"].space == "extern shared" and d["dyn"].dims == (None,) and d["dyn"].align == 16
    assert d["t"].space == "static" and d["q"].type == ir.CType("int", 1, const=True)
    assert d["c"].init == ir.FloatLit("1.0f")
    assert d["shape"].init == ir.Call("dim3", (ir.Var("n"), ir.IntLit(2)))
    assert "bad" not in d and nodes(u, ir.Opaque)[0].text == "int bad(1, 2);"


def test_subscripts_of_declared_arrays_are_one_node(unit: Any) -> None:
    u = unit("__constant__ float w[3][3];\n__global__ void k(float* a, float** rows) { __shared__ float s[4][5]; "
             "a[0] = s[1][2] + w[0][1] + rows[1][2]; }")
    found = {print_expr(n): len(n.subs) for n in nodes(u, ir.Index)}
    assert found["s[1][2]"] == found["w[0][1]"] == 2 and found["rows[1][2]"] == 1


def test_opaque_statements_are_conservative(unit: Any) -> None:
    u = unit("""__global__ void k(int* a, int n) {
        asm volatile("bar.sync 0;" : : "r"(n)); switch (n) { case 0: a[0] = 1; } int& r = a[1]; r = 2;
        if (int m = n) a[2] = m;
    }""")
    asm, switch, reference, declared = nodes(u, ir.Opaque)
    assert asm.barrier and asm.reads == asm.writes == {"n"}
    assert not switch.barrier and switch.writes == {"a", "n"}
    assert "a" in reference.writes and "a" in declared.writes


def test_goto_may_synchronise(unit: Any) -> None:
    u = unit("__global__ void k(int* a) { again: a[0]++; if (a[0] < 3) goto again; }")
    assert all(o.barrier for o in nodes(u, ir.Opaque) if "goto" in o.text) and nodes(u, ir.Opaque)


def test_comparisons_are_no_templates() -> None:
    kernel = load("comparisons").kernel
    assert not [n for n in walk.walk(kernel.body) if isinstance(n, ir.Call) and "<" in n.func]
    assert print_expr(kernel.body[2].cond) == "i < n && j > m - 1"  # type: ignore[union-attr]


def test_casts_to_named_types(unit: Any) -> None:
    u = unit("typedef float real;\n__global__ void k(real* a, int n) { a[0] = (real)-a[1]; a[1] = (real)(n) * 2; "
             "a[2] = real(n); }")
    assert [n.style for n in nodes(u, ir.Cast)] == ["c", "c", "function"]
    assert isinstance(u.kernel.body[0].value.operand, ir.Un)


# --------------------------------------------------------------------------------------------------- templates
def test_templates(unit: Any) -> None:
    text = "template <typename T, int N = 2>\n__global__ void k(T* a) { T v[N]; v[0] = T(1); a[N] = v[0] + (T)N; }"
    u = unit(text, "k<unsigned int, 4>")
    assert u.kernel.params[0].type == ir.CType("unsigned int", 1)
    assert "a[4] = v[0] + (unsigned int)4;" in u.cuda() and "template" not in u.cuda()
    assert "a[2]" in unit(text, "k<float>").cuda()
    with pytest.raises(InputError, match="template over T, N.*name an instance"):
        unit(text)
    with pytest.raises(InputError, match="2 template parameters"):
        unit(text, "k<float, 1, 2>")
    with pytest.raises(InputError, match="no template"):
        unit("__global__ void k(int* a) { a[0] = 0; }", "k<3>")


# -------------------------------------------------------------------------------------------------- file scope
def test_host_code_is_left_out() -> None:
    text = load("saxpy").cuda()
    assert "main" not in text and "#include" not in text and text.count("__global__") == 1


def test_what_the_kernel_reaches_is_kept(unit: Any) -> None:
    u = unit("""#include <iostream>
#include "mine.h"
#include <vector>
using namespace std;
static std::vector<int> unused_host(3);
const int WIDTH = 3;
struct P { int x; };
struct Unused { std::vector<int> v; };
__device__ int inner(P p) { return p.x + WIDTH; }
__device__ int outer(P p) { return inner(p); }
__device__ int not_called(int x) { return x; }
__global__ void k(P* a, int n);
void host(int n) { std::cout << n; }
__global__ void k(P* a, int n) { a[0].x = outer(a[1]) + n; }
__global__ void other(int* a) { a[0] = 1; }
""", "k")
    for kept in ("WIDTH = 3", "struct P", "int inner", "int outer"):
        assert kept in u.cuda() and kept in u.cuda_original()
    assert len(u.notes) == 1 and u.notes[0].endswith('k.cu:2: #include "mine.h" is not found and is left out')
    for gone in ('"mine.h"', "iostream", "vector", "Unused", "not_called", "host", "other", "using namespace std"):
        assert gone not in u.cuda()
    assert u.cuda().count("void k(") == 1
    assert u.other_kernels == ("other",) and [f.name for f in u.functions] == ["inner", "outer"]


def test_line_directives(unit: Any) -> None:
    text = unit("\n\n__global__ void k(int* a) {\n a[0] = 0; }").cuda_original()
    assert text.startswith("#line 3 ") and 'k.cu"\nextern "C" __global__' in text


# ------------------------------------------------------------------------------------------------------ errors
@pytest.mark.parametrize(("text", "kernel", "message"), [
    ("int main() {}", None, "no __global__ function"),
    ("__global__ void a(int* x) {}\n__global__ void b(int* x) {}", None, r"2 kernels.*which one: a, b"),
    ("__global__ void a(int* x) {}", "zap", r"no kernel 'zap'.*kernels here: a"),
    ("__global__ void a(int* x) {\n  x[0] = = 3;\n}", None, r"k\.cu:2: kernel 'a' cannot be parsed"),
    ("__global__ void a(int* x) {\n  x[0] = 3\n}", None, r"k\.cu:3: kernel 'a' cannot be parsed"),
    ("__global__ void a(int* x) {\n  x[0] = (3;\n}", None, r"k\.cu:2: kernel 'a'"),
    ("#if\n__global__ void a(int* x) {}", None, "k.cu"),
    ("#define\n__global__ void a(int* x) {}", None, r"k\.cu:1: the preprocessor stops: #define without a name"),
    ("#endif\n__global__ void a(int* x) {}", None, r"k\.cu:1: the preprocessor stops"),
    ("#ifdef X\n__global__ void a(int* x) {}", None, r"k\.cu:1: the preprocessor stops"),
    ("__global__ void a(int& x) {}", None, "parameter 'int& x' is not supported"),
    ("\0ELF", None, "binary file"), ("", None, "no __global__ function"),
])
def test_wrong_input(unit: Any, text: str, kernel: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        unit(text, kernel)
    assert "\n" not in str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.cu: cannot be read: No such file"):
        load_unit(tmp_path / "none.cu")


def test_mutated_files_are_read_or_refused(tmp_path: Path) -> None:
    """200 truncated, spliced and scrambled files: an input error or a kernel that prints, nothing else."""
    rng = random.Random(5)
    texts = [(FOLDER / f"{n}.cu").read_text() for n in FILES]
    loaded = refused = 0
    start = time.perf_counter()
    path = tmp_path / "m.cu"
    for i in range(200):
        text = rng.choice(texts)
        at, other = rng.randrange(len(text)), rng.choice(texts)
        kind = i % 5
        if kind == 0:
            text = text[:at]
        elif kind == 1:
            text = text[:at] + text[at + rng.randrange(1, 20):]
        elif kind == 2:
            text = text[:at] + rng.choice("(){}[];,#\"'\\*&<>\n/\0\x80é") + text[at:]
        elif kind == 3:
            text = text[:at] + other[rng.randrange(len(other)):]
        else:
            words = text.split(" ")
            a, b = rng.randrange(len(words)), rng.randrange(len(words))
            words[a], words[b] = words[b], words[a]
            text = " ".join(words)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        try:
            u = load_unit(path)
            assert print_kernel(u.kernel) in u.cuda() + "\n" and u.cuda_original()
            loaded += 1
        except InputError as e:
            assert str(path) in str(e)
            refused += 1
    assert loaded > 20 and refused > 20
    assert time.perf_counter() - start < 20


def test_speed() -> None:
    """Milliseconds a kernel, so that a search may load as it likes."""
    times = []
    for name in NAMES:
        best = 1.0
        for _ in range(3):
            start = time.perf_counter()
            load_unit(FOLDER / f"{name}.cu", INSTANCES.get(name))
            best = min(best, time.perf_counter() - start)
        times.append(best)
    assert statistics.median(times) < 0.025


def test_methods_and_group_handles(unit: Any) -> None:
    """Handles of cooperative groups are typed, so that their ranks are values and their barriers barriers."""
    u = unit("""#include <cooperative_groups.h>
    namespace cg = cooperative_groups;
    struct Box { float* p; __device__ void put(float x) { *p = x; } };
    __global__ void k(Box box, Box* more, float* a, int n) {
        static_assert(sizeof(float) == 4); using real = float;
        auto block = cg::this_thread_block();
        cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
        int m = n;
        for (int i = block.thread_rank(); i < m; i += tile.size()) { a[i] = tile.shfl(a[i], 0); tile.sync(); }
        for (int i = 0; i < m; ++i) { box.put(a[i]); more->put(a[i]); atomicAdd(&a[i], (float)m); }
    }""")
    decls = {d.name: d for d in nodes(u, ir.Decl)}
    assert decls["tile"].type.base == "cg::thread_block_tile<32>"
    assert decls["tile"].init == ir.Call("cg::tiled_partition<32>", (ir.Var("block"),))
    calls = {c.func: c.args for c in nodes(u, ir.Call)}
    assert calls["cg.thread_rank"] == (ir.Var("block"),) and calls["cg.size"] == (ir.Var("tile"),)
    assert calls[".put"][0] == ir.Var("box") and calls["->put"][0] == ir.Var("more")
    assert {o.reason for o in nodes(u, ir.Opaque)} == {"static_assert_declaration", "alias_declaration"}
    assert not any(o.writes or o.barrier for o in nodes(u, ir.Opaque)) and not nodes(u, ir.OpaqueExpr)
    assert [f.var for f in nodes(u, ir.For)] == ["i", "i_2"]


@pytest.mark.parametrize(("call", "canonical"), [
    ("a[0] = __shfl_xor_sync(~0u, a[i], m)", True), ("atomicMax(b, m)", True), ("printf(\"%d\", m)", True),
    ("a[0] = __ballot_sync(~0u, m)", True), ("unknown(m)", False), ("unknown(m + 0)", True), ("x.change(m)", False)])
def test_what_a_call_may_change(unit: Any, call: str, canonical: bool) -> None:
    """Intrinsics take values; a function that nobody knows may take a reference."""
    u = unit("__global__ void k(float* a, int* b, X x, int m) { for (int i = 0; i < m; ++i) { CALL; } }"
             .replace("CALL", call))
    assert bool(nodes(u, ir.For)) == canonical


def test_parameters_without_a_name_and_marks_of_unused_ones(unit: Any) -> None:
    from genome.normal import normalise

    u = unit("__global__ void k(const float* a, float* b, int, int unused_3, float n = 1.0f) "
             "{ int i = blockIdx.x * blockDim.x + threadIdx.x; (void)a; (void)n; b[i] = 1.0f; }")
    assert [p.name for p in u.kernel.params] == ["a", "b", "unused_3_", "unused_3", "n"]
    assert "float n)" in u.cuda() and "(void)a;" in u.cuda()
    assert not any(isinstance(n, ir.Cast) for n in walk.walk(normalise(u.kernel).body))


def test_a_null_test_keeps_threads_where_they_are() -> None:
    """Loads must not be moved in front of it."""
    from tests.helpers.kernels import scheduled

    state = scheduled("__global__ void k(const float* a, const float* c, float* b, int N) { "
                      "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < N) b[i] = c ? c[i] : a[i]; }")
    refusal = state.logical.mapping_refusal
    assert refusal is not None and refusal.code == "pointer-escapes"
