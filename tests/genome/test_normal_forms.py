"""Each normal form separately, wherever it fires in the corpus: the compiler makes the same machine code of the kernel
before and after it, or both give the same bits on the OpenCL device (on a GPU, where OpenCL cannot take the kernel)."""

from __future__ import annotations

import struct
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from genome.unit import SourceUnit, load_unit
from tests.corpus.tools import FOLDER, load
from tests.genome import test_printer_opencl as on_opencl
from tests.helpers.forms import FORMS, Firing, all_firings, firings, same_code, table

GROUPS = "cooperative:"  # their headers take seconds to compile
ONE = ((128,), (32,))
# Where the code differs (other operand orders, 64-bit subscripts), and how the kernel is launched: (global, local
# size), values of the scalars in order. Kernels of one file are launched as in test_printer_opencl.
PARAMS_BYTES = struct.pack("iifff", 20, 11, 0.5, 2.0, -1.0)  # of the struct Params
RUNS: dict[str, tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[Any, ...]]] = {
    **{n: on_opencl.RUNS[n] for n in ("early_return", "flat_index", "grid_stride", "pointer_stride", "pointer_walk",
                                      "shared_tile", "three_d", "unsigned_index")},
    "barriers:tiled_product": (((16, 16), (8, 8)), (13,)), "barriers:planes": (((16, 16), (8, 8)), (11, 13, 5)),
    "c_style:row_sums": (((512,), (64,)), ()), "c_style:shift_rows": (((32, 9), (16, 1)), (9, 31)),
    "data_types:by_value": (((32, 16), (16, 4)), (np.frombuffer(PARAMS_BYTES, np.int32),)),
    "data_types:fourier": (ONE, (100,)), "data_types:convolve3": (((32, 16), (16, 4)), (19, 11)),
    "data_types:split_index": (((256,), (32,)), (240, 3, 8, 10)), "library_user:histogram": (((256,), (64,)), (1000,)),
    "more_shapes:padded": (ONE, (100,)), "more_shapes:offset": (ONE, (100, 7)), "more_shapes:tail": (ONE, (200,)),
    "templated:tiled_gemm<64, 64, 8, 8>": (((512,), (512,)), (64, 64, 64, 0.5, 0.25)),
    "walkers:two_walks": (ONE, (50, 40)), "walkers:row_offsets": (((32, 16), (16, 4)), (13, 17)),
}
# OpenCL C cannot take these (warp shuffles, overloaded operators): they run on a GPU
CUDA_RUNS: dict[str, tuple[tuple[int, int, int], tuple[int, int, int], tuple[Any, ...]]] = {
    "block_work:softmax_rows": ((4, 1, 1), (256, 1, 1), (100,)),
    "generic:map_clamped<float, Scale>": ((4, 1, 1), (32, 1, 1), (1000, 1.5, -0.5, 0.75)),
}
REPLACED = {"uchar3": "uchar4",
            "__constant__ float filter[9];": "__constant__ float filter[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};",
            "__constant__ Params defaults;": "__constant__ Params defaults = {1, 2, {0.5f, 0.0f, 0.0f}};"}
TYPES = {"long": np.int64, "int64_t": np.int64, "cplx": np.float32, "DATA_TYPE": np.float32}
LARGE = 512 * 512  # elements of the arrays of kernels whose sizes are macros


@cache
def firing(form: str, case: str, number: int = 0) -> Firing:
    return [f for f in all_firings() if (f.form, f.case) == (form, case)][number]


KEYS = [(f.form, f.case, [g for g in all_firings() if (g.form, g.case) == (f.form, f.case)].index(f))
        for f in all_firings() if not f.case.startswith(GROUPS)]


def quick(key: tuple[str, str, int]) -> bool:
    """Two of each form in the short run."""
    same = [k for k in KEYS if k[0] == key[0]]
    return same.index(key) < 2


PARAMS = [pytest.param(*k, marks=[] if quick(k) else pytest.mark.slow, id=f"{k[0]}-{k[1]}-{k[2]}") for k in KEYS]


def for_opencl(f: Firing, number: int, tmp_path: Path) -> tuple[SourceUnit, Firing]:
    """The kernel with tables that the host would fill given as initialisers, and with four bytes for three."""
    text = (FOLDER / f"{f.case.partition(':')[0]}.cu").read_text()
    if not any(a in text for a in REPLACED):
        return load(f.case), f
    for a, b in REPLACED.items():
        text = text.replace(a, b)
    path = tmp_path / "replaced.cu"
    path.write_text(text)
    name = load(f.case).kernel.name
    unit = load_unit(path, name)
    same = [g for g in firings(f.case, unit, load_unit(path, name, coordinates=False)) if g.form == f.form]
    return unit, same[number]


@pytest.mark.parametrize(("form", "case", "number"), PARAMS)
def test_the_form_changes_nothing(form: str, case: str, number: int, tmp_path: Path,
                                  monkeypatch: pytest.MonkeyPatch) -> None:
    f = firing(form, case, number)
    if same_code(load(case), f):
        return
    if case in CUDA_RUNS:
        pytest.skip("compared on a GPU")
    assert case in RUNS, f"{f}: other machine code, and no launch to compare by"
    unit, f = for_opencl(f, number, tmp_path)
    monkeypatch.setattr(on_opencl, "DTYPES", {**on_opencl.DTYPES, **TYPES})
    if case.startswith("c_style:row"):
        monkeypatch.setattr(on_opencl, "ELEMENTS", LARGE)
    start = on_opencl.buffers(unit)
    before, after = (on_opencl.run(unit, k, case, RUNS) for k in (f.before, f.after))
    assert any(not np.array_equal(a, b) for a, b in zip(start, before, strict=True)), "the kernel wrote nothing"
    for a, b in zip(before, after, strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.gpu
@pytest.mark.parametrize(("form", "case", "number"), [k for k in KEYS if k[1] in CUDA_RUNS])
def test_the_form_changes_nothing_on_a_gpu(form: str, case: str, number: int) -> None:
    from benchmarks._device import Cuda, Step
    from benchmarks._ptx import cubin

    f, unit, device = firing(form, case, number), load(case), Cuda()
    grid, block, scalars = CUDA_RUNS[case]
    dtypes = {"size_t": np.uint64, "float": np.float32, "int": np.int32, "Scale": np.float32}  # a struct of one float
    results = []
    for kernel in (f.before, f.after):
        values, arguments = iter(scalars), []
        for i, p in enumerate(unit.kernel.params):
            if p.type.pointer:
                arguments.append((p.name, np.random.default_rng(i).uniform(-1, 1, 4096).astype(np.float32)))
            else:
                arguments.append((p.name, dtypes[p.type.base](next(values))))
        module = device.build(cubin(unit.cuda(replace(kernel, name=unit.kernel.name))))
        results.append(device.run(module, Step(unit.kernel.name, grid, block, 4096, tuple(arguments))))
    for name, values_ in results[0].items():
        assert results[1][name].tobytes() == values_.tobytes()


@pytest.mark.parametrize("form", FORMS)
def test_each_form_fires_in_three_kernels(form: str) -> None:
    assert len(table()[form]) >= 3, table()[form]


def test_the_comparison_sees_a_wrong_form() -> None:
    f = firing("guard_regions", "early_return")
    assert not same_code(load("early_return"), replace(f, after=f.after.with_body(f.after.body[:-1])))
