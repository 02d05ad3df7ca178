"""Times that look good (rows T of docs/evaluator-fixtures.md): each trick, on a device whose clock the test sets."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from genome.errors import InputError
from genome.workload import Argument, Size, Workload
from gpu import health, statistics, timing
from gpu.bench import Bench
from gpu.confirm import certain
from gpu.evaluator import open_evaluator
from gpu.health import Neighbours, State
from gpu.interface import EvaluatorOptions
from gpu.records import DeviceInfo, Verdict
from gpu.worker import exercise
from tests.evaluator_rows.problems import NORMS
from tests.helpers.fake_device import INFO, Kernel, Lab, built

N = 256
X, Y, Y_KEPT = (Argument("x", "float32", "n"), Argument("y", "float32", "n", "out"),
                Argument("y", "float32", "n", "inout"))
SCALE = Workload((X, Y, Argument("n", "int32", value="n")), (Size((("n", N),)),))
RESTORED = Workload((X, Y_KEPT, Argument("n", "int32", value="n")), SCALE.tune)
OPTIONS = EvaluatorOptions(samples=7, slow_factor=50.0)


def scale(x: np.ndarray, y: np.ndarray, n: int) -> None:
    y[:] = 2.0 * x + 1.0


def session_cuda_text() -> str:
    return Path(inspect.getfile(timing)).with_name("session_cuda.py").read_text()


def steady(seconds: float = 1e-3) -> Kernel:
    return Kernel(scale, lambda now: seconds)


def noisy(seed: int, seconds: float = 1e-3, spread: float = 0.02) -> Kernel:
    rng = np.random.default_rng(seed)
    return Kernel(scale, lambda now: seconds * float(np.exp(spread * rng.standard_normal())))


def lab(info: DeviceInfo = INFO, workload: Workload = SCALE, proxies: bool = False, options: EvaluatorOptions = OPTIONS,
        **kernels: Kernel) -> Lab:
    made = Lab(workload, {"baseline": steady(), **kernels}, options, info)
    made.gate(proxies)
    return made


def test_T1_work_that_goes_on_after_the_stop_event() -> None:
    """The events see 0.5 ms, the host waits for 20 ms more: no time, and no verdict "ok"."""
    made = lab(leaks=Kernel(scale, lambda now: 5e-4, after=20e-3), honest=steady(5e-4))
    found = made.measure("leaks")
    assert found.verdict == Verdict.LAUNCH_FAILURE and "work goes on after the launch" in found.reason, found
    assert made.confirm("leaks").verdict == Verdict.LAUNCH_FAILURE
    assert made.measure("honest").verdict == Verdict.OK


def test_T1_the_cuda_window_ends_with_a_device_wide_wait() -> None:
    """Read from the text of the CUDA session, which cannot be imported without PyCUDA."""
    text = session_cuda_text()
    window = text[text.index("def time("):text.index("def flush_cache")]
    assert window.index("Context.synchronize") < window.index("self._start.record()")
    assert window.rindex("Context.synchronize") > window.index("self._stop.record()")


class Cached:
    """Computes once for each address and size, and replays the result from then on."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int, int], np.ndarray] = {}

    def __call__(self, x: np.ndarray, y: np.ndarray, n: int) -> None:
        key = x.ctypes.data, n
        if key not in self.kept:
            self.kept[key] = 2.0 * x + 1.0
        y[:] = self.kept[key]


def test_T6_a_replayed_result() -> None:
    trial = lab(replays=Kernel(Cached(), lambda now: 1e-5)).confirm("replays")
    assert trial.verdict == Verdict.NOT_REPEATABLE and "other data at the same addresses" in trial.reason, trial


@pytest.mark.parametrize("period", [2, 3, 5, 15])
def test_T7_most_of_the_timed_calls_do_nothing(period: int) -> None:
    calls = {"n": 0}

    def lazy(x: np.ndarray, y: np.ndarray, n: int) -> None:
        calls["n"] += 1
        if calls["n"] % period == 1:
            y[:] = 2.0 * x + 1.0

    trial = lab(lazy=Kernel(lazy, lambda now: 1e-5)).confirm("lazy")
    assert trial.verdict in (Verdict.WRONG, Verdict.NOT_REPEATABLE), trial


