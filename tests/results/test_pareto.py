from __future__ import annotations

import builtins
import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genome.errors import InputError
from gpu.records import Resources, Verdict
from results import pareto
from results.rows import Row
from tests.results import build, strategies

objectives = st.sampled_from([("latency",), ("latency", "registers"), ("latency", "registers", "occupancy"),
                              ("registers", "shared_bytes", "latency")])


@given(st.lists(strategies.rows, max_size=25), objectives)
def test_front_is_the_nondominated_set(rows: list[Row], names: tuple[str, ...]) -> None:
    front = pareto.front(rows, names)
    costs = [pareto.cost(r, names) for r in front]
    assert all(r.verdict is Verdict.OK and r.latency is not None for r in front)
    assert not any(pareto.dominates(a, b) for a in costs for b in costs)
    assert len(set(costs)) == len(costs)
    for r in rows:
        if r.verdict is Verdict.OK and r.latency is not None:
            mine = pareto.cost(r, names)
            assert any(c == mine or pareto.dominates(c, mine) for c in costs)
    assert [r.latency for r in front] == sorted(r.latency for r in front)


@given(st.lists(strategies.rows, max_size=15), st.randoms())
def test_front_does_not_depend_on_the_order(rows: list[Row], random) -> None:
    names = ("latency", "registers", "occupancy")
    want = {pareto.cost(r, names) for r in pareto.front(rows, names)}
    random.shuffle(rows)
    assert {pareto.cost(r, names) for r in pareto.front(rows, names)} == want


@given(st.lists(st.integers(0, 3), min_size=2, max_size=2), st.lists(st.integers(0, 3), min_size=2, max_size=2))
def test_dominance_is_a_strict_order(a: list[int], b: list[int]) -> None:
    assert not pareto.dominates(a, a)
    assert not (pareto.dominates(a, b) and pareto.dominates(b, a))


def test_occupancy_is_maximised_and_unknown_is_worst() -> None:
    low = Row("low", latency=1.0, resources=Resources(32, occupancy=0.25))
    high = Row("high", latency=1.0, resources=Resources(32, occupancy=0.5))
    blind = Row("blind", latency=1.0, resources=Resources(32, occupancy=-1))
    assert [r.key for r in pareto.front([low, blind, high], ("latency", "occupancy"))] == ["high"]
    # registers that no candidate knows (OpenCL) leave latency to decide
    blind_rows = [Row("a", latency=2.0), Row("b", latency=1.0)]
    assert [r.key for r in pareto.front(blind_rows)] == ["b"]


def test_constraints() -> None:
    small = Row("small", latency=2.0, resources=Resources(32, shared_bytes=1024), launches='[{"block": [16, 8, 1]}]')
    large = Row("large", latency=1.0, resources=Resources(32, shared_bytes=65536), launches='[{"block": [32, 32, 1]}]')
    rows = [small, large]
    assert [r.key for r in pareto.front(rows)] == ["large"]
    assert [r.key for r in pareto.front(rows, constraints=("shared_bytes <= 49152",))] == ["small"]
    assert [r.key for r in pareto.front(rows, constraints=("threads <= 128", "spill_bytes == 0"))] == ["small"]
    assert pareto.front([Row("x", latency=1.0)], constraints=("registers <= 8",))  # not known: not held against it


@pytest.mark.parametrize(("constraint", "message"), [
    ("speed <= 3", "uses speed"), ("registers <=", "not an arithmetic"), ("registers / 0", "divides by zero")])
def test_bad_constraints(constraint: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pareto.front([Row("a", latency=1.0, resources=Resources(32))], constraints=(constraint,))


def test_unknown_objective() -> None:
    for call in (pareto.front, pareto.to_csv):
        with pytest.raises(InputError, match=r"unknown objective 'beauty'.*latency, registers"):
            call([Row("a", latency=1.0)], ("beauty",))


def test_writers(tmp_path: Path) -> None:
    with build.finished_run(tmp_path / "r") as s:
        assert pareto.asked(s) == (("latency", "registers"), ())
        front = pareto.front(s)
        assert [r.key for r in front] == ["c1", "baseline", "c3"]
        table = pareto.table(front)
        assert table[0] == ["candidate", "latency", "registers", "shared", "spills", "memory", "speed-up", "from",
                            "agent", "genes"]
        assert table[1] == ["c1", "2.00 ms", "64", "0 B", "0 B", "–", "2.00x", "confirmation", "block-first", "2"]
        lines = list(csv.DictReader(io.StringIO(pareto.to_csv(front))))
        assert [float(x["latency"]) for x in lines] == [2e-3, 4e-3, 5e-3]
        assert lines[0]["genome"] == "AdjustBlockSize(x: threads=128) ; UnrollLoop(k: factor=4, mode=full)"
        assert [x["confirmed"] for x in lines] == ["True", "", ""]
        data = json.loads(pareto.to_json(front))
        assert data["objectives"] == ["latency", "registers"]
        assert [x["registers"] for x in data["front"]] == [64, 32, 16]
        assert data["front"][0]["speedup"] == pytest.approx(2.0)
        assert pareto.to_csv([]).startswith("candidate,latency,registers,")


def test_png(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with build.finished_run(tmp_path / "r") as s:
        rows = s.rows()
    pytest.importorskip("matplotlib")
    pareto.write_png(tmp_path / "p.png", rows)
    pareto.write_png(tmp_path / "empty.png", [])
    for name in ("p.png", "empty.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="two objectives"):
        pareto.write_png(tmp_path / "p.png", rows, ("latency",))
    with pytest.raises(InputError, match="cannot write"):
        pareto.write_png(tmp_path / "none" / "p.png", rows)
    real = builtins.__import__

    def without(name: str, *args: object, **kw: object) -> object:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kw)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match="pip install matplotlib"):
        pareto.write_png(tmp_path / "p.png", rows)
