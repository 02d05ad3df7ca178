"""Problems and baselines that must be refused, and what must be recorded (rows C of docs/evaluator-fixtures.md)."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from genome.errors import InputError
from genome.program import Launch, Program
from genome.workload import Argument, Size, Tolerance, Workload
from gpu import compile_cache, data, limits, sizes
from gpu.build import Built
from gpu.gate import GateResult
from gpu.interface import EvaluatorOptions
from gpu.records import DeviceInfo, Resources, Verdict
from tests.evaluator_rows.judged import opened
from tests.evaluator_rows.problems import AXPBY, NORMS, ONE_D, Problem, Way
from tests.helpers.fake_device import Kernel, Lab

N = 300
OPTIONS = EvaluatorOptions(samples=3, slow_factor=1e9)
X, COUNT = Argument("x", "float32", "n"), Argument("n", "int32", value="n")
Body = Callable[[np.ndarray, np.ndarray, int], None]


def workload(role: str = "out", tolerance: Tolerance | None = None, **more: object) -> Workload:
    return Workload((X, Argument("y", "float32", "n", role), COUNT), (Size((("n", N),)),),
                    tolerance=tolerance or Tolerance(), **more)  # type: ignore[arg-type]


def gate(body: Body, problem: Workload | None = None) -> GateResult:
    return Lab(problem or workload(), {"baseline": Kernel(body)}, OPTIONS).gate()


def double(x: np.ndarray, y: np.ndarray, n: int) -> None:
    y[:] = 2.0 * x + 1.0


# ------------------------------------------------------------------------------------------- C6: nothing to compare
def constant(x: np.ndarray, y: np.ndarray, n: int) -> None:
    y[:] = 3.0


def nearly_constant(x: np.ndarray, y: np.ndarray, n: int) -> None:
    y[:] = 1.0 + 1e-6 * np.tanh(x)


def nothing(x: np.ndarray, y: np.ndarray, n: int) -> None:
    pass


def zeros(x: np.ndarray, y: np.ndarray, n: int) -> None:
    y[:] = 0.0


@pytest.mark.parametrize(("body", "words"), [
    (constant, "output y is 3.0 everywhere"), (zeros, "output y is 0.0 everywhere"),
    (nearly_constant, "a constant would pass"), (nothing, "output y does not depend on the kernel")])
def test_C6_C20_outputs_on_which_anything_would_pass(body: Body, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        gate(body)
    assert gate(double).notes is not None, "an honest problem is not refused"


# ----------------------------------------------------------------------------------------------- C7: the tolerance
def test_C7_a_tolerance_larger_than_the_signal() -> None:
    with pytest.raises(InputError, match="so near zero .* that zeros would pass"):
        gate(double, workload(tolerance=Tolerance(1e-4, 5.0)))

    def small(x: np.ndarray, y: np.ndarray, n: int) -> None:
        y[:] = 1e-3 * x

    report = gate(small)  # the tolerance follows the values: a hundredth of a millionth here
    assert report.absolute["y"][1] < 1e-7


def test_C7_values_whose_squares_overflow_have_a_tolerance_all_the_same() -> None:
    """The root mean square of 1e200 is not infinite: an infinite tolerance would accept anything."""
    def huge(x: np.ndarray, y: np.ndarray, n: int) -> None:
        y[:] = 1e200 * x

    problem = replace(workload(), arguments=(replace(X, dtype="float64"), Argument("y", "float64", "n", "out"), COUNT))
    made = Lab(problem, {"baseline": Kernel(huge), "zeros": Kernel(zeros)}, OPTIONS)
    made.gate()
    assert made.measure("zeros").verdict == Verdict.WRONG


# ----------------------------------------------------------------------- what is written must be all, or be declared
def test_C5_a_grid_too_small_for_the_output() -> None:
    def most(x: np.ndarray, y: np.ndarray, n: int) -> None:
        y[:max(1, n - 4)] = 2.0 * x[:max(1, n - 4)] + 1.0

    with pytest.raises(InputError, match=r"leaves 4 of 300 elements of y unwritten at size 300, the first is y\[296\]"):
        gate(most)
    assert gate(most, workload("inout")).deterministic, "declared, it is judged by what it leaves"


# ------------------------------------------------------------------------------------- C9, C18: the user's reference
REFERENCES = """
import numpy as np
def right(x, n): return 2.0 * x + 1.0
def zeros(x, n): return np.zeros(n)
def short(x, n): return x[:-1]
def by_name(x, n): return {"y": 2.0 * x + 1.0}
def other_name(x, n): return {"z": x}
def breaks(x, n): return x / missing
"""


def referenced(folder: Path, name: str) -> Workload:
    (folder / "check.py").write_text(REFERENCES)
    return workload(reference=f"check.py:{name}", folder=str(folder))


@pytest.mark.parametrize(("name", "words"), [
    ("zeros", r"disagrees with the reference check.py:zeros: y\[0\] is .*, the reference says 0; 300 of 300"),
    ("short", "gives 299 elements of float64 for y, needed are 300"), ("other_name", "gives no y"),
    ("breaks", "NameError: name 'missing'"), ("gone", "has no attribute 'gone'")])
def test_C9_C18_a_baseline_that_disagrees_with_its_reference(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        gate(double, referenced(tmp_path, name))


@pytest.mark.parametrize("name", ["right", "by_name"])
def test_C9_a_candidate_less_precise_than_the_baseline(tmp_path: Path, name: str) -> None:
    """Within the tolerance of 1e-4, but with a hundred times the baseline's rounding."""
    def rough(x: np.ndarray, y: np.ndarray, n: int) -> None:
        y[:] = (2.0 * x + 1.0) * np.where(np.arange(n) % 2, np.float32(1 + 4e-6), np.float32(1 - 4e-6))

    made = Lab(referenced(tmp_path, name), {"baseline": Kernel(double), "rough": Kernel(rough), "same": Kernel(double)},
               OPTIONS)
    assert any("judged against float64 (reference check.py" in n for n in made.gate().notes)
    found = made.measure("rough")
    # small integers are exact: they are held to equality, so it is wrong twice over
    assert found.verdict == Verdict.WRONG, found
    trial = made.confirm("rough")
    assert trial.verdict == Verdict.WRONG and "less precise than the baseline" in trial.reason, trial
    assert made.measure("same").verdict == Verdict.OK and made.confirm("same").verdict == Verdict.OK


