"""``evo check``: A against A, the roofline, whether a kernel suits a search."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from evo import check, start
from evo.cli.entry import call
from evo.problem import Problem, load_problem
from gpu.interface import Confirmation
from gpu.records import DeviceInfo, Evaluation, Timing, Verdict
from gpu.statistics import timing

ROOT = Path(__file__).resolve().parents[2]
CARD = DeviceInfo("cuda", "card", "sm_90", multiprocessors=132, l2_bytes=1 << 20, bandwidth=4e12, flops=6e13)


def trial(a: list[float], b: list[float], verdict: Verdict = Verdict.OK) -> Confirmation:
    return Confirmation(Evaluation("baseline", verdict, "" if verdict is Verdict.OK else "two threads race"), False,
                        (timing("n", a),), (timing("n", b),), notes=("watched by nobody",))


def test_both_orders_are_told_apart() -> None:
    """A B B A: whoever comes first after the other's pair is slow here."""
    found = check.same(timing("n", [2.0, 1.0] * 8), timing("n", [1.0, 2.0] * 8))
    assert found.first[0] == 2.0 and found.second[0] == 0.5 and not found.fair
    steady = check.same(timing("n", [1.0, 1.1] * 8), timing("n", [1.1, 1.0] * 8))
    assert steady.both[1] <= 1.0 <= steady.both[2]


@pytest.mark.parametrize(("a", "b", "words"), [
    ([1.0, 1.001] * 8, [1.001, 1.0] * 8, ""), ([2.0, 1.0] * 8, [1.0, 2.0] * 8, "does not time as the same"),
    ([1.0, 1.5, 1.5, 1.0] * 4, [1.5, 1.0, 1.0, 1.5] * 4, "times are noisy"),
])
def test_what_a_against_a_says(a: list[float], b: list[float], words: str) -> None:
    lines = check.alike(trial(a, b))
    assert lines[0] == "  watched by nobody" and lines[1].startswith("  A against A: ")
    assert words in " ".join(lines) and len(lines) == 2 + bool(words)


def test_a_baseline_that_fails_its_own_trial() -> None:
    assert "does not pass its own trial: not repeatable: two threads race" in check.alike(
        trial([1.0], [1.0], Verdict.NOT_REPEATABLE))[-1]


@pytest.fixture(scope="module")
def transpose() -> Problem:
    return load_problem(ROOT / "examples" / "transpose", "cuda")


def suits(problem: Problem, seconds: float, device: DeviceInfo = CARD) -> str:
    base = start.analyse(problem)
    return "\n".join(check.suits(problem, base, device, Timing("n", (seconds,), seconds, seconds, seconds),
                                 start.roofline(base, device)))


def test_who_suits_a_search(transpose: Problem) -> None:
    """In the best case 8192 x 8192 elements take 134 us on this card."""
    good = suits(transpose, 1e-3)
    assert re.match(r"Suits a search: \d+ transforms apply at \d+ places \(AdjustBlockSize, ", good), good
    near = "A search has little to gain here:\n  it is near the roofline: at most 1.0"
    assert suits(transpose, 140e-6).startswith(near)
    assert "bound by the launch: 5.00 us" in suits(transpose, 5e-6, replace(CARD, bandwidth=0.0))
    every = tuple(p for p in good.partition("(")[2].partition(")")[0].split(", "))
    assert "no transform applies" in suits(replace(transpose, veto=every), 1e-3)


def test_control_flow_on_data_and_fixed_geometry_are_said(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("""
__global__ void k(const float* in, float* out, int n) {
    __shared__ float t[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    t[threadIdx.x] = i < n ? in[i] : 0.0f;
    __syncthreads();
    if (i < n) {
        float v = t[255 - threadIdx.x];
        while (v > 1.0f) v *= 0.5f;
        if (in[i] > 0.0f) v += 1.0f;
        out[i] = v;
    }
}
""")
    (tmp_path / "evo.toml").write_text("""
[kernel]
source = "k.cu"
name = "k"
block = [256, 1, 1]
grid = ["ceil_div(n, block_x)", 1, 1]
[args]
in = { shape = "n" }
out = { shape = "n", role = "out" }
n = { value = "n" }
[sizes]
tune = [{ n = 8192 }]
""")
    text = suits(load_problem(tmp_path, "cuda"), 1e-3)
    assert "its launch geometry cannot be changed: " in text
    assert "its control flow depends on data at 2 places" in text
    assert "32 blocks do not fill 132 multiprocessors" in text


def test_the_roofline_names_its_peaks(transpose: Problem) -> None:
    roof = start.roofline(start.analyse(transpose), CARD)
    assert check.peaks(roof, CARD) == ["A launch must move 512 MiB and do 0 floating-point operations; this device "
                                       "copies 4.00 TB/s and does 60.0 TFLOP/s."]
    (_, small) = check.peaks(replace(roof, bytes=1e6), CARD)
    assert "fits into the second-level cache (1.00 MiB)" in small


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["check", str(ROOT / "examples" / "transpose"), "--backend", "opencl"]) == 0
    said = capsys.readouterr().out
    for words in ("the baseline is usable", "repeats agree bit for bit", "A against A: ", "% of the roofline",
                  "Suits a search: "):
        assert words in said, said
