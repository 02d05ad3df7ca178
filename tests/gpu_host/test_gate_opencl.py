"""Problems that must be refused before any search, each with one clear line; and processes that must not stay."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from genome.errors import InputError
from genome.program import Launch, Program
from genome.workload import Argument, Size, Workload
from gpu import devices
from gpu.child import ROOT
from gpu.evaluator import open_evaluator
from gpu.interface import EvaluatorOptions, GateReport
from tests.conformance.sgemm_text import GOOD, program, size, workload

TUNE = size(48, 40, 32)


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> EvaluatorOptions:
    return EvaluatorOptions(cache_dir=str(tmp_path_factory.mktemp("cache")), samples=3, slow_factor=1e6)


def gate(problem: Workload, baseline: Program, options: EvaluatorOptions) -> GateReport:
    with open_evaluator("opencl", problem, baseline, options) as evaluator:
        return evaluator.gate()


@pytest.mark.parametrize(("changes", "words"), [
    ({"result": ""}, "output C does not depend on the kernel"),
    ({"result": "C[y * N + x] = 2.0f;"}, "output C is 2.0 everywhere"),
    ({"result": "C[y * N + x] = 0.0f * s / 0.0f;"}, "output C is mostly not finite"),
    ({"result": GOOD + " ((GLOBAL float*)B)[0] = 1.0f;"}, "the baseline changed its input B"),
    ({"result": GOOD + " if (x == 0 && y == 0) C[M * N] = 1.0f;"}, "the baseline wrote outside of C"),
], ids=["idle", "constant", "not finite", "changes input", "outside"])
def test_baseline_is_refused(changes: dict[str, str], words: str, options: EvaluatorOptions) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        gate(workload((TUNE,)), program("opencl", **changes), options)  # type: ignore[arg-type]


def test_compile_error_names_the_users_line(options: EvaluatorOptions) -> None:
    with pytest.raises(InputError, match="undeclared identifier 'oops'") as caught:
        gate(workload((TUNE,)), program("opencl", result="C[y * N + x] = oops;"), options)
    assert (caught.value.file, caught.value.line) == ("sgemm.src", 11)


def test_argument_count(options: EvaluatorOptions) -> None:
    problem = workload((TUNE,))
    with pytest.raises(InputError, match="has 6 parameters, 5 arguments"):
        gate(replace(problem, arguments=problem.arguments[:-1] ), program("opencl"), options)


def test_crashing_baseline(options: EvaluatorOptions) -> None:
    with pytest.raises(InputError, match="the baseline sgemm crashed at size 48x40x32: ended by SIGSEGV"):
        gate(workload((TUNE,)), program("opencl", prologue="*((volatile GLOBAL int*)0) = 1;"), options)


@pytest.mark.parametrize(("where", "size"), [("M == 48", "at size 48x40x32"), ("M < 48", "at the small size ")])
def test_hanging_baseline(where: str, size: str, options: EvaluatorOptions) -> None:
    """Refused within the limit, in one line that names the kernel, the size and what to do."""
    forever = program("opencl", prologue="volatile int go = " + where + "; while (go) {}")
    begin = time.monotonic()
    with pytest.raises(InputError, match=f"the baseline sgemm did not end within 2 s {size}.*check its loops"):
        gate(workload((TUNE,)), forever, replace(options, baseline_limit=2.0))
    assert time.monotonic() - begin < 30.0


def test_limits_before_anything_runs(options: EvaluatorOptions) -> None:
    with pytest.raises(InputError, match="block 9999x1x1 of sgemm has 9999 threads"):
        open_evaluator("opencl", workload((TUNE,)), program("opencl", block=(9999, 1, 1)), options)
    with pytest.raises(InputError, match="grid.z of sgemm is 0"):
        open_evaluator("opencl", workload((TUNE,)), program("opencl", grid=("1", "1", "M - 48")), options)
    with pytest.raises(InputError, match="unknown name speed"):
        open_evaluator("opencl", workload((TUNE,)), program("opencl"), replace(options, constraints=("speed > 1",)))
    with pytest.raises(InputError, match="unknown back end 'metal'"):
        open_evaluator("metal", workload((TUNE,)), program("opencl"), options)
    with pytest.raises(InputError, match="cannot run on"):
        open_evaluator("opencl", workload((TUNE,)), program("cuda"), options)


def test_no_such_device_says_what_to_do() -> None:
    if devices.available("cuda"):
        pytest.skip("there is a GPU here")
    with pytest.raises(InputError, match="no cuda device found .*PyCUDA"):
        devices.pick("cuda")


def test_in_out_arrays_and_partial_outputs(options: EvaluatorOptions) -> None:
    """``y += a * x`` accumulates unless restored (evaluator.md C24); elements left alone must stay alone."""
    text = """__kernel void axpy(__global const float* x, __global float* y, __global int* seen, int n) {
  int i = get_global_id(0);
  if (i < n) { y[i] += 2.0f * x[i]; if (i % 2) seen[i] = i + EXTRA; ALSO }
}"""
    launch = Launch("axpy", ("ceil_div(n, block_x)", "1", "1"), (64, 1, 1))
    def problem(role: str) -> Workload:
        return Workload((Argument("x", "float32", "n"), Argument("y", "float32", "n", "inout"),
                         Argument("seen", "int32", "n", role, init="integers:-9:-1"),
                         Argument("n", "int32", value="n")), (Size((("n", 1000),)),))

    def variant(extra: str = "0", also: str = "") -> Program:
        return Program(text.replace("EXTRA", extra).replace("ALSO", also), (launch,), "opencl")

    with pytest.raises(InputError, match="leaves 500 of 1000 elements of seen unwritten at size 1000.*inout"):
        gate(problem("out"), variant(), options)
    with open_evaluator("opencl", problem("inout"), variant(), options) as evaluator:
        report = evaluator.gate()
        assert report.deterministic
        assert report.tolerance["seen"] == (0.0, 0.0)
        evaluator.submit("good", replace(variant(), launches=(replace(launch, block=(32, 1, 1)),)))
        evaluator.submit("off by one", variant(extra="1"))
        evaluator.submit("writes more", variant(also="else seen[i] = 7;"))
        found = {}
        while evaluator.pending():
            found |= {e.key: e.verdict.value for e in evaluator.collect(5.0)}
        assert found == {"good": "ok", "off by one": "wrong result", "writes more": "wrong result"}


PARENT = """
import sys
from tests.conformance.sgemm_text import program, size, workload
from gpu.evaluator import open_evaluator
evaluator = open_evaluator("opencl", workload((size(48, 40, 32),)), program("opencl"))
evaluator.gate()
print("ready", flush=True)
sys.stdin.read()
"""


def test_no_process_outlives_its_parent(tmp_path: Path) -> None:
    """Not even when the parent is killed without warning."""
    parent = subprocess.Popen([sys.executable, "-c", PARENT], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)}, text=True)
    try:
        assert parent.stdout is not None and parent.stdout.readline() == "ready\n"
        children = _children(parent.pid)
        assert len(children) >= 3  # builder, worker, spare
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        end = time.monotonic() + 5.0
        while time.monotonic() < end and any(_alive(c) for c in children):
            time.sleep(0.05)
        assert not [c for c in children if _alive(c)]
    finally:
        parent.kill()
        parent.wait()


def _children(parent: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # ended meanwhile
        if int(fields[1]) == parent:
            found.append(int(path.parent.name))
    return found


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
