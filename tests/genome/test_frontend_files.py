"""Files as people have them: headers of their own, code that the grammar cannot take, several kernels, build flags."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from genome import ir, walk
from genome.errors import InputError
from genome.frontend.chunks import top_level
from genome.frontend.compile_commands import compiler_flags, find, flags_of
from genome.frontend.coords import literal_block
from genome.normal import normalise
from genome.printer.cuda import print_body, print_expr
from genome.unit import list_kernels, load_unit
from tests.corpus.tools import CASES, ptx

KERNEL = ("__global__ void k(float* a, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
          "  if (i < n) a[i] = 0;\n}\n")


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "k.cu"


def test_the_corpus_is_large_enough() -> None:
    assert len(CASES) >= 100


# ---------------------------------------------------------------------------------------------------- own headers
def test_own_headers_are_read_beside_the_file_and_in_include_folders(tmp_path: Path) -> None:
    path = write(tmp_path, k_dot_cu='#include "types.h"\n#include <shared/scale.cuh>\n\n'
                                    "__global__ void k(real* a) {\n  a[0] = scale(a[0]) + SHIFT;\n}\n",
                 types_dot_h="#pragma once\ntypedef double real;\n#define SHIFT 3\n",
                 inc__shared__scale_dot_cuh='#include "../../types.h"\n\n'
                                            "__device__ real scale(real x) { return x * SHIFT; }\n")
    unit = load_unit(path, include=[str(tmp_path / "inc")])
    assert "a[0] = scale(a[0]) + 3;" in unit.cuda() and unit.cuda().count("typedef double real;") == 1
    assert unit.cuda().index("typedef") < unit.cuda().index("scale(real x)") < unit.cuda().index("__global__")
    assert [s.loc.line for s in unit.kernel.body] == [5] and not unit.notes
    assert f'#line 3 "{tmp_path / "inc/shared/scale.cuh"}"' in unit.cuda_original()
    assert ptx(unit.cuda()) == ptx(unit.cuda_original())


def test_a_kernel_in_a_header_has_the_headers_lines(tmp_path: Path) -> None:
    path = write(tmp_path, k_dot_cu='#include "kernels.cuh"\nint main() { k<<<1, 32>>>(0, 3); }\n',
                 kernels_dot_cuh="#pragma once\n\n" + KERNEL)
    unit = load_unit(path)
    assert unit.file == str(tmp_path / "kernels.cuh") and unit.kernel.loc.line == 3
    assert [s.loc.line for s in unit.kernel.body] == [4, 5]
    assert not list_kernels(path) and [e.line for e in list_kernels(tmp_path / "kernels.cuh")] == [3]


def test_missing_headers_are_left_out_and_said(tmp_path: Path) -> None:
    head = '#include "gone.h"\n#include <torch/extension.h>\n#include <cuda_fp16.h>\n'
    path = write(tmp_path, k_dot_cu=head + KERNEL)
    unit = load_unit(path)
    assert [n.removeprefix(f"{path}:") for n in unit.notes] == [
        '1: #include "gone.h" is not found and is left out',
        "2: #include <torch/extension.h> is not found and is left out"]
    assert "cuda_fp16.h" in unit.cuda() and "gone" not in unit.cuda() and ptx(unit.cuda())


def test_headers_that_include_each_other_end(tmp_path: Path) -> None:
    path = write(tmp_path, k_dot_cu='#include "a.h"\n' + KERNEL, a_dot_h='#pragma once\n#include "b.h"\nint a;\n',
                 b_dot_h='#pragma once\n#include "a.h"\nint b;\n')
    assert load_unit(path).kernel.loc.line == 2


def test_an_include_inside_of_a_body_stays(tmp_path: Path) -> None:
    path = write(tmp_path, k_dot_cu='__global__ void k(float* a) {\n#include "body.inc"\n}\n',
                 body_dot_inc="a[0] = 1;\n")
    assert any(isinstance(n, ir.Opaque) for n in walk.walk(load_unit(path).kernel.body))


# --------------------------------------------------------------------------------------------- what is unreadable
def test_host_code_that_cannot_be_parsed_swallows_no_kernel(tmp_path: Path) -> None:
    path = write(tmp_path, k_dot_cu="int weird() { @@ if ( ) ] return `x`; }\nSTRANGE THING ((\n;\n" + KERNEL
                 + "void after() { $$ ( }\n" + KERNEL.replace(" k(", " l("))
    assert [(e.name, e.line) for e in list_kernels(path)] == [("k", 4), ("l", 9)]
    unit = load_unit(path, "l")
    assert unit.kernel.loc.line == 9 and any("cannot be parsed" in n for n in unit.notes)


def test_a_broken_kernel_is_listed_and_refused_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, k_dot_cu=KERNEL + "__global__ void bad(float* a) {\n  a[0] = = 1;\n}\n")
    assert [e.name for e in list_kernels(path)] == ["k", "bad"] and load_unit(path, "k").kernel.name == "k"
    with pytest.raises(InputError, match=r"k\.cu:6: kernel 'bad' cannot be parsed"):
        load_unit(path, "bad")


def test_top_level_chunks() -> None:
    code = (b'#include <a>\n// {\nnamespace x { int f() { return \'}\'; }\nstruct S { int a; };\n}\nextern "C" {\n'
            b'void g(const char* s = "{");\n}\nint t[2] = {1, 2};\n')
    assert [code[c.start:c.end].strip() for c in top_level(code)] == [
        b"int f() { return '}'; }", b"struct S { int a; };", b'void g(const char* s = "{");', b"int t[2] = {1, 2};"]
    assert [c.host for c in top_level(code)] == [True, False, False, False]


def test_an_unknown_macro_before_a_body_is_kept_as_one_piece(tmp_path: Path) -> None:
    path = write(tmp_path, k_dot_cu="__global__ void k(float* a, int n) {\n  float s = 1;\n"
                                    "  LOOP(i, n) {\n    a[i] = s;\n  }\n}\n")
    (kept,) = [n for n in load_unit(path).kernel.body if isinstance(n, ir.Opaque)]
    assert kept.reason == "unknown macro" and kept.barrier and kept.text.startswith("LOOP") and kept.text.endswith("}")


# -------------------------------------------------------------------------------------------- traps of the grammar
@pytest.mark.parametrize(("text", "printed"), [
    ("x = (i) + n * j;", "x = i + n * j;"), ("x = (i) - (n) * (j);", "x = i - n * j;"),
    ("x = (i) * n + (j) & 3;", "x = i * n + j & 3;"), ("x = (LIMIT) + i * n;", "x = LIMIT + i * n;"),
    ("x = (real)+i * n;", "x = (real)(+i) * n;"), ("x = i < n >> 1;", "x = i < n >> 1;"),
    ("x = i < LIMIT >> j;", "x = i < LIMIT >> j;"), ("x = i < n && j >= (n);", "x = i < n && j >= n;"),
])
def test_what_the_grammar_misreads(tmp_path: Path, text: str, printed: str) -> None:
    path = write(tmp_path, k_dot_cu="typedef float real;\nconst int LIMIT = 8;\n"
                                    f"__global__ void k(int i, int n, int j, int x) {{ {text} }}\n")
    assert print_body(load_unit(path).kernel.body) == printed + "\n"


# -------------------------------------------------------------------------------------------- templates and flags
def test_instances_come_from_the_file_else_from_the_parameters(tmp_path: Path) -> None:
    path = write(tmp_path, k_dot_cu="struct Op {};\n"
                 "template <typename T, int TILE> __global__ void used(T* a) {\n#pragma unroll TILE\n"
                 "  for (int i = 0; i < TILE; ++i) a[i] = TILE;\n}\n"
                 "template <typename T, bool FLIP, int BLOCK> __global__ void unused(T* a) { a[0] = BLOCK; }\n"
                 "template <typename... Ts> __global__ void pack(Ts... a) {}\n"
                 "template <class F> __global__ void functor(float* a, F f) { a[0] = 1; }\n"
                 "void go(float* p) { used<double, 4><<<1, 1>>>((double*)p); functor<Op><<<1, 1>>>(p, Op()); }\n")
    entries = list_kernels(path)
    assert [e.name for e in entries] == ["used<double, 4>", "unused<float, true, 128>", "pack", "functor<Op>"]
    assert entries[2].problem and not entries[0].problem
    unit = load_unit(path, entries[0].name)
    (loop,) = [n for n in walk.walk(unit.kernel.body) if isinstance(n, ir.For)]
    assert loop.unroll == 4 and "#pragma unroll 4" in unit.cuda_original()
    assert ptx(unit.cuda()) == ptx(unit.cuda_original())


def test_a_specialisation_is_a_kernel_of_its_own(tmp_path: Path) -> None:
    path = write(tmp_path, k_dot_cu="template <typename T> __global__ void k(T* a);\n"
                 "template <> __global__ void k<float>(float* a) { a[0] = 1; }\n"
                 "template <>\n__global__ void k<double>(double* a) { a[0] = 2; }\n")
    entries = list_kernels(path)
    assert [(e.name, e.line) for e in entries] == [("k<float>", 2), ("k<double>", 4)]
    for e, value in zip(entries, "12", strict=True):
        unit = load_unit(path, e.name, line=e.line)
        assert unit.kernel.name == "k" and f"a[0] = {value};" in unit.cuda() and "template" not in unit.cuda()
        assert ptx(unit.cuda()) == ptx(unit.cuda_original())


def test_a_template_beside_its_specialisation(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text("template <class T>\n__global__ void k(T* a) { a[0] = 1; }\n"
                    "template <>\n__global__ void k<int>(int* a) { a[0] = 2; }\n")
    entries = list_kernels(path)
    assert [(e.name, e.line) for e in entries] == [("k<int>", 2), ("k<int>", 4)]
    for e, value in zip(entries, "12", strict=True):
        assert f"a[0] = {value};" in load_unit(path, e.name, line=e.line).cuda()
    assert "a[0] = 2;" in load_unit(path, "k<int>").cuda()  # as C++ has it


def test_flags_of_compile_commands(tmp_path: Path) -> None:
    path = write(tmp_path, src__k_dot_cu=KERNEL)
    source = tmp_path / "src/k.cu"
    (tmp_path / "build").mkdir()
    (tmp_path / "build/compile_commands.json").write_text(json.dumps([{
        "directory": str(tmp_path / "build"), "file": "../src/k.cu",
        "command": "nvcc -I../inc -DN=4 -D FAST -isystem /opt/x -std=c++17 -O3 --use_fast_math -fmad false -Xcompiler "
                   "-fPIC -c ../src/k.cu"}]))
    database = find(source)
    assert database is not None and not path.exists()
    assert flags_of(source, database) == ((str(tmp_path / "inc"), "/opt/x"), {"N": "4", "FAST": "1"})
    assert compiler_flags(source, database) == ("-std=c++17", "--use_fast_math", "-fmad=false")
    assert flags_of(tmp_path / "src/other.cu", database) == ((), {})
    assert compiler_flags(tmp_path / "src/other.cu", database) == ()
    database.write_text("[{")
    with pytest.raises(InputError, match="compile_commands.json: cannot be read"):
        flags_of(source, database)


# ---------------------------------------------------------------------------------------------------- coordinates
@pytest.mark.parametrize("text", [
    "1 + blockIdx.x * blockDim.x + threadIdx.x", "threadIdx.x + 1 + blockDim.x * blockIdx.x",
    "blockIdx.x * blockDim.x + (1 + threadIdx.x)",
])
def test_coordinates_in_longer_sums(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, k_dot_cu=f"__global__ void k(float* a, unsigned n) {{ a[{text}] = n; }}")
    (index,) = [n for n in walk.walk(normalise(load_unit(path).kernel).body) if isinstance(n, ir.Index)]
    assert index.subs == (ir.Bin("+", ir.Coord("x"), ir.IntLit(1)),)


@pytest.mark.parametrize("text", [
    "n + blockIdx.x * blockDim.x + threadIdx.x", "1.0f + blockIdx.x * blockDim.x + threadIdx.x",
])
def test_sums_whose_order_matters_stay(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, k_dot_cu=f"__global__ void k(float* a, long n) {{ a[(int)({text})] = 0; }}")
    body = normalise(load_unit(path).kernel).body
    assert not [n for n in walk.walk(body) if isinstance(n, ir.Coord)], print_expr(body[0].target)  # type: ignore[union-attr]


def test_the_block_that_literals_stand_for(tmp_path: Path) -> None:
    head = "#define B 16\n__global__ void k(float* a) { int x = blockIdx.x * B + threadIdx.x"
    assert literal_block(load_unit(write(tmp_path, k_dot_cu=head + "; a[x] = 0; }")).kernel) == (16, 1, 1)
    two = head + ", y = threadIdx.y + 8 * blockIdx.y; a[x + y] = 0; }"
    assert literal_block(load_unit(write(tmp_path, k_dot_cu=two)).kernel) == (16, 8, 1)
    both = head + ", z = blockIdx.x * 32 + threadIdx.x; a[x + z] = 0; }"
    assert literal_block(load_unit(write(tmp_path, k_dot_cu=both)).kernel) is None


@pytest.mark.parametrize(("text", "line"), [
    ("int a; /* b */ int c;", 0), ("int a;\n/* b\nint c;", 2), ("// /*\nint a;", 0),
    ('const char* s = "/*"; int a;', 0),
    ("char c = '/'; /* x", 1), ("int a; // \\\n/* \nint b;", 0), ("/* a /* b */ int c;", 0), ("int a /**/;/*", 1),
    ("int n = 1'000'000; /* x */", 0), ("a = b */* c", 1), ("/*/ x", 1), ("'\\'' /* y */", 0)])
def test_comments_without_an_end(text: str, line: int) -> None:
    from genome.frontend.preprocess import unclosed_comment

    assert unclosed_comment(text) == line
