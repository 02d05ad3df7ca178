from __future__ import annotations

import dataclasses
import math
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genome.errors import InputError
from gpu.records import Evaluation, Timing, Verdict
from results import owner, schema
from results.store import Store
from tests.results import build, strategies

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def store(tmp_path: Path):
    with Store.create(tmp_path / "run", build.PROBLEM, {"seed": 3}) as s:
        yield s


def test_problem_and_environment_come_back(tmp_path: Path) -> None:
    Store.create(tmp_path / "r", {"kernel": "it's \0 \N{SNOWMAN}"}, {"seed": np.int64(3)}).close()
    with Store.open(tmp_path / "r") as s:
        assert s.problem == {"kernel": "it's \0 \N{SNOWMAN}"}
        assert s.environment == {"seed": 3}
        assert abs(s.created() - time.time()) < 60


def test_settings_of_the_file(store: Store) -> None:
    db = sqlite3.connect(store.folder / "run.db")
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert db.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
    assert store._all("PRAGMA synchronous") == [(1,)]
    assert store._all("PRAGMA foreign_keys") == [(1,)]
    db.close()


@settings(max_examples=60, deadline=None)
@given(st.lists(strategies.candidates, max_size=4, unique_by=lambda c: c.key))
def test_candidates_come_back_equal(given_: list) -> None:
    with tempfile.TemporaryDirectory() as folder, Store.create(Path(folder) / "r", {}, {}) as s:
        for c in given_:
            s.add_candidate(c)
        with Store.open(Path(folder) / "r") as again:
            assert again.candidates() == given_
            assert [again.candidate(c.key) for c in given_] == given_
            bare = [dataclasses.replace(c, source="", source_opencl="") for c in given_]
            assert again.candidates(sources=False) == bare
            assert again.unevaluated() == [c.key for c in given_]


@settings(max_examples=60, deadline=None)
@given(strategies.evaluations, strategies.confirmations)
def test_evaluations_and_confirmations_come_back_equal(e: Evaluation, c) -> None:
    with tempfile.TemporaryDirectory() as folder, Store.create(Path(folder) / "r", {}, {}) as s:
        s.add_candidate(build.candidate(e.key))
        s.set_evaluation(e)
        s.add_confirmation(e.key, c)
        with Store.open(Path(folder) / "r") as again:
            assert again.evaluation(e.key) == e
            assert again.evaluations() == [e]
            assert again.confirmation(e.key) == c
            assert again.confirmations() == [(e.key, c)]
            assert again.unevaluated() == []
            assert [r.key for r in again.rows()] == [e.key]


def test_numbers_that_are_none(store: Store) -> None:
    c = dataclasses.replace(build.candidate("n"), predicted=math.nan, features={"a": math.inf, "b": math.nan})
    store.add_candidate(c)
    back = store.candidate("n")
    assert back.predicted is not None and math.isnan(back.predicted)
    assert back.features["a"] == math.inf and math.isnan(back.features["b"])
    timing = Timing("1", (math.nan,), math.nan, -math.inf, math.inf)
    e = Evaluation("n", Verdict.OK, timings=(timing,), max_error=math.nan)
    store.set_evaluation(e)
    assert math.isnan(store.evaluation("n").max_error)
    assert store.gain("n") is None


def test_numpy_scalars_are_plain_numbers_afterwards(store: Store) -> None:
    store.add_candidate(dataclasses.replace(build.candidate("n"), round=np.int64(4), predicted=np.float32(0.5),
                                            features={"a": np.float64(2.0)}))
    back = store.candidate("n")
    assert (back.round, back.predicted, back.features) == (4, 0.5, {"a": 2.0})
    assert type(back.round) is int and type(back.features["a"]) is float
    with pytest.raises(TypeError, match="cannot be recorded"):
        store.event("x", {"a": object()})


def test_a_key_is_taken_once(store: Store) -> None:
    store.add_candidate(build.candidate("a"))
    with pytest.raises(ValueError, match="in the run already"):
        store.add_candidate(build.candidate("a"))
    with pytest.raises(KeyError):
        store.set_evaluation(build.evaluation("stranger", 1.0))
    with pytest.raises(KeyError):
        store.add_confirmation("stranger", build.confirmation("stranger", 2.0, 1.0))
    for read in (store.candidate, store.evaluation, store.gain):
        with pytest.raises(KeyError):
            read("stranger")
    store.add_candidate(build.candidate("b"))  # the failed facts left nothing behind
    assert [c.key for c in store.candidates()] == ["a", "b"]


