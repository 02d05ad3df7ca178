"""Compiling CUDA without a GPU: resources, identity of binaries, the cache, the prelude, a compiler that hangs."""

from __future__ import annotations

import queue
import re
import select
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from genome.program import Launch, Program
from gpu import compile_cache, compile_nvcc, cubin, elf, frames, ptxas, support_cuda
from gpu.child import Child
from gpu.compile_common import BuilderConfig, BuildOutcome
from gpu.engine import Engine, Pool, Task
from gpu.evaluator import _build_failure
from gpu.records import DeviceInfo, Verdict
from tests.conformance.sgemm_text import program

pytest.importorskip("cuda.bindings.nvrtc")

H200 = DeviceInfo("cuda", "NVIDIA H200", "sm_90", 132, max_shared_optin=232448, shared_per_multiprocessor=233472)


class Compiler:
    """A builder child, called one program at a time."""

    def __init__(self, folder: Path, flags: tuple[str, ...] = ()) -> None:
        self.child = Child("builder-cuda", BuilderConfig(flags, str(folder), 60.0, H200))

    def __call__(self, source: str | Program, block: tuple[int, int, int] = (256, 1, 1), shared: int = 0,
                 name: str = "k") -> BuildOutcome:
        made = source if isinstance(source, Program) else Program(
            source, (Launch(name, ("1", "1", "1"), block, shared),))
        self.child.send({"op": "compile", "program": made})
        while True:
            assert select.select([self.child.read_fd], [], [], 60.0)[0]
            kind, *rest = self.child.receive()
            if kind not in ("stage", "fact"):
                assert kind == "done", rest
                outcome = rest[0]
                assert isinstance(outcome, BuildOutcome)
                return outcome


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compiler]:
    made = Compiler(tmp_path_factory.mktemp("cache"))
    yield made
    made.child.kill()


def built(outcome: BuildOutcome) -> Any:
    assert outcome.verdict == Verdict.OK, outcome
    return outcome.built


COPY = 'extern "C" __global__ void k(const float* a, float* b, int n) { int i = threadIdx.x; if (i < n) b[i] = a[i]; }'


def test_resources(compiler: Compiler) -> None:
    tile = built(compiler("""__global__ void k(const float* a, float* b) {
      __shared__ float s[2048]; s[threadIdx.x] = a[threadIdx.x]; __syncthreads(); b[threadIdx.x] = s[threadIdx.x ^ 1]; }
      """, shared=1024))
    facts = tile.resources
    assert facts.shared_bytes == 8192 + 1024 and facts.spill_bytes == 0 and 4 <= facts.registers <= 32
    assert facts.code_bytes > 0 and facts.occupancy == 1.0 and facts.compile_seconds > 0
    spilling = built(compiler("""__global__ void __launch_bounds__(1024) k(const float* a, float* b) { float r[128];
      #pragma unroll
      for (int j = 0; j < 128; ++j) r[j] = a[threadIdx.x + j * 1024];
      __syncthreads();
      #pragma unroll
      for (int j = 0; j < 128; ++j) b[threadIdx.x * 128 + j] = r[127 - j] * r[j]; }""", block=(1024, 1, 1)))
    assert spilling.resources.registers == 64 and spilling.resources.spill_bytes > 0
    assert spilling.resources.stack_bytes > 0 and spilling.resources.occupancy == 0.5


def test_compile_error_has_the_users_line(compiler: Compiler) -> None:
    outcome = compiler(program("cuda", result="C[y * N + x] = oops;"))
    assert outcome.verdict == Verdict.COMPILE_ERROR and 'identifier "oops" is undefined' in outcome.reason
    assert re.search(r"sgemm\.src\(11\)", outcome.log)
    assert "no kernel 'gone'" in compiler(COPY, name="gone").reason


def test_identity_of_binaries(compiler: Compiler) -> None:
    """Names and comments do not matter; a constant, a launch, an instruction do."""
    one = built(compiler(COPY)).resources.binary
    assert built(compiler(COPY.replace("k(", "other_name("), name="other_name")).resources.binary == one
    assert built(compiler(COPY + " // the same")).resources.binary == one
    assert built(compiler(COPY, block=(128, 1, 1))).resources.binary != one
    assert built(compiler(COPY, shared=128)).resources.binary != one
    assert built(compiler(COPY.replace("a[i]", "a[i] + 1.5f"))).resources.binary != one
    table = ('__constant__ float t[4] = {1, 2, 3, VALUE}; extern "C" __global__ void k(float* b)'
             " { b[threadIdx.x] = t[threadIdx.x & 3]; }")
    four, five = (built(compiler(table.replace("VALUE", v))).resources.binary for v in ("4", "5"))
    assert four != five


