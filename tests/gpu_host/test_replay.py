"""The replay back end: what the file holds, and the evaluator's interface over it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from genome.errors import InputError
from gpu.records import Verdict
from gpu.replay import ReplayEvaluator, load_space
from gpu.replay.program import program

CUT = Path(__file__).parent.parent / "data" / "convolution-cut.json.gz"


def cache(**more: Any) -> dict[str, Any]:
    rows = {"16,a": {"x": 16, "kind": "a", "time": 2.0, "times": [2.0, 2.1], "compile_time": 500.0},
            "32,a": {"x": 32, "kind": "a", "time": "CompilationFailedConfig"},
            "16,b": {"x": 16, "kind": "b", "time": 1.0, "benchmark_time": 30.0, "verification_time": 10.0},
            "32,b": {"x": 32, "kind": "b", "time": 1e20}}
    return {"device_name": "D", "kernel_name": "k", "tune_params_keys": ["x", "kind"],
            "tune_params": {"x": [16, 32, 64], "kind": ["a", "b"]}, "cache": rows, **more}


def write(path: Path, data: Any) -> Path:
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def test_the_record(tmp_path: Path) -> None:
    s = load_space(write(tmp_path / "small.json", cache()))
    assert (s.name, s.device, s.kernel) == ("small", "D", "k")
    assert s.parameters == {"x": (16, 32, 64), "kind": ("a", "b")}
    assert s.valid == [2e-3, 1e-3]
    first = s.entries[(16, "a")]
    assert first.samples == pytest.approx((2e-3, 2.1e-3)) and first.compile_seconds == 0.5
    assert s.entries[(16, "b")].device_seconds == pytest.approx(0.04)
    assert s.entries[(32, "a")].verdict is Verdict.COMPILE_ERROR
    assert s.entries[(32, "b")].seconds is None and s.entries[(32, "b")].verdict is Verdict.LAUNCH_FAILURE


def test_values_that_the_declaration_lacks(tmp_path: Path) -> None:
    data = cache(tune_params={"x": [32], "kind": ["a"]})
    data["cache"]["1.5"] = {"x": 1.5, "kind": "a", "time": 3.0}
    s = load_space(write(tmp_path / "s.json", data))
    assert s.parameters == {"x": (32, 16, "1.5"), "kind": ("a", "b")}
    assert s.entries[("1.5", "a")].seconds == pytest.approx(3e-3)


def test_gzip_by_content(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(gzip.compress(json.dumps(cache()).encode()))
    assert len(load_space(path).entries) == 4


LAST = '"32,b": {"x": 32, "kind": "b", "time": 1e+20}}}'


@pytest.mark.parametrize("cut", ["}", "}}", "}}}", ', "time": 1e+20}}}', LAST])
def test_a_missing_end_is_supplied(tmp_path: Path, cut: str) -> None:
    """Without one, two or three brackets, cut within the last entry, and after the comma before it."""
    whole = json.dumps(cache())
    assert whole.endswith(cut)
    s = load_space(write(tmp_path / "s.json", whole.removesuffix(cut)))
    complete = 4 if cut in ("}", "}}") else 3
    assert len(s.entries) == complete and s.valid == [2e-3, 1e-3]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cache": [], "tune_params_keys": [], "tune_params": {}}', "no",
                                  json.dumps(cache(tune_params_keys=["x", "lost"])),
                                  json.dumps(cache(cache={"16,a": {"x": 16, "kind": "a", "time": "InvalidConfig"}}))])
def test_what_is_no_record_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="s.json"):
        load_space(write(tmp_path / "s.json", text))


def test_a_missing_file() -> None:
    with pytest.raises(InputError, match="nowhere.json"):
        load_space("nowhere.json")


def test_the_cut_of_a_recorded_space() -> None:
    s = load_space(CUT)
    assert len(s.entries) == 390 and len(s.valid) == 387
    assert s.parameters["tile_size_x"] == (1, 2, 4)
    assert s.device == "NVIDIA A100-PCIE-40GB"
    assert all(e.verdict is Verdict.LAUNCH_FAILURE for e in s.entries.values() if e.seconds is None)


def evaluator(tmp_path: Path, kind: str = "a", x: int = 16) -> ReplayEvaluator:
    s = load_space(write(tmp_path / "s.json", cache()))
    return ReplayEvaluator(s, program("k", {"x": x, "kind": kind}))


def test_every_program_gets_its_record(tmp_path: Path) -> None:
    with evaluator(tmp_path) as e:
        report = e.gate()
        assert report.evaluation.timings[0].median == 2e-3 and report.deterministic
        for key, x, kind in (("one", 16, "b"), ("two", 32, "a"), ("three", 64, "a")):
            e.submit(key, program("k", {"x": x, "kind": kind}))
        assert e.pending() == 3
        found = e.collect(10.0)
        assert [f.key for f in found] == ["one", "two", "three"] and e.pending() == 0
        assert [f.verdict for f in found] == [Verdict.OK, Verdict.COMPILE_ERROR, Verdict.REFUSED]
        assert found[0].timings[0].median == found[0].timings[0].low == 1e-3
        assert found[0].device_seconds == pytest.approx(0.04)
        assert found[1].reason == "CompilationFailedConfig" and found[1].timings == ()


def test_confirmation_is_the_recorded_ratio(tmp_path: Path) -> None:
    e = evaluator(tmp_path)
    good = e.confirm("one", program("k", {"x": 16, "kind": "b"}))
    assert good.accepted and good.speedups == (("recorded", 2.0, 2.0, 2.0),)
    same = e.confirm("same", program("k", {"x": 16, "kind": "a"}))
    failed = e.confirm("two", program("k", {"x": 32, "kind": "a"}))
    assert not same.accepted and not failed.accepted and failed.reason == "CompilationFailedConfig"


def test_a_baseline_that_failed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="CompilationFailedConfig"):
        evaluator(tmp_path, x=32).gate()


def test_the_block_is_read_from_its_parameters() -> None:
    p = program("k", {"block_size_x": 32, "block_size_y": 4, "tile": 2})
    assert p.launches[0].block == (32, 4, 1)
    q = program("k", {"bx": 64, "tile": 2}, ("bx",))
    assert q.launches[0].block == (64, 1, 1) and p.key != q.key