# ----------------------------------------------------------------------------------------- C11, C12, C16: sizes, data
def test_C11_hidden_sizes_and_declared_assumptions() -> None:
    program = NORMS.program("opencl", NORMS.baseline)
    found = [s.as_dict() for s in sizes.proxy_sizes(NORMS.workload, program, 2.0**20)]
    assert any(v["R"] == 1 for v in found) and any(v["R"] % 2 and v["K"] % 2 for v in found)
    assert any(v["R"] > 64 and v["R"] % 32 for v in found), "more than one block, and a tail"
    assumed = replace(NORMS.workload, check=(), assume=("K % 4 == 0",))
    assert all(s.as_dict()["K"] % 4 == 0 for s in sizes.proxy_sizes(assumed, program, 2.0**20))
    guarded = replace(program, preconditions=("K % 4 == 0",))
    assert limits.applies(guarded, {"K": 8}) and not limits.applies(guarded, {"K": 6}), "elsewhere the baseline runs"


def test_C12_a_candidate_that_knows_the_data() -> None:
    """It has the answers for the seed that the search runs on, and nothing else: confirmation draws other data."""
    answers: dict[bytes, np.ndarray] = {}

    def knows(x: np.ndarray, y: np.ndarray, n: int) -> None:
        y[:] = answers.get(x.tobytes(), 0.0)

    made = Lab(workload(), {"baseline": Kernel(double), "knows": Kernel(knows)}, OPTIONS)
    report = made.gate()
    for proxy in report.proxies:
        x = data.host_arrays(workload(), proxy.size, OPTIONS.seed, proxy.distribution)["x"]
        answers[x.tobytes()] = 2.0 * x + np.float32(1.0)
    x = data.host_arrays(workload(), workload().tune[0], OPTIONS.seed)["x"]
    answers[x.tobytes()] = 2.0 * x + np.float32(1.0)
    assert made.measure("knows").verdict == Verdict.OK, "nothing could tell so far"
    assert made.confirm("knows").verdict == Verdict.WRONG