def test_parameters_are_read_from_the_cubin(compiler: Compiler) -> None:
    made = built(compiler(
        'extern "C" __global__ void k(float* a, int n, double x, char c, const float* b) { a[n] = x; }'))
    assert cubin.parameter_sizes(made.binary, "k") == [8, 4, 8, 1, 8]
    assert cubin.parameter_sizes(made.binary, "gone") is None


def test_templates_and_prelude(compiler: Compiler) -> None:
    made = built(compiler("""#include <cstdint>
      #include <cfloat>
      #include <cuda_fp16.h>
      #include <cuda_runtime.h>
      int helper(int x) { return x + 1; }
      template <class T, int N> __global__ void k(T* b, uint32_t n) {
        b[threadIdx.x] = std::max((T)helper(N), (T)M_PI) + (T)INT_MAX + (n ? INFINITY : FLT_MAX)
                         + std::numeric_limits<float>::max() + __half2float(__float2half(1.0f)); }""",
                             name="k<float, 16>"))
    assert made.entries[0].startswith("_Z1kIfLi16E")


def test_the_prelude_agrees_with_cooperative_groups(compiler: Compiler) -> None:
    """Their headers define the integer types themselves; C++ takes mixed arguments to double."""
    source = """#include <stdint.h>
      #include <cooperative_groups.h>
      namespace cg = cooperative_groups;
      __global__ void k(float* a, double* b, int64_t n, uint8_t* c) {
        cg::thread_block block = cg::this_thread_block();
        auto tile = cg::tiled_partition<32>(block);
        a[block.thread_rank()] = pow(a[0], 2.0) + std::pow(b[0], a[1]) + fmax(a[2], 0.0) + sqrt(n) + c[n];
        block.sync(); }"""
    assert built(compiler(source)).entries
    assert built(compiler(source.replace("#include <cooperative_groups.h>", "").replace(
        "namespace cg = cooperative_groups;", "").replace("cg::thread_block block = cg::this_thread_block();", "")
        .replace("auto tile = cg::tiled_partition<32>(block);", "").replace("block.thread_rank()", "threadIdx.x")
        .replace("block.sync();", "std::is_same<int64_t, long>::value;"))).entries


@pytest.mark.slow
def test_nvcc_takes_what_nvrtc_cannot(compiler: Compiler) -> None:
    """cub's headers hold host code. An error of the kernel's own is not tried twice."""
    if not compile_nvcc.available():
        pytest.skip("no nvcc")
    source = """#include <cub/cub.cuh>
      extern "C" __global__ void k(float* a) {
        typedef cub::BlockReduce<float, 128> Reduce;
        __shared__ Reduce::TempStorage room;
        float s = Reduce(room).Sum(a[threadIdx.x]);
        if (threadIdx.x == 0) a[0] = s; }"""
    made = built(compiler(source))
    assert made.log.startswith(compile_nvcc.SAID) and made.resources.registers > 0
    assert made.resources.shared_bytes > 0 and made.entries == ("k",)
    broken = compiler('extern "C" __global__ void k(float* a) { a[0] = nothing; }')
    assert broken.verdict == Verdict.COMPILE_ERROR and "nothing" in broken.log


def test_the_workers_own_kernels_compile_even_with_fast_math(compiler: Compiler, tmp_path: Path) -> None:
    fast = Compiler(tmp_path, ("-O3", "-use_fast_math", "-Xcompiler", "-fPIC", "-arch", "sm_70"))
    try:
        plain, hurried = built(compiler(support_cuda.program())), built(fast(support_cuda.program()))
        assert plain.binary == hurried.binary and plain.entries == support_cuda.KERNELS
        source = 'extern "C" __global__ void k(float* a) { a[0] = a[1] / a[2]; }'
        assert built(compiler(source)).resources.binary != built(fast(source)).resources.binary
    finally:
        fast.child.kill()