def test_T8_cold_and_warm_are_told_apart() -> None:
    """Without a flush the second launch meets a warm cache and takes a third of the time."""
    made = lab(info=DeviceInfo("cuda", "fake", l2_bytes=1 << 20), fast=steady())
    flushed = {"at": -1}

    def seconds(now: float) -> float:
        cold = made.session.flushes != flushed["at"]
        flushed["at"] = made.session.flushes
        return 1e-3 if cold else 3e-4

    made.session.kernels["fast"].seconds = seconds
    trial = made.confirm("fast")
    assert trial.candidate[0].median == pytest.approx(1e-3)
    assert dict(trial.warm)[str(N)] > 2.0  # and the warm figure stands beside it


def test_T9_persisting_lines_are_reset_with_the_flush() -> None:
    text = session_cuda_text()
    flush = text[text.index("def flush_cache"):text.index("# --- buffers")]
    assert "_reset_persisting()" in flush and "cuCtxResetPersistingL2Cache" in flush


def ramp(now: float) -> float:
    """A clock that starts at a third of its speed and takes 20 ms of work to reach it."""
    return 1e-3 * (1.0 + 2.0 * math.exp(-now / 20e-3))


@pytest.mark.parametrize("order", [("baseline", "same"), ("same", "baseline")])
def test_T10_a_clock_ramp_favours_nobody(order: tuple[str, str]) -> None:
    made = lab(same=steady())
    for kernel in made.session.kernels.values():
        kernel.seconds = ramp
    made.session.now = 0.0
    bench = Bench(made.session, SCALE, SCALE.tune[0], 0)  # type: ignore[arg-type]
    one, other = (bench.bind(built(name)) for name in order)
    a, b = timing.alternate(bench, one, other, OPTIONS, 8, 1e-3)
    ratio, low, high = statistics.ratio(a.samples, b.samples, 0)
    assert ratio == pytest.approx(1.0, abs=0.01) and low <= 1.0 <= high


HOT = State(900, 2600, ("thermal, by hardware",))
COOL = State(1980, 2600)