def test_gain_is_the_weighted_mean_of_logarithms(tmp_path: Path) -> None:
    def both(key: str, a: float, b: float) -> Evaluation:
        return Evaluation(key, Verdict.OK, timings=(build.timing(a, "64"), build.timing(b, "128")))

    with Store.create(tmp_path / "r", {"weights": {"64": 3.0, "128": 1.0}}, {}) as s:
        for key in ("baseline", "c", "partial"):
            s.add_candidate(build.candidate(key))
        s.set_evaluation(both("c", 1e-3, 4e-3))
        assert s.gain("c") is None and s.baseline() is None  # nothing to compare with yet
        s.set_evaluation(both("baseline", 2e-3, 4e-3))
        s.set_evaluation(Evaluation("partial", Verdict.ABORTED_SLOW, timings=(build.timing(8e-3, "64"),)))
        assert s.gain("c") == pytest.approx(0.75 * math.log(2))
        assert s.gain("baseline") == 0
        assert s.gain("partial") == pytest.approx(-math.log(4))  # over the size that both have
        row = {r.key: r for r in s.rows()}["c"]
        assert row.latency == pytest.approx(math.exp(0.75 * math.log(1e-3) + 0.25 * math.log(4e-3)))


def test_refusals_are_counted_by_cause(store: Store) -> None:
    for line in (4, 9):
        store.add_refusal("a", f"TileLoops(k: size={line})", "carries", "the loop carries a sum", line)
    store.add_refusal("b", "UnrollLoop(k)", "carries", "the loop carries a sum", 1)
    first, second = store.refusal_counts()
    assert (first.mutator, first.count, first.line, first.gene) == ("TileLoops", 2, 4, "TileLoops(k: size=4)")
    assert (second.mutator, second.count) == ("UnrollLoop", 1)


def test_text_that_is_no_utf8(store: Store) -> None:
    bad = b"caf\xe9".decode("utf-8", "surrogateescape")
    store.add_refusal(bad, bad, bad, bad)
    store.add_candidate(dataclasses.replace(build.candidate("a"), source=bad))
    store.set_evaluation(dataclasses.replace(build.evaluation("a", 1.0), log=bad))
    assert store.candidate("a").source == bad and store.evaluation("a").log == bad
    assert len(store.refusal_counts()) == 1


def test_state_and_events(store: Store) -> None:
    assert store.load_state("policy") is None
    for data in (b"\x00\xff", "text", b"", ""):
        store.save_state("policy", data)
        assert store.load_state("policy") == data
    store.event("round", {"n": 1, "best": np.float64(2.5)})
    store.event("champion", {"key": "c1"})
    assert [e.kind for e in store.events()] == ["round", "champion"]
    assert store.events("round")[0].data == {"n": 1, "best": 2.5}


def test_champion_survived_confirmation(store: Store) -> None:
    for key, t in (("baseline", 4e-3), ("a", 2e-3), ("b", 1e-3), ("c", 3e-3)):
        store.add_candidate(build.candidate(key))
        store.set_evaluation(build.evaluation(key, t))
    assert store.champion() is None
    store.event("champion", {"key": "b"})
    assert store.champion().key == "b"  # provisional
    store.add_confirmation("b", build.confirmation("b", 4e-3, 1e-3, accepted=False))
    assert store.champion() is None
    store.add_confirmation("c", build.confirmation("c", 4e-3, 3e-3))
    assert store.champion().key == "c"
    store.add_confirmation("a", build.confirmation("a", 4e-3, 2e-3))
    assert store.champion().key == "a"  # the larger gain
    wrong = build.confirmation("a", 4e-3, 2e-3)
    store.add_confirmation("a", dataclasses.replace(
        wrong, evaluation=dataclasses.replace(wrong.evaluation, verdict=Verdict.WRONG)))
    assert store.champion().key == "c"
    barely = build.confirmation("c", 4e-3, 3.99e-3)
    store.add_confirmation("c", barely)  # accepted, but its interval reaches below 1
    assert store.champion() is None
    assert {r.key: r.verdict for r in store.rows()}["a"] is Verdict.WRONG


def test_status_and_clock_over_a_resumption(tmp_path: Path) -> None:
    s = Store.create(tmp_path / "r", {}, {})
    assert s.status() == "running"
    time.sleep(0.05)
    assert s.elapsed() >= 0.05
    s.close()
    with Store.open(tmp_path / "r") as again:
        assert again.status() == "interrupted"
        stopped = again.elapsed()
        assert stopped >= 0.05
        time.sleep(0.05)
        assert again.elapsed() == stopped  # nobody is running it
        again.set_status("running")
        time.sleep(0.05)
        assert stopped + 0.05 <= again.elapsed() < stopped + 5
        again.set_status("finished")
        assert again.status() == "finished"
        with pytest.raises(ValueError, match="status"):
            again.set_status("done")


def test_only_one_process_runs_a_run(tmp_path: Path) -> None:
    code = ("import sys; from results.store import Store; s = Store.create(sys.argv[1], {}, {}); "
            "print('up', flush=True); sys.stdin.read(); s.close()")
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "r")], cwd=ROOT, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "up\n"
    with Store.open(tmp_path / "r") as s:
        assert s.status() == "running"
        with pytest.raises(InputError, match=f"in progress in process {child.pid}"):
            s.set_status("running")
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert s.status() == "interrupted"
        s.set_status("running")
        assert s.status() == "running"


