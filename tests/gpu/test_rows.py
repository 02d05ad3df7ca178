"""The rows of docs/evaluator-fixtures.md on an NVIDIA GPU: the kernels of tests/evaluator_rows, and CUDA's own."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from genome.program import Launch, Program
from gpu import devices, health, sanitizer
from gpu.evaluator import open_evaluator
from gpu.interface import EvaluatorOptions
from gpu.records import Verdict
from tests.conformance.sgemm_text import program, size, workload
from tests.evaluator_rows.judged import OPTIONS, opened, verdicts
from tests.evaluator_rows.problems import AXPBY, LARGE, NORMS, ONE_D, PROBLEMS, Problem, Way
from tests.evaluator_rows.wrong import RACY, ROWS_OF_THE_TABLE

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("name", PROBLEMS)
def test_honest_kernels_pass_and_wrong_ones_do_not(name: str, tmp_path: Path) -> None:
    problem = PROBLEMS[name]
    rows = {str(row): row for row in ROWS_OF_THE_TABLE if row.problem == name}
    order = [k for pair in itertools.zip_longest(rows, problem.honest) for k in pair if k is not None]
    programs = {k: problem.program("cuda", rows[k].way if k in rows else problem.honest[k]) for k in order}
    with opened("cuda", problem, tmp_path) as (evaluator, _):
        found = verdicts(evaluator, programs)
    for key in problem.honest:
        assert found[key].verdict == Verdict.OK, (key, found[key].reason)
    for key, row in rows.items():
        # an access out of bounds may also end in an error of the device
        assert found[key].verdict in (row.verdict, Verdict.CRASHED, Verdict.LAUNCH_FAILURE), (key, found[key])
        if found[key].verdict == row.verdict:
            assert row.word.lower() in found[key].reason.lower(), (key, found[key].reason)


@pytest.mark.parametrize(("body", "name"), [
    ("int i = GX; if (i < N) y[i] = 1.5f * x[i] + 3.0f * y[i] + 1e-3f * x[i + 1];", "x"),
    ("int i = GX; if (i < N) y[i] = 1.5f * x[i] + (i == 0 ? y[-1] : y[i]);", "y")])
def test_C15_a_baseline_that_reads_outside_of_an_array(body: str, name: str, tmp_path: Path) -> None:
    from genome.errors import InputError
    broken = replace(AXPBY, baseline=Way(body, (1, 1, 1), ("N", "1", "1")))
    with pytest.raises(InputError, match=f"the baseline reads outside of {name}"), opened("cuda", broken, tmp_path):
        pass


STATE = "__device__ int calls = 0;\n__device__ float kept[8192];\n"


def stateful(body: str) -> Program:
    """A kernel of the problem LARGE with memory of its own between launches."""
    made = LARGE.program("cuda", Way(body, (64, 1, 1), ONE_D))
    return replace(made, source=STATE + made.source)


def test_C21_T6_T7_programs_with_a_memory(tmp_path: Path) -> None:
    """Right for some calls and wrong afterwards; replayed results; calls that do nothing."""
    right = "y[i] = 1e6f * FMAXF(x[i], 0.0f);"
    count = "if (i == 0) atomicAdd(&calls, 1);"
    programs = {
        "tires": stateful(f"int i = GX; if (i < N) {{ {right} if (calls > 9 && i == 9) y[i] += 1e6f; {count} }}"),
        "replays": stateful(f"int i = GX; if (i < N) {{ if (N == 5000 && calls > 0) y[i] = kept[i]; else {{ {right}"
                            f" if (N == 5000) kept[i] = y[i]; }} if (N == 5000) {{ {count} }} }}"),
        "idle": stateful(f"int i = GX; if (i < N) {{ if (calls % 15 == 0) {right} {count} }}")}
    with opened("cuda", LARGE, tmp_path) as (evaluator, _):
        for name, made in programs.items():
            confirmation = evaluator.confirm(name, made)
            assert confirmation.evaluation.verdict in (Verdict.WRONG, Verdict.NOT_REPEATABLE), (name, confirmation)


def test_C13_C14_the_sanitizer_sees_races_in_finalists(tmp_path: Path) -> None:
    if not sanitizer.available():
        pytest.skip("compute-sanitizer is not installed")
    with opened("cuda", NORMS, tmp_path) as (evaluator, _):
        confirmation = evaluator.confirm("racy", NORMS.program("cuda", Way(RACY, (64, 1, 1), ("R", "1", "1"))))
        if any("not watched" in n for n in confirmation.notes):
            pytest.skip(str(confirmation.notes))
    assert not confirmation.accepted and confirmation.evaluation.verdict != Verdict.OK, confirmation


def test_T2_T15_a_window_holds_its_own_launches_only() -> None:
    """A long kernel is queued and not awaited; the short one behind it takes no longer than alone."""
    from gpu.backend_cuda import CudaBackend
    from gpu.compile_common import BuilderConfig
    from gpu.compile_nvrtc import NvrtcCompiler
    from gpu.session import Call
    from gpu.session_cuda import CudaSession
    device = devices.pick("cuda")
    compiler = NvrtcCompiler(BuilderConfig((), None, 60.0, device))
    support = compiler.compile(CudaBackend(device, EvaluatorOptions()).support_programs()["support"], True)
    session = CudaSession(0, support)
    text = ('extern "C" __global__ void k(float* x, int n) { float s = x[threadIdx.x]; '
            "for (int i = 0; i < n; ++i) s = s * 0.999f + 0.5f; x[threadIdx.x] = s; }")
    launch = Launch("k", ("1", "1", "1"), (64, 1, 1))
    built = compiler.compile(Program(text, (launch,)), True)
    buffer = session.allocate(64, np.dtype(np.float32))
    session.fill(buffer, 0)
    short, long = (session.runner(session.load(built), [Call(launch, built.entries[0], (1, 1, 1),
                                                             (buffer, np.int32(n)))]) for n in (10_000, 5_000_000))
    alone = min(session.time(short) for _ in range(5))
    long.enqueue()
    behind = session.time(short)
    assert session.time(long) > 50 * alone and behind < 2 * alone + 1e-4, (alone, behind)
    session.close()


def test_T10_A_against_A_is_one_in_both_orders() -> None:
    """At launches over 50 us, within one percent; the confirmation alternates the order itself."""
    problem = workload((size(1024, 1024, 1024),))
    with open_evaluator("cuda", problem, program("cuda"), replace(OPTIONS, samples=9)) as evaluator:
        report = evaluator.gate()
        assert report.evaluation.timings[0].median > 50e-6
        confirmation = evaluator.confirm("same", program("cuda"))
        assert confirmation.speedups[0][1] == pytest.approx(1.0, abs=0.01), confirmation.speedups
        assert not confirmation.accepted


def test_T8_T9_cold_and_warm_are_told_apart(tmp_path: Path) -> None:
    """16 MiB in all: more than the first-level caches, less than the second-level one."""
    big = replace(LARGE, workload=replace(LARGE.workload, tune=(replace(LARGE.workload.tune[0],
                                                                      values=(("N", 2 * 2**20),)),)))
    with opened("cuda", big, tmp_path) as (evaluator, _):
        confirmation = evaluator.confirm("same", big.program("cuda", big.honest["branch"]))
    if confirmation.candidate[0].median < 20e-6:
        pytest.skip("too fast here to be timed cold")
    assert confirmation.warm and confirmation.warm[0][1] > 0, confirmation


def test_T11_T28_the_device_tells_its_state() -> None:
    import pycuda.driver as drv
    drv.init()
    reader = health.reader(drv.Device(0).pci_bus_id())
    if reader is None:
        pytest.skip("NVML is not to be had here")
    begin = time.perf_counter()
    state = reader.state()
    assert state.clock_mhz > 100 and state.memory_mhz > 100
    assert time.perf_counter() - begin < 0.01, "cheap enough to be read beside each sample"
    assert 0.0 <= reader.neighbours().busy <= 1.0
    with open_evaluator("cuda", LARGE.workload, LARGE.program("cuda", LARGE.baseline), OPTIONS) as evaluator:
        assert len(evaluator.gate().evaluation.timings[0].clocks) == OPTIONS.samples


def test_C25_T19_resources_memory_and_floor(tmp_path: Path) -> None:
    problem: Problem = NORMS
    with opened("cuda", problem, tmp_path) as (evaluator, report):
        found = verdicts(evaluator, {"tree": problem.program("cuda", problem.honest["tree"])})["tree"]
        assert found.resources.registers > 0 and found.resources.shared_bytes == 256
        assert found.memory_bytes >= 4 * (200 * 300 + 200) and report.device_bytes == 4 * (200 * 300 + 200)
        assert evaluator.device.bandwidth > 1e9