def test_T11_samples_of_a_throttled_device_are_taken_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is hot, everything takes 2.8 times as long: the better candidate would lose."""
    monkeypatch.setattr(timing, "PAUSE", 0.0)
    made = Lab(SCALE, {"baseline": steady(), "better": steady()}, OPTIONS)
    made.gate(False)
    hot = {"left": 3}

    def state(now: float) -> State:
        hot["left"] -= 1
        return HOT if hot["left"] >= 0 else COOL

    made.session._state = state
    made.session.kernels["better"].seconds = lambda now: 8e-4 * (2.8 if hot["left"] > 0 else 1.0)
    found = made.measure("better")
    assert found.timings[0].median == pytest.approx(8e-4) and max(found.timings[0].samples) == pytest.approx(8e-4)
    assert found.timings[0].clocks == (1980,) * OPTIONS.samples and found.timings[0].throttled == ()


def test_T11_what_stays_throttled_is_kept_and_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "PAUSE", 0.0)
    made = lab(hot=steady())
    made.session._state = lambda now: HOT
    timed = made.measure("hot").timings[0]
    assert len(timed.samples) == OPTIONS.samples and timed.throttled == ("thermal, by hardware",)
    trial = made.confirm("hot")
    assert trial.candidate[0].throttled == ("thermal, by hardware",)
    made.session._state = lambda now: State(1700, 2600, ("power cap",))
    before = made.session.kernels["hot"].calls
    made.measure("hot")
    assert not health.doubtful(State(throttled=("power cap",)))
    assert made.session.kernels["hot"].calls - before <= OPTIONS.samples + 3, "a card may stay at its power cap"


def test_T11_reasons_are_read_from_the_mask_of_the_driver() -> None:
    assert health.reasons(0x40 | 0x4 | 0x1) == ("thermal, by hardware", "power cap")
    assert health.reasons(0) == ()


@pytest.mark.parametrize(("found", "noisy", "said"), [
    (Neighbours(), False, ""),
    (Neighbours(displaying=("process 7",)), False, "drives a display (process 7)"),
    (Neighbours(computing=("process 9",), busy=0.0), False, "idle at present (process 9)"),
    (Neighbours(computing=("process 9",), busy=0.8), True, "computes on the device (process 9, 80 % busy)"),
])
def test_T28_other_processes_are_told_and_refused_where_asked(found: Neighbours, noisy: bool, said: str) -> None:
    report = Lab(SCALE, {"baseline": steady()}, OPTIONS, neighbours=found).gate(False)
    assert bool(report.noisy) == noisy
    assert said in " ".join((*report.notes, report.noisy))
    strict = Lab(SCALE, {"baseline": steady()}, replace(OPTIONS, strict=True), neighbours=found)
    if noisy:
        with pytest.raises(InputError, match="times are noisy .*--strict"):
            strict.gate(False)
    else:
        strict.gate(False)


def test_T12_a_device_that_slows_down_half_way() -> None:
    """Measured one after the other, the second would lose by a factor of two; interleaved, neither wins."""
    made = lab(same=steady())
    made.session.now = 0.0
    for kernel in made.session.kernels.values():
        kernel.seconds = lambda now: 1e-3 * (1.0 + now)
    trial = made.confirm("same")
    assert trial.speedups[0][1] == pytest.approx(1.0, abs=0.01), trial.speedups
    assert not certain(trial, OPTIONS)


@pytest.mark.parametrize("spread", [0.003, 0.02, 0.1])
def test_T13_two_hundred_clones_yield_no_winner(spread: float) -> None:
    """The three that looked best of 200 equal candidates go to confirmation, as in a run; a real gain passes."""
    clones = {f"clone{i}": noisy(i, spread=spread) for i in range(200)}
    made = lab(**clones, better=noisy(1000, 0.8e-3, spread))
    made.session.kernels["baseline"].seconds = noisy(999, spread=spread).seconds
    found = sorted((made.measure(name).timings[0].high, name) for name in clones)
    winners = [name for _, name in found[:3] if certain(made.confirm(name), OPTIONS)]
    assert winners == []
    assert certain(made.confirm("better"), OPTIONS)


def test_T14_short_launches_are_timed_in_batches_and_it_is_said() -> None:
    short = DeviceInfo("cuda", "fake")
    made = Lab(SCALE, {"baseline": steady(5e-6)}, OPTIONS, short)
    report = made.gate(False)
    assert any("in batches of 20" in n for n in report.notes), report.notes
    kernel = made.session.kernels["baseline"]
    assert kernel.calls > 20 * OPTIONS.samples
    report = Lab(RESTORED, {"baseline": steady(5e-6)}, OPTIONS, short).gate(False)
    assert any("one by one" in n and "overhead" in n for n in report.notes), report.notes


def test_T15_nothing_but_launches_in_the_timed_region() -> None:
    """Between the first and the last sample nothing is allocated, loaded or uploaded; what is restored or poisoned is
    so between the windows."""
    made = lab(fast=steady(5e-4))
    made.measure("fast")
    made.session.log.clear()
    bench = Bench(made.session, SCALE, SCALE.tune[0], 0)  # type: ignore[arg-type]
    runner = bench.bind(built("fast"))
    made.session.log.clear()
    timing.measure(bench, runner, OPTIONS, 5e-4, 0.0, None)
    assert made.session.log == ["poison", "time"] * OPTIONS.samples


@pytest.mark.parametrize("bad", [0.0, -1e-3, math.nan, math.inf])
def test_T18_impossible_times_are_no_times(bad: float) -> None:
    found = lab(never=Kernel(scale, lambda now: bad)).measure("never")
    assert found.verdict == Verdict.LAUNCH_FAILURE and "no valid time" in found.reason, found
    assert found.timings == ()
    turns = {"n": 0}

    def sometimes(now: float) -> float:
        turns["n"] += 1
        return bad if turns["n"] % 2 else 1e-3

    found = lab(sometimes=Kernel(scale, sometimes)).measure("sometimes")
    assert found.verdict == Verdict.OK and found.timings[0].median == pytest.approx(1e-3)


def test_T19_faster_than_physics() -> None:
    """1 KiB at 1 GB/s takes a microsecond; a tenth of that was not computed, however right it looks."""
    device = DeviceInfo("fake", "fake", bandwidth=1e9)
    found = lab(device, magic=steady(1e-7), honest=steady(1.2e-6)).measure("magic")
    assert found.verdict == Verdict.WRONG and "faster than its outputs can be written" in found.reason, found
    assert lab(device, magic=steady(1e-7), honest=steady(1.2e-6)).measure("honest").verdict == Verdict.OK


def test_C21_right_for_ten_calls_and_wrong_afterwards() -> None:
    calls = {"n": 0}

    def tires(x: np.ndarray, y: np.ndarray, n: int) -> None:
        calls["n"] += 1
        y[:] = 2.0 * x + (1.0 if calls["n"] <= 8 else 2.0)

    made = lab(tires=Kernel(tires))
    found = made.measure("tires")
    assert found.verdict == Verdict.NOT_REPEATABLE and "after the timed launches" in found.reason, found


def test_C22_one_of_the_timed_launches_is_looked_at() -> None:
    """Right on the first launch, right again on the last check, wrong in between: drawn launches find it."""
    caught = 0
    for seed in range(6):
        calls = {"n": 0}

        def between(x: np.ndarray, y: np.ndarray, n: int, calls: dict[str, int] = calls) -> None:
            calls["n"] += 1
            y[:] = 2.0 * x + (2.0 if 1 < calls["n"] <= 1 + OPTIONS.samples else 1.0)

        made = lab(options=EvaluatorOptions(samples=7, slow_factor=50.0, seed=seed), between=Kernel(between))
        found = made.measure("between")
        caught += found.verdict == Verdict.NOT_REPEATABLE and "timed launch" in found.reason
    assert caught == 6
    chosen = {timing.drawn(seed, 7) for seed in range(100)}
    assert chosen == set(range(7)), "any of them, not always the last"


def test_C24_in_out_arrays_are_restored_before_every_launch() -> None:
    """``y = 2 y + x`` over hundreds of launches would reach infinity."""
    def accumulate(x: np.ndarray, y: np.ndarray, n: int) -> None:
        assert np.abs(y).max() < 1e5, "what many earlier launches left"
        y[:] = 2.0 * y + x

    made = Lab(RESTORED, {"baseline": Kernel(accumulate), "fast": Kernel(accumulate, lambda now: 5e-4)}, OPTIONS)
    made.gate()
    assert made.measure("fast").verdict == Verdict.OK
    trial = made.confirm("fast")
    assert trial.verdict == Verdict.OK and certain(trial, OPTIONS)
    assert made.session.log.count("restore") >= made.session.log.count("time") - 1


def test_C2_the_reference_is_not_on_the_device_while_a_candidate_runs() -> None:
    """The candidate looks through all memory of the device for the expected values; only its own output has them."""
    seen: list[int] = []

    def looks(x: np.ndarray, y: np.ndarray, n: int) -> None:
        expected = 2.0 * x + np.float32(1.0)
        seen.append(sum(np.array_equal(b.data, expected) for b in made.session.live if b.data is not y))
        y[:] = expected

    made = lab(looks=Kernel(looks))
    assert made.measure("looks").verdict == Verdict.OK and made.confirm("looks").verdict == Verdict.OK
    assert len(seen) > 20 and not any(seen)


@pytest.mark.parametrize("environment", [
    {"CUDA_INJECTION64_PATH": "/opt/nsight/libcuda-injection.so"}, {"NSYS_PROFILING_SESSION_ID": "7"},
    {"LD_PRELOAD": "/opt/nsight-compute/libInjection.so"}])
def test_T23_no_times_under_a_profiler(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match="times under a profiler are no times"):
        open_evaluator("opencl", NORMS.workload, NORMS.program("opencl", NORMS.baseline))
    assert health.profiler({"PATH": "/bin", "LD_PRELOAD": "libjemalloc.so", "COMPUTE_PROFILE": "0"}) == ""


def test_T23_what_a_tool_runs_is_never_timed() -> None:
    """The sanitizer's process runs the program and returns no figure at all."""
    made = lab(same=steady())
    made.gate()
    assert exercise(made.session, made.setup, built("same")) is None  # type: ignore[func-returns-value, arg-type]