def test_owner_is_a_process_not_a_number() -> None:
    boot, pid, start = owner.me().split(" ")
    assert owner.alive(owner.me())
    assert not owner.alive(f"{boot} {pid} {int(start) + 1}")  # the number was used again
    assert not owner.alive(f"other {pid} {start}")
    assert not owner.alive("")


def test_unusable_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        Store.open(tmp_path / "none")
    with pytest.raises(InputError, match="not a folder"):
        (tmp_path / "file").touch()
        Store.open(tmp_path / "file")
    with pytest.raises(InputError, match="not a run"):
        Store.open(tmp_path)
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "run.db").write_text("no database " * 200)
    with pytest.raises(InputError, match="cannot be read"):
        Store.open(tmp_path / "text")
    (tmp_path / "other").mkdir()
    db = sqlite3.connect(tmp_path / "other" / "run.db")
    db.execute("CREATE TABLE t (x)")
    db.close()
    with pytest.raises(InputError, match="no run database"):
        Store.open(tmp_path / "other")
    with pytest.raises(InputError, match="cannot be written"):
        Store.create(tmp_path / "file" / "run", {}, {})
    Store.create(tmp_path / "twice", {}, {}).close()
    with pytest.raises(InputError, match="already holds a run"):
        Store.create(tmp_path / "twice", {}, {})


def test_a_newer_schema_is_named(tmp_path: Path) -> None:
    Store.create(tmp_path / "r", {}, {}).close()
    db = sqlite3.connect(tmp_path / "r" / "run.db")
    db.execute(f"PRAGMA user_version={schema.VERSION + 1}")
    db.close()
    with pytest.raises(InputError, match=f"newer evo: schema {schema.VERSION + 1}"):
        Store.open(tmp_path / "r")


def test_a_full_disk_is_said_and_loses_one_fact(store: Store) -> None:
    store.add_candidate(build.candidate("a"))
    pages = store._all("PRAGMA page_count")[0][0]
    store._db.execute(f"PRAGMA max_page_count={pages}")  # SQLite's own way to run out of room
    with pytest.raises(InputError, match=r"can no longer be written.*free disk space"):
        store.save_state("big", b"x" * 10**6)
    store._db.execute("PRAGMA max_page_count=1000000")
    store.event("after", {})
    assert store.load_state("big") is None
    assert [c.key for c in store.candidates()] == ["a"]


def test_threads_share_a_store(store: Store) -> None:
    def write(name: str) -> None:
        for i in range(50):
            store.add_candidate(build.candidate(f"{name}{i}"))
            store.set_evaluation(build.evaluation(f"{name}{i}", 1e-3))

    threads = [threading.Thread(target=write, args=(n,)) for n in "abcd"]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(store.evaluations()) == len(store.candidates()) == 200


WRITER = """
import sys, itertools
from pathlib import Path
from results.store import Store
from tests.results import build
folder = Path(sys.argv[1])
store = Store.open(folder) if folder.exists() else Store.create(folder, {}, {})
store.set_status("running")
print("up", flush=True)
start = len(store.candidates())
for i in itertools.count(start):
    store.add_candidate(build.candidate(f"c{i}", build.BLOCK))
    print(f"c{i}", flush=True)
    store.set_evaluation(build.evaluation(f"c{i}", 1e-3))
    print(f"e{i}", flush=True)
    store.save_state("policy", b"x" * 20000)
"""


def test_killed_ten_times_it_loses_only_the_fact_in_flight(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    for turn in range(10):
        child = subprocess.Popen([sys.executable, "-c", WRITER, str(folder)], cwd=ROOT, text=True,
                                 stdout=subprocess.PIPE)
        said = [child.stdout.readline() for _ in range(40 + 37 * turn)]
        child.kill()
        said += child.stdout.readlines()
        child.wait()
        # What was said had been written before; a last line cut in the middle still names an earlier fact.
        written = [line.strip() for line in said if line.endswith("\n") and line != "up\n"]
        with Store.open(folder) as s:
            keys = [c.key for c in s.candidates()]
            evaluated = [e.key for e in s.evaluations()]
            assert keys == [f"c{i}" for i in range(len(keys))]
            assert len(keys) - len(evaluated) <= turn + 1
            for w in written:
                assert (w in keys) if w[0] == "c" else (f"c{w[1:]}" in evaluated)
            # ...and at most one fact more than was said.
            last = max(int(w[1:]) for w in written)
            assert len(keys) <= last + 2
            assert s._all("PRAGMA integrity_check") == [("ok",)]
            assert s.status() == "interrupted"
