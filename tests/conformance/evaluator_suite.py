"""What every evaluator must do, whatever its back end. Subclasses set ``backend`` and the sizes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from genome.program import Program
from genome.workload import Size, Workload
from gpu.evaluator import LocalEvaluator, open_evaluator
from gpu.interface import EvaluatorOptions, GateReport
from gpu.records import Evaluation, Verdict
from tests.conformance.sgemm_text import BAD, GOOD, in_two_launches, program, size, workload
from tests.evaluator_rows.judged import verdicts

CRASH = "if (M >= 128 && x == 0 && y == 0) *((volatile GLOBAL int*)0) = 1;"
HANG = "if (M >= LIMIT && x == 0 && y == 0) { volatile int go = 1; while (go) { go = 1; } }"
# Bits that tensor cores in TF32 mode drop from each input
TF32 = {
    "opencl": "for (int k = 0; k < K; ++k) t += as_float(as_int(A[y*K+k]) & ~0x1fff)"
              " * as_float(as_int(B[k*N+x]) & ~0x1fff);",
    "cuda": "for (int k = 0; k < K; ++k) t += __int_as_float(__float_as_int(A[y*K+k]) & ~0x1fff)"
            " * __int_as_float(__float_as_int(B[k*N+x]) & ~0x1fff);",
}
REORDERED = """float t0 = 0, t1 = 0; int k = K - 1;
for (; k >= 1; k -= 2) { t0 += A[y*K+k] * B[k*N+x]; t1 += A[y*K+k-1] * B[(k-1)*N+x]; }
if (k == 0) t0 += A[y*K] * B[x];
C[y * N + x] = t0 + t1;"""


class EvaluatorSuite:
    backend = "opencl"
    tune = size(128, 128, 128)
    check: tuple[Size, ...] = (size(65, 96, 50),)
    slow_repeats = 60  # against the baseline's three: far beyond ``slow_factor``

    @pytest.fixture(scope="class")
    @classmethod
    def opened(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalEvaluator, GateReport]]:
        options = EvaluatorOptions(hang_seconds=3.0, slow_factor=6.0, constraints=("threads <= 512",), samples=5,
                                   cache_dir=str(tmp_path_factory.mktemp("cache")))
        problem: Workload = workload((cls.tune,), cls.check)
        with open_evaluator(cls.backend, problem, cls.make(repeats=3), options) as evaluator:
            yield evaluator, evaluator.gate()

    @classmethod
    def make(cls, **changes: object) -> Program:
        return program(cls.backend, **changes)  # type: ignore[arg-type]

    def run(self, evaluator: LocalEvaluator, programs: dict[str, Program], limit: float = 120.0
            ) -> dict[str, Evaluation]:
        found = verdicts(evaluator, programs, limit)
        for evaluation in found.values():
            assert evaluation.verdict == Verdict.OK or evaluation.reason, evaluation
        return found

    def test_gate(self, opened: tuple[LocalEvaluator, GateReport]) -> None:
        evaluator, report = opened
        assert report.deterministic and report.spread == 0.0
        assert report.evaluation.verdict == Verdict.OK and report.evaluation.timings[0].median > 0
        assert report.evaluation.timings[0].size == str(self.tune)
        assert len(report.evaluation.check_timings) == len(self.check)
        rtol, atol = report.tolerance["C"]
        assert rtol == 1e-4 and 0 < atol < 1e-3
        assert evaluator.device.bandwidth > 1e8

    def test_good_candidates_pass(self, opened: tuple[LocalEvaluator, GateReport]) -> None:
        """Positive controls: other blocks, and an honest change of the order of addition."""
        found = self.run(opened[0], {
            "good 32x8": self.make(block=(32, 8, 1)), "good 64x1": self.make(block=(64, 1, 1)),
            "good reordered": self.make(result=REORDERED)})
        for evaluation in found.values():
            assert evaluation.verdict == Verdict.OK, evaluation
            assert evaluation.max_error <= 1.0 and len(evaluation.timings) == 1
            timing = evaluation.timings[0]
            assert len(timing.samples) >= 3 and 0 < timing.low <= timing.median <= timing.high
            assert timing.champion, "interleaved with the baseline"
            assert evaluation.device_seconds > 0 and evaluation.resources.code_bytes > 0
        spent = opened[0].account()
        assert spent.candidates == 3 and spent.seconds["verify"] > 0 and spent.seconds["time"] > 0
        assert 0.0 < spent.verify_share < 1.0 and 0.0 <= spent.idle_share < 1.0

    def test_bad_candidates_are_caught(self, opened: tuple[LocalEvaluator, GateReport]) -> None:
        bad = {name: self.make(**changes) for name, (changes, _, _) in BAD.items()}
        bad["TF32 inputs"] = self.make(result="float t = 0; " + TF32[self.backend] + " C[y * N + x] = t;")
        found = self.run(opened[0], {**bad, "good after bad": self.make(block=(8, 32, 1))})
        for name, (_, verdict, word) in BAD.items():
            assert found[name].verdict.value == verdict, found[name]
            assert word in found[name].reason, found[name]
        assert found["TF32 inputs"].verdict == Verdict.WRONG, found["TF32 inputs"]
        assert found["good after bad"].verdict == Verdict.OK, found["good after bad"]

    def test_workspaces_between_launches(self, opened: tuple[LocalEvaluator, GateReport]) -> None:
        """What one launch leaves for the next; guard zones around it; nothing in it to begin with."""
        def two(**changes: str) -> Program:
            return in_two_launches(self.backend, **changes)

        found = self.run(opened[0], {
            "two launches": two(), "too small": two(elements="2*M*N - 1"),
            "read before written": two(stored="if (h == 0) parts[y * N + x] = s;"),
            "other half": two(read="parts[y * N + x]")})
        assert found["two launches"].verdict == Verdict.OK, found["two launches"]
        for name in ("too small", "read before written", "other half"):
            assert found[name].verdict == Verdict.WRONG, found[name]
        assert "wrote outside of workspace parts" in found["too small"].reason

    def test_crash_costs_one_candidate(self, opened: tuple[LocalEvaluator, GateReport]) -> None:
        """One that crashes everywhere, and one that crashes only at full size."""
        found = self.run(opened[0], {
            "crash": self.make(prologue=CRASH.replace("M >= 128 && ", "")), "good between": self.make(block=(16, 8, 1)),
            "crash at full size": self.make(prologue=CRASH), "good after crash": self.make(block=(16, 4, 1))})
        assert found["crash"].verdict == Verdict.CRASHED, found["crash"]
        assert found["crash at full size"].verdict == Verdict.CRASHED, found["crash at full size"]
        assert found["good between"].verdict == Verdict.OK, found["good between"]
        assert found["good after crash"].verdict == Verdict.OK, found["good after crash"]

    def test_hang_is_cut_off(self, opened: tuple[LocalEvaluator, GateReport]) -> None:
        found = self.run(opened[0], {
            "hang": self.make(prologue=HANG.replace("LIMIT", "0")),
            "hang at full size": self.make(prologue=HANG.replace("LIMIT", "128")),
            "good after hang": self.make(block=(32, 4, 1))})
        assert found["hang"].verdict == Verdict.TIMED_OUT, found["hang"]
        assert found["hang at full size"].verdict == Verdict.TIMED_OUT, found["hang at full size"]
        assert found["good after hang"].verdict == Verdict.OK, found["good after hang"]

    def test_what_is_abandoned_never_comes_back(self, opened: tuple[LocalEvaluator, GateReport]) -> None:
        """Not even as the twin of a later candidate."""
        evaluator, _ = opened
        programs = {f"left {y}": self.make(block=(4, y, 1)) for y in range(1, 9)}
        for key, candidate in programs.items():
            evaluator.submit(key, candidate)
        time.sleep(0.5)
        evaluator.abandon()
        assert evaluator.pending() == 0 and evaluator.collect(0.1) == []
        found = self.run(evaluator, {f"again {key}": p for key, p in programs.items()})
        assert {e.verdict for e in found.values()} <= {Verdict.OK, Verdict.ABORTED_SLOW}, found

    def test_duplicates(self, opened: tuple[LocalEvaluator, GateReport]) -> None:
        """Another text with the same machine code; another block is no duplicate."""
        found = self.run(opened[0], {"twin 1": self.make(block=(4, 64, 1))})
        assert found["twin 1"].verdict == Verdict.OK
        found = self.run(opened[0], {
            "twin 2": self.make(block=(4, 64, 1), result=GOOD + " /* the same */"),
            "baseline again": self.make(repeats=3), "other block": self.make(block=(4, 32, 1))})
        assert found["twin 2"].verdict == Verdict.DUPLICATE and found["twin 2"].reason == "same binary as twin 1"
        assert found["baseline again"].verdict == Verdict.DUPLICATE
        assert found["other block"].verdict == Verdict.OK

    def test_compile_errors_and_limits(self, opened: tuple[LocalEvaluator, GateReport]) -> None:
        found = self.run(opened[0], {
            "syntax": self.make(result="C[y * N + x] = oops;"),
            "no kernel": Program(self.make().source.replace("sgemm(", "other("), self.make().launches, self.backend),
            "huge block": self.make(block=(8192, 8, 1)), "constraint": self.make(block=(32, 32, 1))})
        assert found["syntax"].verdict == Verdict.COMPILE_ERROR and "oops" in found["syntax"].reason
        assert re.search(r"sgemm\.src[:(]11", found["syntax"].log), "the place in the user's file"
        assert found["no kernel"].verdict == Verdict.COMPILE_ERROR and "no kernel 'sgemm'" in found["no kernel"].reason
        assert found["huge block"].verdict == Verdict.OVER_LIMITS
        assert found["constraint"].verdict == Verdict.OVER_LIMITS and "threads is 1024" in found["constraint"].reason
        assert found["constraint"].device_seconds == 0.0

    def test_slow_candidates_are_given_up_early(self, opened: tuple[LocalEvaluator, GateReport]) -> None:
        found = self.run(opened[0], {"slow": self.make(repeats=self.slow_repeats)})
        assert found["slow"].verdict == Verdict.ABORTED_SLOW, found["slow"]
        assert len(found["slow"].timings[0].samples) == 1

    def test_precondition_falls_back_to_the_baseline(self, opened: tuple[LocalEvaluator, GateReport]) -> None:
        """Wrong for odd sizes, but guarded: never run there."""
        wrong = "C[y * N + x] = N % 2 ? 0.0f : s;"
        found = self.run(opened[0], {
            "guarded": self.make(result=wrong, preconditions=("N % 2 == 0", "disjoint(A, C)")),
            "not guarded": self.make(result=wrong + " ;")})
        assert found["guarded"].verdict == Verdict.OK, found["guarded"]
        assert found["not guarded"].verdict == Verdict.WRONG

    def test_champion_and_confirmation(self, opened: tuple[LocalEvaluator, GateReport]) -> None:
        evaluator, report = opened
        fast = self.make(block=(128, 1, 1))
        found = self.run(evaluator, {"fast": fast})["fast"]
        assert found.verdict == Verdict.OK, found
        evaluator.set_champion("fast", fast, found.timings[0].median)
        after = self.run(evaluator, {"beside champion": self.make(block=(128, 2, 1))})["beside champion"]
        assert after.verdict in (Verdict.OK, Verdict.ABORTED_SLOW)
        confirmation = evaluator.confirm("fast", fast)
        assert confirmation.accepted, confirmation
        assert [s[0] for s in confirmation.speedups] == [str(self.tune), *map(str, self.check)]
        _, ratio, low, high = confirmation.speedups[0]
        assert 1.0 < low <= ratio <= high  # a third of the baseline's work
        assert len(confirmation.evaluation.check_timings) == len(self.check)
        same = evaluator.confirm("same", self.make(repeats=3))
        assert same.evaluation.verdict == Verdict.OK and same.speedups[0][1] == pytest.approx(1.0, rel=0.5)
        bad = evaluator.confirm("bad", self.make(result="C[y * N + x] = s + 1.0f;"))
        assert not bad.accepted and bad.evaluation.verdict == Verdict.WRONG