def test_cache(compiler: Compiler, tmp_path: Path) -> None:
    made = built(compiler(COPY + "// cached"))
    cache = compile_cache.Cache(str(tmp_path))
    assert cache.get("ab" + "0" * 62, made.program) is None
    cache.put("ab" + "0" * 62, made)
    again = cache.get("ab" + "0" * 62, made.program)
    assert again is not None and again.sealed(made.flags) == made
    (file,) = [p for p in tmp_path.rglob("*") if p.is_file()]
    file.write_bytes(file.read_bytes()[:-1] + b"\0\1")
    assert cache.get("ab" + "0" * 62, made.program) is None  # damaged: as if absent
    begin = time.monotonic()
    assert built(compiler(COPY + "// cached")) == made
    assert time.monotonic() - begin < 1.0
    keys = {compile_cache.key(made.program, parts) for parts in [("sm_90", "13.0"), ("sm_80", "13.0"), ("sm_90", "12")]}
    assert len(keys) == 3


def test_ptxas_log() -> None:
    log = """ptxas info    : Compiling entry function 'a' for 'sm_90'
ptxas info    : Function properties for a
ptxas         .     8 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 16 bytes cumulative stack size, 256 bytes smem, 400 bytes cmem[0]
ptxas info    : Compiling entry function 'b' for 'sm_90'
ptxas info    : Used 10 registers"""
    assert ptxas.parse(log) == {"a": ptxas.KernelUse(40, 16, 32, 256, 400), "b": ptxas.KernelUse(10)}


def test_elf_reader_refuses_what_is_none() -> None:
    for junk in (b"", b"\x7fELF", b"MZ" + bytes(200), b"\x7fELF\x02\x01" + bytes(58)):
        with pytest.raises(elf.NotElf):
            elf.behaviour_hash(junk)


HEAVY = ("#define A(x) x x x x x x x x\n#define B(x) A(A(A(A(x))))\n"
         'extern "C" __global__ void k(float* a, int n) { float s = a[n]; B(s = s * a[n + (int)s] + 1.0f;) a[0] = s; }')


def test_a_hanging_compiler_costs_one_candidate(tmp_path: Path) -> None:
    answers: queue.Queue[tuple[str, Any, Any]] = queue.Queue()
    config = BuilderConfig((), str(tmp_path), 1.0, H200)
    pool = Pool("compiler", 1, lambda _: Child("builder-cuda", config))
    engine = Engine([pool])
    try:
        for name, source in (("heavy", HEAVY), ("light", "extern \"C\" __global__ void k(float* a) { a[0] = 1; }")):
            task = Task({"op": "compile", "program": Program(source, (Launch("k", ("1", "1", "1"), (32, 1, 1)),))},
                        lambda reply, facts, name=name: answers.put((name, reply, facts)))  # type: ignore[misc]
            engine.call(lambda task=task: engine.add(pool, task))  # type: ignore[misc]
        replies = {name: (reply, facts) for name, reply, facts in (answers.get(timeout=60.0) for _ in range(2))}
    finally:
        engine.close()
    lost = _build_failure("heavy", *replies["heavy"])
    assert lost.verdict == Verdict.COMPILE_TIMEOUT
    # a slow machine may need over a second for the light one too: then it is a timeout of its own, never a crash
    assert replies["light"][0][0] in ("done", "lost") and not pool.failures
    assert _build_failure("light", *replies["light"]).verdict in (Verdict.OK, Verdict.COMPILE_TIMEOUT)


def test_a_child_that_cannot_start_is_reported_not_retried_for_ever() -> None:
    answers: queue.Queue[Any] = queue.Queue()
    pool = Pool("device", 1, lambda _: Child("no such role", None))
    engine = Engine([pool])
    try:
        task = Task({"op": "measure"}, lambda reply, facts: answers.put(reply))
        engine.call(lambda: engine.add(pool, task))
        kind, why = answers.get(timeout=60.0)
        assert kind == "failed" and "the device process cannot be started" in why and "no such role" in why
    finally:
        engine.close()


def test_frames() -> None:
    import os
    read, write = os.pipe()
    reader = frames.Reader(read)
    message = {"a": [1, 2.5, b"x" * 3000]}
    encoded = frames.encode(message)
    os.write(write, encoded[:10])
    assert reader.feed() == []
    os.write(write, encoded[10:] + frames.encode("next"))
    assert reader.feed() == [message, "next"]
    os.close(write)
    with pytest.raises(frames.Closed):
        reader.feed()
    os.close(read)
