"""OpenCL output: the translatable part of the corpus compiles and runs on the CPU, the normal form gives the same bits
as the kernel as loaded, and what cannot be translated is refused with its reason."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from genome import ir
from genome.errors import Refusal
from genome.normal import normalise
from genome.printer.opencl import print_expr
from genome.unit import SourceUnit, load_unit
from tests.corpus.tools import NAMES, load

REFUSED = {
    "atomic_float": "atomicAdd' on 'float'", "conditional": "preproc if", "constant_filled": "filled by the host",
    "inline_asm": "asm volatile", "references": "takes references", "shuffles": "inside a warp",
    "switch_goto": "switch",
}
ONE = ((128,), (32,))
# name → (global size, local size), values of the scalars in order
RUNS: dict[str, tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[Any, ...]]] = {
    "saxpy": (ONE, (100, 1.5)), "early_return": (((32, 16), (16, 4)), (13, 17, 9)), "macros": (((48,), (16,)), (5, 33)),
    "template_type": (ONE, (100,)), "pointer_walk": (ONE, (20, 11)), "pointer_stride": (ONE, (11, 20)),
    "post_increment": (ONE, (50,)), "shared_tile": (((32, 32), (16, 16)), (24,)), "dynamic_shared": (ONE, (100,)),
    "shared_scalar": (ONE, (100,)), "structs": (ONE, (np.array([5, 6], np.int32), 0.25)), "vector_types": (ONE, (30,)),
    "while_loops": (ONE, (100,)), "ternaries": (ONE, (100, 3)), "atomics": (ONE, (100, 16)),
    "helpers": (ONE, (100,)), "constants": (ONE, (100, 5)), "grid_stride": (ONE, (300,)),
    "three_d": (((8, 8, 8), (4, 4, 4)), (5, 6, 7)), "negative_steps": (ONE, (20, 3)), "unroll_pragmas": (ONE, (50,)),
    "shadowing": (ONE, (100,)), "precedence": (ONE, (40,)), "unsigned_index": (((32, 16), (16, 4)), (19, 11)),
    "launch_bounds": (ONE, (100,)), "aligned": (ONE, (100,)), "flat_index": (ONE, (9, 11)),
    "nested_calls": (ONE, (100,)), "private_arrays": (ONE, (100,)), "if_chain": (ONE, (100, 1)),
    "two_kernels": (ONE, (100,)), "long_types": (ONE, (100,)), "namespaced": (ONE, (100,)),
    "comparisons": (ONE, (100, 7, np.array([3, 40], np.int32))), "loop_bounds": (ONE, (40,)),
    "kernel_names": (ONE, (100,)),
}
DTYPES = {
    "float": np.float32, "double": np.float64, "int": np.int32, "unsigned int": np.uint32, "unsigned char": np.uint8,
    "long long": np.int64, "unsigned long long": np.uint64, "size_t": np.uint64, "bool": np.uint8,
    "unsigned short": np.uint16, "signed char": np.int8, "u64": np.uint64, "real": np.float32,
}
ELEMENTS = 4096


def test_every_kernel_of_the_corpus_is_accounted_for() -> None:
    assert set(RUNS) | set(REFUSED) == set(NAMES)
    assert len(NAMES) >= 30


@cache
def device() -> Any:
    cl = pytest.importorskip("pyopencl")
    for platform in cl.get_platforms():
        if "Portable" in platform.name:
            context = cl.Context(platform.get_devices()[:1])
            return context, cl.CommandQueue(context)
    pytest.skip("PoCL is not installed")


def buffers(unit: SourceUnit) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(7)
    out = []
    for p in unit.kernel.params:
        if p.type.pointer:
            dtype = np.dtype(DTYPES.get(p.type.base, np.float32))
            if dtype.kind == "f":
                out.append(rng.uniform(-1, 1, ELEMENTS).astype(dtype))
            else:
                out.append(rng.integers(0, 50, ELEMENTS).astype(dtype))
    return out


def run(unit: SourceUnit, kernel: ir.Kernel, name: str, runs: Any = None) -> list[np.ndarray[Any, Any]]:
    """The buffers after one launch on the CPU."""
    import pyopencl as cl

    context, queue = device()
    (global_size, local_size), scalars = (runs or RUNS)[name]
    source = unit.opencl(kernel, contract=False)
    program = cl.Program(context, source).build(["-cl-opt-disable", "-cl-std=CL1.2"])
    host = buffers(unit)
    held = [cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=a) for a in host]
    pointers, values = iter(held), iter(scalars)
    args: list[Any] = []
    for p in unit.kernel.params:
        if p.type.pointer:
            args.append(next(pointers))
        else:
            value = next(values)
            args.append(value if isinstance(value, np.ndarray) else DTYPES[p.type.base](value))
    if name == "dynamic_shared":
        args.append(cl.LocalMemory(4 * local_size[0]))
    cl.Kernel(program, kernel.name)(queue, global_size, local_size, *args)
    for a, b in zip(host, held, strict=True):
        cl.enqueue_copy(queue, a, b)
    return host


@pytest.mark.parametrize("name", sorted(RUNS))
def test_normal_form_gives_the_same_bits(name: str) -> None:
    unit = load(name)
    before = buffers(unit)
    want, got = run(unit, unit.kernel, name), run(unit, normalise(unit.kernel), name)
    assert any(not np.array_equal(a, b) for a, b in zip(before, want, strict=True)), "the kernel wrote nothing"
    for a, b in zip(want, got, strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refusals_name_their_reason(name: str) -> None:
    unit = load(name)
    with pytest.raises(Refusal, match=REFUSED[name]) as caught:
        unit.opencl()
    assert caught.value.code == "opencl-untranslatable"


def test_matrix_product_against_numpy() -> None:
    unit = load("early_return")
    a, b, _ = buffers(unit)
    m, n, k = RUNS["early_return"][1]
    got = run(unit, unit.kernel, "early_return")[2][: m * n].reshape(m, n)
    np.testing.assert_allclose(got, a[: m * k].reshape(m, k) @ b[: k * n].reshape(k, n), rtol=1e-5, atol=1e-6)


def test_math_functions_against_numpy() -> None:
    unit = load("nested_calls")
    v = buffers(unit)[0][:100].astype(np.float64)
    i = np.arange(100)
    from math import erf

    want = (np.clip(np.abs(v) ** 1.5, -10, 10) + np.tanh(v) * np.vectorize(erf)(v) + np.floor(v) + np.ceil(v)
            + np.log(np.abs(v) + 1) + np.sin(v) * np.cos(v) + np.maximum(v, 0) + np.minimum(i, 3) + np.abs(v)
            + np.copysign(1, v) + np.fmod(v, 3) + np.abs(i - 5) + np.trunc(v + np.copysign(0.5, v))
            + np.exp2(v * 0.1) + np.rint(v))
    np.testing.assert_allclose(run(unit, unit.kernel, "nested_calls")[1][:100], want, rtol=1e-5, atol=1e-5)


def test_column_sums_against_numpy() -> None:
    unit = load("pointer_stride")
    a = buffers(unit)[0]
    got = run(unit, normalise(unit.kernel), "pointer_stride")[1][:20]
    np.testing.assert_allclose(got, a[:220].reshape(11, 20).sum(0), rtol=1e-5, atol=1e-6)


def source(tmp_path: Path, text: str) -> SourceUnit:
    path = tmp_path / "k.cu"
    path.write_text(text)
    return load_unit(path)


def test_helpers_are_cloned_by_address_space() -> None:
    text = load("helpers").opencl()
    assert "float load(__global const float* p, int i, int n);" in text
    assert "float load_l(__local const float* p, int i, int n);" in text
    assert "int dot_(int a, int b);" in text  # dot is a function of OpenCL's own


def test_contraction_and_double_are_pragmas() -> None:
    unit = load("three_d")
    assert "#pragma OPENCL FP_CONTRACT OFF" in unit.opencl(contract=False)
    assert "FP_CONTRACT" not in unit.opencl()
    assert "cl_khr_fp64" in unit.opencl()
    assert "cl_khr_fp64" not in load("saxpy").opencl()


def test_casts_of_pointers_carry_the_space() -> None:
    text = load("vector_types").opencl()
    assert "((__global const float4*)a)[i]" in text
    assert "((__global float4*)c)[i].x += (float)i" in text


def test_local_arrays_stand_at_kernel_scope(tmp_path: Path) -> None:
    text = source(tmp_path, "__global__ void k(float* a) { if (a[0] > 0) { __shared__ float s[4]; s[0] = 1.0f;"
                            " __syncthreads(); a[1] = s[0]; } }").opencl()
    assert text.index("__local float s[4];") < text.index("if (")
    assert "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);" in text


def test_pointers_to_shared_scalars(tmp_path: Path) -> None:
    text = source(tmp_path, "__global__ void k(int* a) { __shared__ int s; int* p = &s; *p = 1; a[0] = s; }").opencl()
    assert "__local int* p = &s;" in text


@pytest.mark.parametrize(("body", "reason"), [
    ("a[0] = unknown(1.0f);", "'unknown' has no OpenCL counterpart"),
    ("a[0] = __shfl_xor_sync(0xffffffff, a[1], 1);", "inside a warp"),
    ("wchar_t x = 0; a[0] = x;", "the type 'wchar_t'"),
    ("float3* p = (float3*)a; p[0].x = 1.0f;", "another size"),
    ("a[0] = somewhere;", "'somewhere' is not known"),
    ("auto f = [](float x) { return x; }; a[0] = f(1.0f);", "the type of 'auto f'"),
    ("float* p = a; __shared__ float s[4]; p = s; p[0] = 1.0f;", "two address spaces"),
    ("a[0] = pow(a[0], 2);", "integer argument"),
    ("static int count = 0; count++;", "static variable"),
])
def test_untranslatable(tmp_path: Path, body: str, reason: str) -> None:
    unit = source(tmp_path, f"__global__ void k(float* a) {{ {body} }}")
    with pytest.raises(Refusal, match=reason):
        unit.opencl()


def test_expressions() -> None:
    a = ir.Param(ir.CType("float", 1, const=True), "a")
    load_ = ir.Call("__ldg", (ir.Un("&", ir.Index(ir.Var("a"), (ir.IntLit(3),))),))
    assert print_expr(load_, [a]) == "a[3]"
    assert print_expr(ir.Call("fmaxf", (load_, ir.IntLit(0))), [a]) == "fmax(a[3], (float)0)"
    assert print_expr(ir.Builtin("threadIdx.y")) == "(uint)get_local_id(1)"
    assert print_expr(ir.Coord("x")) == "(uint)(get_group_id(0) * get_local_size(0) + get_local_id(0))"
    assert print_expr(ir.IntLit(5, "ull")) == "5ul"
