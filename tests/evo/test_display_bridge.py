from __future__ import annotations

from dataclasses import replace

from evo.display import SearchView, Snapshot
from evo.search.snapshot import AgentView, FrontView
from evo.search.snapshot import Snapshot as SearchSnapshot
from gpu.records import Verdict
from surrogate.screen import Report


class Shown:
    def __init__(self) -> None:
        self.last = Snapshot()
        self.said: list[str] = []

    def update(self, snapshot: Snapshot) -> None:
        self.last = snapshot

    def message(self, text: str) -> None:
        self.said.append(text)

    def close(self) -> None:
        self.said.append("closed")


def told(**other: object) -> SearchSnapshot:
    usual = SearchSnapshot(
        phase="search", seconds=60.0, budget=0.2, evaluations=120, per_second=2.0, pending=3, baseline_seconds=8e-3,
        best_key="c7", best_seconds=2e-3, speedup=4.0, low=3.9, round=2,
        agents=(AgentView("tiles-first", "tiles, then registers", "append", 0.5, 9, 8, 4.0),
                AgentView("explorer", "anything", "", 0.5, 2, 0, 1.0)),
        verdicts={Verdict.OK: 100, Verdict.WRONG: 1}, refusals={"rare": 1, "often": 50, "b": 7, "a": 7},
        front=(FrontView("c7", 4.0, (("latency", -1.386), ("registers", 64.0))),
               FrontView("c9", 2.0, (("latency", -0.693), ("registers", -1.0)))),
        screen=Report(True, 120, 30, 0.7, 0.65, 0.5, 300))
    return replace(usual, **other)  # type: ignore[arg-type]


def test_what_the_engine_tells_is_what_is_shown() -> None:
    shown = Shown()
    view = SearchView(shown, "sgemm", 300.0, None, ("latency", "registers"))
    view.update(told())
    s = shown.last
    assert (s.kernel, s.phase, s.elapsed, s.progress, s.evaluated) == ("sgemm", "search", 60.0, 0.2, 120)
    assert (s.baseline, s.best, s.best_key, s.speedup, s.speedup_low) == (8e-3, 2e-3, "c7", 4.0, 3.9)
    assert [(a.name, a.status, a.candidates, a.best) for a in s.agents] == [
        ("tiles-first", "append: tiles, then registers", 9, 4.0), ("explorer", "anything", 2, None)]
    assert [(f.key, f.values) for f in s.front] == [("c7", (2e-3, 64.0)), ("c9", (4e-3, None))]
    assert [(r.reason, r.count) for r in s.refusals] == [("often", 50), ("a", 7), ("b", 7)]
    assert (s.screen.state, s.screen.rank_correlation, s.screen.pool) == ("active", 0.7, 120)
    view.message("confirming c7")
    view.close()
    assert shown.said == ["confirming c7", "closed"]


def test_nothing_found_yet_is_no_speedup() -> None:
    view = SearchView(Shown())
    s = view.shown(told(best_key="", baseline_seconds=0.0, speedup=1.0, low=1.0, screen=None))
    assert (s.baseline, s.best, s.speedup, s.screen.state) == (None, None, None, "off")
    assert s.front[0].values == (None, 64.0)
    assert view.shown(told(screen=Report(False, 0, 0, None, None, None, 3))).screen.state == "abstains"
