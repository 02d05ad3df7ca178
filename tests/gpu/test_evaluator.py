"""The evaluator's conformance suite on an NVIDIA GPU, and what only CUDA can show."""

from __future__ import annotations

import pytest

from genome.program import Program
from genome.workload import Size
from gpu import devices, sanitizer
from gpu.evaluator import LocalEvaluator, open_evaluator
from gpu.interface import EvaluatorOptions, GateReport
from gpu.records import Verdict
from tests.conformance.evaluator_suite import EvaluatorSuite
from tests.conformance.sgemm_text import GOOD, program, size, workload

needs_gpu = pytest.mark.skipif(not devices.available("cuda"), reason="no CUDA device with PyCUDA")


@needs_gpu
class TestCuda(EvaluatorSuite):
    backend = "cuda"
    tune = size(512, 512, 512)
    check: tuple[Size, ...] = (size(1000, 333, 77),)

    def test_resources(self, opened: tuple[LocalEvaluator, GateReport]) -> None:
        resources = opened[1].evaluation.resources
        assert 8 <= resources.registers <= 128 and resources.spill_bytes == 0
        assert 0 < resources.occupancy <= 1.0

    def test_state_kept_between_launches_is_found(self, opened: tuple[LocalEvaluator, GateReport]) -> None:
        """Right for the first launches only (llm.c PR 852): the check after the timed launches finds it."""
        good = self.make()
        source = good.source.replace('extern "C"', '__device__ int calls = 0;\nextern "C"', 1).replace(
            GOOD, "if (x == 0 && y == 0) atomicAdd(&calls, 1); C[y * N + x] = calls > 3 && x == 9 ? s + 1.0f : s;")
        # proxies load their own module per candidate; the count runs on in it
        found = self.run(opened[0], {"stateful": Program(source, good.launches, "cuda")})["stateful"]
        assert found.verdict in (Verdict.WRONG, Verdict.NOT_REPEATABLE), found

    def test_dynamic_shared_memory_past_48_kib(self, opened: tuple[LocalEvaluator, GateReport]) -> None:
        evaluator = opened[0]
        if evaluator.device.max_shared_optin <= 65536:
            pytest.skip("the device has no more")
        good = self.make(block=(16, 2, 1), prologue="extern __shared__ float extra[];"
                                                     " extra[16000 + threadIdx.x] = (float)x;",
                         result="C[y * N + x] = s + 0.0f * extra[16000 + threadIdx.x];")
        launch = good.launches[0]
        big = Program(good.source, (type(launch)(launch.kernel, launch.grid, launch.block, 65536),), "cuda")
        found = self.run(evaluator, {"big shared": big})["big shared"]
        assert found.verdict in (Verdict.OK, Verdict.ABORTED_SLOW), found  # launched and right, however slow
        assert found.resources.shared_bytes == 65536


@needs_gpu
def test_throughput_on_a_large_product() -> None:
    """At least four candidates a second with launches of some three milliseconds, on a data-centre card; printed by
    -rP. (At 4096 cubed a naive launch takes 26 ms, and launches alone fill the time.)"""
    import time
    big = workload((size(2048, 2048, 2048),))
    with open_evaluator("cuda", big, program("cuda")) as evaluator:
        if evaluator.device.multiprocessors < 100:
            pytest.skip("measured on data-centre cards only")
        report = evaluator.gate()
        begin = time.monotonic()
        blocks = [(32, 8, 1), (64, 4, 1), (128, 2, 1), (32, 16, 1), (64, 8, 1), (128, 4, 1), (256, 2, 1), (32, 32, 1)]
        count = 0
        for index in range(40):
            block = blocks[index % len(blocks)]
            evaluator.submit(f"c{index}", program("cuda", block=block, result=f"if (K > -{index}) {GOOD}"))
        verdicts = []
        while evaluator.pending():
            verdicts += evaluator.collect(1.0)
        seconds = time.monotonic() - begin
        count = sum(v.verdict in (Verdict.OK, Verdict.ABORTED_SLOW, Verdict.DUPLICATE) for v in verdicts)
        print(f"baseline {report.evaluation.timings[0].median * 1e3:.2f} ms, {count} candidates in {seconds:.1f} s, "
              f"device {sum(v.device_seconds for v in verdicts):.1f} s")
        assert count == 40
        assert 40 / seconds >= 4.0, seconds


@needs_gpu
def test_nothing_wins_among_clones() -> None:
    """A against A: the ratio's interval contains one, or misses it by no more than 2 % (evaluator.md T10, T13)."""
    problem = workload((size(1024, 1024, 1024),))
    with open_evaluator("cuda", problem, program("cuda"), EvaluatorOptions(samples=9)) as evaluator:
        evaluator.gate()
        same = evaluator.confirm("same", program("cuda"))
        assert same.speedups[0][1] == pytest.approx(1.0, abs=0.02), same.speedups


@needs_gpu
def test_sanitizer_finds_what_no_value_shows() -> None:
    """A write past the array that no comparison sees would also hit a guard zone; a race that happens to work does
    not. Both must be named by the tool, and a clean kernel must not."""
    if not sanitizer.available():
        pytest.skip("compute-sanitizer is not installed")
    racy = program("cuda", prologue="__shared__ float t[256]; int l = threadIdx.y * 16 + threadIdx.x;"
                                     " t[l] = 1.0f; float one = t[l ^ 32];", result="C[y * N + x] = s * one;")
    with open_evaluator("cuda", workload((size(64, 64, 64),)), program("cuda")) as evaluator:
        evaluator.gate()
        clean = evaluator.sanitize(program("cuda", block=(32, 4, 1)))
        if clean.notes:
            pytest.skip(str(clean.notes))
        assert clean.findings == ()
        assert any("racecheck" in f for f in evaluator.sanitize(racy).findings)
