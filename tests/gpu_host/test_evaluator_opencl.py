"""The evaluator's conformance suite on the CPU through OpenCL, and what only that back end can show."""

from __future__ import annotations

from gpu.compile_common import MISCOMPILED
from gpu.evaluator import LocalEvaluator
from gpu.interface import GateReport
from gpu.records import Verdict
from tests.conformance.evaluator_suite import EvaluatorSuite
from tests.conformance.sgemm_text import GOOD


class TestOpenCl(EvaluatorSuite):
    backend = "opencl"

    def test_a_miscompiled_candidate_is_wrong_and_the_compiler_is_named(
            self, opened: tuple[LocalEvaluator, GateReport]) -> None:
        """Stands in for PoCL's wrong optimisation: code that differs only when it is optimised."""
        wrong = f"\n#ifdef __OPTIMIZE__\n{GOOD.replace('s;', 's + 1.0f;')}\n#else\n{GOOD}\n#endif\n"
        found = self.run(opened[0], {"miscompiled": self.make(result=wrong)})["miscompiled"]
        assert found.verdict == Verdict.WRONG and found.reason.startswith(MISCOMPILED), found