def test_C12_data_follow_from_a_seed_that_can_be_replayed() -> None:
    problem = workload()
    one, same, other = (data.host_arrays(problem, problem.tune[0], seed)["x"] for seed in (5, 5, 6))
    assert np.array_equal(one, same) and not np.array_equal(one, other)


def test_C16_limits_are_looked_at_before_anything_runs() -> None:
    device = DeviceInfo("cuda", "test")
    tall = Program("", (Launch("k", ("1", "M", "1"), (1, 1, 1)),))
    assert limits.over_grid_limits(tall, {"M": 65535}, device) == ""
    assert "grid.y of k is 65536, the device admits 65535" in limits.over_grid_limits(tall, {"M": 65536}, device)
    with pytest.raises(InputError, match="2147483648 does not fit int32"):
        data.scalar(COUNT, 2**31)


# -------------------------------------------------------------------------------------------- C15: reads out of bounds
@pytest.mark.parametrize(("problem", "body", "name"), [
    (AXPBY, "int i = GX; if (i < N) y[i] = 1.5f * x[i] + 3.0f * y[i] + 1e-3f * x[i + 1];", "x"),
    (AXPBY, "int i = GX; if (i < N) y[i] = 1.5f * x[i] + (i == 0 ? y[-1] : y[i]);", "y")])
def test_C15_a_baseline_that_reads_outside_of_an_array(problem: Problem, body: str, name: str, tmp_path: Path) -> None:
    broken = replace(problem, baseline=Way(body, (1, 1, 1), ("N", "1", "1")))
    with pytest.raises(InputError, match=f"the baseline reads outside of {name} at size 5000"), opened(
            "opencl", broken, tmp_path):
        pass
    assert ONE_D


# ------------------------------------------------------------------------------------- C18, C19: what ran is what was
def test_C19_a_damaged_or_stale_binary_is_not_used(tmp_path: Path) -> None:
    cache = compile_cache.Cache(str(tmp_path / "cache"))
    program = Program("text", (Launch("k", ("1", "1", "1"), (1, 1, 1)),))
    name = compile_cache.key(program, ("flags",))
    cache.put(name, Built(program, b"code", ("k",), Resources()))
    assert cache.get(name, program) is not None
    path = cache._path(name)
    path.write_bytes(path.read_bytes()[:-1] + b"X")
    assert cache.get(name, program) is None, "its hash is not that of what was built"
    other = replace(program, source="text ")
    assert compile_cache.key(other, ("flags",)) != name and compile_cache.key(program, ("other flags",)) != name


def test_C19_an_edited_header_is_another_key(tmp_path: Path) -> None:
    assert compile_cache.headers(()) == compile_cache.headers(("-O3",))
    header = tmp_path / "shape.h"
    header.write_text("#define N 4\n")
    before = compile_cache.headers((f"-I{tmp_path}",))
    assert compile_cache.headers(("-I", str(tmp_path))) == before != compile_cache.headers(())
    header.write_text("#define N 5\n")
    os.utime(header, ns=(1, 1))
    assert compile_cache.headers((f"-I{tmp_path}",)) != before


def test_C18_C19_the_binary_and_the_flags_are_those_of_the_build() -> None:
    program = Program("text", (Launch("k", ("1", "1", "1"), (1, 1, 1)),))
    good = Built(program, b"code", ("k",), Resources(), flags=("-a",), digest=hashlib.sha256(b"code").hexdigest())
    assert good.mismatch(("-a",)) == ""
    assert "is not the one that was built" in replace(good, binary=b"c0de").mismatch(("-a",))
    assert "built with the flags -a, asked for are -b" in good.mismatch(("-b",))