def test_T2_work_that_is_still_queued_is_not_in_the_next_window() -> None:
    """A real OpenCL device: a long kernel is started and not awaited; the short one behind it takes no longer."""
    run = subprocess.run([sys.executable, "-c", LEAK], capture_output=True, text=True, timeout=120, check=True,
                         cwd=Path(__file__).resolve().parents[2])
    alone, behind, long = (float(t) for t in run.stdout.split())
    assert long > 5 * alone, "the fixture is worth something"
    assert behind < alone + 0.5 * long


LEAK = """
import numpy as np
import pyopencl as cl
from genome.program import Launch
from gpu.session import Call
from gpu.session_opencl import OpenClSession
session = OpenClSession()
text = "__kernel void k(__global float* x, int n) { float s = x[get_global_id(0)]; " \
       "for (int i = 0; i < n; ++i) s = s * 0.999f + 0.5f; x[get_global_id(0)] = s; }"
program = cl.Program(session.context, text).build()
launch = Launch("k", ("1", "1", "1"), (64, 1, 1))
buffer = session.allocate(64, np.dtype(np.float32))
session.fill(buffer, 0)
def runner(n):
    return session.runner(program, [Call(launch, "k", (1, 1, 1), (buffer, np.int32(n)))])
short, long = runner(20_000), runner(1_000_000)
session.time(short)
alone = min(session.time(short) for _ in range(5))
long.enqueue()
behind = session.time(short)
print(alone, behind, session.time(long))
"""
