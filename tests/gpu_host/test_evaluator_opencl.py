"""The evaluator's conformance suite on the CPU through OpenCL."""

from __future__ import annotations

from tests.conformance.evaluator_suite import EvaluatorSuite


class TestOpenCl(EvaluatorSuite):
    backend = "opencl"
