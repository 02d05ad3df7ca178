"""The engine end to end on the synthetic landscape: budget, records, champion, determinism, interruption, resume."""

from __future__ import annotations

import json
import math
import os
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evo import start
from evo.engine import Engine, RunResult, Setup, run
from evo.search import persist
from evo.search.finish import finalists, speedup
from evo.search.options import Options
from evo.search.space import Expression
from genome.errors import InputError, Refusal
from genome.program import Program
from gpu.interface import Confirmation, GateReport
from gpu.records import Evaluation, Resources, Verdict
from results.store import Store
from tests.evo.landscape import FakeEvaluator, Landscape, MemoryStore, Quiet, State, seconds

SMALL = Options(evaluations=90, screen=False)


class Stop(Exception):
    """Stands for kill -9 in the middle of a run."""


def play(options: Options, *, space: Any = None, evaluator: Any = None, store: Any = None, display: Any = None,
         stop: threading.Event | None = None, resume: bool = False, **setup: Any) -> tuple[RunResult, Any, Any, Quiet]:
    evaluator = evaluator or FakeEvaluator(options.seed)
    store, display = store or MemoryStore(), display or Quiet()
    result = run(Setup(space or Landscape(), evaluator, **setup), options, display, store, clock=evaluator.clock,
                 stop=stop, resume=resume)
    return result, store, evaluator, display


@pytest.fixture(scope="module")
def full() -> tuple[RunResult, MemoryStore, FakeEvaluator, Quiet]:
    """One run with everything on, which several tests read."""
    return play(Options(evaluations=220))


def true_speedup(store: MemoryStore, key: str) -> float:
    return seconds(State()) / seconds(State(**json.loads(store.added[key].source)))  # type: ignore[attr-defined]


def test_it_finds_a_much_faster_kernel_and_confirms_it(full: Any) -> None:
    result, store, evaluator, _ = full
    assert result.reason == "budget spent" and not result.interrupted and store.status == "finished"
    assert result.champion in evaluator.confirmed and result.confirmation.accepted
    assert result.speedup == pytest.approx(true_speedup(store, result.champion), rel=0.1)
    assert result.speedup > 12


def test_every_candidate_is_recorded_before_it_runs_and_gets_its_verdict(full: Any) -> None:
    result, store, evaluator, _ = full
    assert result.evaluations == 220 == len(evaluator.evaluated) == len(store.added) - 1
    assert {e.key for e in store.verdicts} == set(store.added)
    assert sum(result.verdicts.values()) == 220
    assert result.verdicts[Verdict.WRONG] and result.verdicts[Verdict.CRASHED]


def test_no_genome_and_no_program_is_measured_twice(full: Any) -> None:
    _, store, _, _ = full
    candidates = list(store.added.values())
    assert len({c.genome for c in candidates}) == len(candidates) == len({c.source for c in candidates})


def test_lineage_agents_rounds_and_predictions_are_kept(full: Any) -> None:
    _, store, _, _ = full
    candidates = [c for c in store.added.values() if c.key != "baseline"]
    for c in candidates:
        assert c.parents and all(p in store.added for p in c.parents)
        assert c.agent and c.operation and c.features["threads"]
    assert len({c.agent for c in candidates}) >= 6
    assert max(c.round for c in candidates) >= 2
    assert any(c.predicted is not None for c in candidates) and any(not c.explored for c in candidates)


def test_the_champion_only_rises_and_the_evaluator_hears_of_it(full: Any) -> None:
    _, store, evaluator, _ = full
    rising = [d for kind, d in store.log if kind == "champion" and "gain" in d]
    assert [d["gain"] for d in rising] == sorted(d["gain"] for d in rising) and len(rising) >= 3
    assert all(d["low"] > 0 for d in rising)
    keys = [d["key"] for d in rising]
    assert evaluator.champions and [k for k in keys if k in evaluator.champions] == evaluator.champions


def test_rounds_and_the_screen_are_told(full: Any) -> None:
    _, store, _, _ = full
    rounds = [d for kind, d in store.log if kind == "round"]
    assert [d["round"] for d in rounds] == list(range(len(rounds))) and len(rounds) >= 2
    screens = [d for kind, d in store.log if kind == "screen"]
    assert screens[-1]["rows"] > 50 and any(d["active"] and d["pool"] > d["chosen"] for d in screens)


def test_the_display_sees_the_whole_run(full: Any) -> None:
    result, _, _, display = full
    phases = [s.phase for s in display.snapshots]
    assert phases[-1] == "done" and "confirm" in phases and "search" in phases
    last = display.snapshots[-1]
    assert last.evaluations == 220 and last.budget == 1.0 and last.best_key == result.best and last.speedup > 12
    assert last.refusals["stage-needs-tile"] > 0 if "stage-needs-tile" in last.refusals else last.refusals
    assert last.front and last.front[0].speedup == max(f.speedup for f in last.front)
    assert sum(last.verdicts.values()) == 220 and len(last.agents) == 6 and last.pending == 0


@pytest.mark.parametrize("options", [SMALL, replace(SMALL, screen=True), replace(SMALL, policy="uniform"),
                                     replace(SMALL, agents=1)])
def test_the_same_seed_gives_the_same_history(options: Options) -> None:
    _, a, _, _ = play(options)
    _, b, _, _ = play(options)
    assert list(a.added.values()) == list(b.added.values())
    assert a.verdicts == b.verdicts and a.log == b.log
    _, c, _, _ = play(replace(options, seed=1))
    assert list(a.added.values()) != list(c.added.values())


def test_the_seconds_end_the_run_in_time_with_room_for_the_confirmation() -> None:
    result, _, evaluator, _ = play(Options(seconds=40.0, screen=False, finalists=1))
    assert result.reason == "budget spent" and result.champion is not None
    assert 25 < result.seconds <= 40.5


def test_another_finalist_is_confirmed_only_where_it_can_end_in_time() -> None:
    class Doubtful(FakeEvaluator):
        def confirm(self, key: str, program: Program, seconds: float = math.inf) -> Confirmation:
            assert 0 < seconds <= 80.0
            return replace(super().confirm(key, program, seconds), accepted=False)
    result, store, evaluator, display = play(Options(seconds=12.0, screen=False), evaluator=Doubtful())
    assert result.champion is None and len(evaluator.confirmed) == 1 and result.seconds <= 12.0
    assert "no time left to confirm another finalist" in display.messages
    result, _, evaluator, _ = play(Options(seconds=80.0, screen=False), evaluator=Doubtful())
    assert len(evaluator.confirmed) == 3 and result.seconds <= 80.0


def test_the_budget_counts_from_where_the_caller_says() -> None:
    evaluator = FakeEvaluator()
    evaluator.now = 10.0
    result = run(Setup(Landscape(), evaluator), Options(seconds=40.0, screen=False), Quiet(), MemoryStore(),
                 clock=evaluator.clock, began=4.0)
    assert result.seconds <= 40.0 and evaluator.now <= 44.0


@pytest.mark.parametrize(("budget", "spent", "ladder"), [(100.0, 90.0, 8.5), (25.0, 24.0, -0.5), (None, 90.0, 60.0),
                                                         (1000.0, 100.0, 60.0)])
def test_the_ladder_gets_what_is_left(budget: float | None, spent: float, ladder: float) -> None:
    result = RunResult(None, None, 1.0, None, 0, {}, spent, False, "")
    assert start.ladder_seconds(Options(seconds=budget, evaluations=9), result) == ladder


@pytest.mark.parametrize(("budget", "limit"), [(None, 60.0), (600.0, 60.0), (30.0, 15.0), (1.0, 5.0)])
def test_the_baselines_limit_follows_from_the_budget(budget: float | None, limit: float) -> None:
    assert start.baseline_limit(budget) == limit


def test_the_pool_fits_the_evaluators_pace() -> None:
    def factor(options: Options, thinking: float) -> int:
        evaluator = FakeEvaluator(0)
        engine = Engine(Setup(Landscape(), evaluator), options, Quiet(), MemoryStore(), threading.Event(),
                        evaluator.clock)
        engine.submitted, engine.proposed, engine.thinking = 50, 100, 100 * thinking
        evaluator.now = 50.0  # an evaluation a second
        return engine._pool_factor()
    timed = Options(seconds=100.0)
    assert factor(timed, 0.01) == 8 and factor(timed, 0.125) == 4 and factor(timed, 1.0) == 2
    assert factor(Options(evaluations=100), 1.0) == 8, "the history must not depend on the clock"


def test_a_small_space_ends_when_nothing_is_left() -> None:
    space = Landscape(vetoed=("AdjustBlockSize", "CoarsenThreads", "UnrollLoop", "TileLoops", "UseSharedMemory",
                              "Swizzle"))
    result, store, _, _ = play(Options(evaluations=500, screen=False), space=space)
    assert result.reason == "nothing new to propose" and 3 <= result.evaluations < 12
    assert store.status == "finished"


def test_neutral_steps_are_passed_through() -> None:
    """A stage needs a tile, which alone is slower: at least most seeds get through."""
    through = 0
    for seed in range(3):
        result, store, _, _ = play(Options(seed=seed, evaluations=120, screen=False))
        best = store.added[result.best]
        through += any(g.mutator == "UseSharedMemory" for g in best.genome)
    assert through >= 2


class Clones(FakeEvaluator):
    """Every candidate is the baseline again: nothing but noise."""

    def _timing(self, true: float) -> Any:
        return super()._timing(1.0)


def test_noise_alone_makes_no_winner() -> None:
    for seed in range(3):
        result, store, _, _ = play(replace(SMALL, seed=seed), evaluator=Clones(seed, noise=0.02))
        assert result.champion is None and result.speedup == 1.0


def test_finalists_are_confirmed_in_order_until_one_is_accepted() -> None:
    class Strict(FakeEvaluator):
        def confirm(self, key: str, program: Program, seconds: float = math.inf) -> Confirmation:
            c = super().confirm(key, program)
            return replace(c, accepted=len(self.confirmed) == 3, reason="differs at 1000x1500x777")
    result, store, evaluator, display = play(SMALL, evaluator=Strict(0))
    assert len(evaluator.confirmed) == 3 == len(set(evaluator.confirmed)) and result.champion == evaluator.confirmed[2]
    assert [k for k, _ in store.confirmations] == evaluator.confirmed
    assert any("differs at" in m for m in display.messages)


def test_a_champion_that_is_not_confirmed_is_none() -> None:
    class Never(FakeEvaluator):
        def confirm(self, key: str, program: Program, seconds: float = math.inf) -> Confirmation:
            return replace(super().confirm(key, program), accepted=False, reason="wrong on fresh data")
    result, _, evaluator, _ = play(SMALL, evaluator=Never(0))
    assert result.champion is None and result.best is not None and len(evaluator.confirmed) == 3


def test_the_lower_bound_must_exceed_one_also_when_the_evaluator_accepts() -> None:
    class Lenient(FakeEvaluator):
        def confirm(self, key: str, program: Program, seconds: float = math.inf) -> Confirmation:
            return replace(super().confirm(key, program), accepted=True, speedups=(("n", 1.05, 0.99, 1.1),))
    assert play(SMALL, evaluator=Lenient(0))[0].champion is None


def test_speedup_is_the_weighted_geometric_mean_of_the_tune_sizes() -> None:
    e = Evaluation("c", Verdict.OK)
    c = Confirmation(e, True, (), (), (("a", 4.0, 2.0, 5.0), ("b", 1.0, 0.5, 2.0), ("check", 9.0, 9.0, 9.0)))
    assert speedup(c, (3.0, 1.0)) == pytest.approx((4 ** 0.75, 2 ** 0.75 * 0.5 ** 0.25))
    assert speedup(replace(c, speedups=()), (1.0,)) == (0.0, 0.0)


def test_finalists_have_distinct_binaries() -> None:
    evaluator = FakeEvaluator(0)
    engine = Engine(Setup(Landscape(), evaluator), SMALL, Quiet(), MemoryStore(), threading.Event(), evaluator.clock)
    engine.run(False)
    chosen = finalists(engine.memory, 5)
    binaries = [r.evaluation.resources.binary for r in chosen if r.evaluation]
    assert len(set(binaries)) == 5 and [r.low for r in chosen] == sorted((r.low for r in chosen), reverse=True)


class Twins(FakeEvaluator):
    """Two genomes in three compile to a binary that was seen: the verdict is DUPLICATE, without samples."""

    def evaluate(self, key: str, program: Program) -> Evaluation:
        e = super().evaluate(key, program)
        coarse = replace(e, resources=replace(e.resources, binary=str(sum(map(ord, program.source)) % 30)))
        if e.verdict is Verdict.OK and coarse.resources.binary in self.seen:
            return replace(coarse, verdict=Verdict.DUPLICATE, timings=())
        if e.verdict is Verdict.OK:
            self.seen.add(coarse.resources.binary)
        return coarse

    seen: set[str] = set()


def test_a_duplicate_inherits_its_twins_measurement() -> None:
    evaluator = Twins(0)
    evaluator.seen = set()
    engine = Engine(Setup(Landscape(), evaluator), SMALL, Quiet(), MemoryStore(), threading.Event(), evaluator.clock)
    result = engine.run(False)
    assert result.verdicts[Verdict.DUPLICATE] > 20
    for r in engine.memory.records.values():
        if r.evaluation is not None and r.evaluation.verdict is Verdict.DUPLICATE:
            twin = engine.memory.twin(r.evaluation)
            assert twin is not None and r.timed and r.gain == twin.gain
    assert engine.champion is not None and engine.champion.evaluation is not None
    assert engine.champion.evaluation.verdict is Verdict.OK


class Broken(Landscape):
    """The lowering refuses what no gene's check could see."""

    def program(self, at: Expression) -> Program:
        if at.state.unroll > 1:
            raise Refusal("lowering-unroll", "the unrolled loop cannot be lowered")
        return super().program(at)


def test_a_refusal_of_the_lowering_costs_nothing_and_is_counted() -> None:
    result, store, _, display = play(SMALL, space=Broken())
    assert result.evaluations == 90
    assert any(code == "lowering-unroll" for _, _, code in store.refusals)
    assert display.snapshots[-1].refusals["lowering-unroll"] > 0
    assert all("unroll\": 1" in c.source for c in store.added.values())


def test_everything_failing_ends_without_a_champion() -> None:
    result, store, _, _ = play(SMALL, evaluator=FakeEvaluator(0, crashes=1.0))
    assert result.champion is None and result.best is None and result.verdicts == {Verdict.CRASHED: 90}
    assert store.status == "finished"


def test_an_unusable_baseline_is_an_input_error() -> None:
    class Bad(FakeEvaluator):
        def gate(self) -> GateReport:
            return GateReport(Evaluation("baseline", Verdict.WRONG, "out of bounds"), True, 0.0)
    with pytest.raises(InputError, match="out of bounds"):
        play(SMALL, evaluator=Bad(0))


def test_the_users_reward_decides_what_is_learned() -> None:
    steps: list[Any] = []

    def mine(step: Any) -> float:
        steps.append(step)
        return 0.0
    play(SMALL, reward=mine)
    assert len(steps) == 90


@pytest.mark.parametrize("change", [{"evaluations": None}, {"seconds": 0.0}, {"evaluations": 0}, {"policy": "magic"},
                                    {"agents": 0}, {"reserve": 0.95}])
def test_wrong_options_are_one_clear_line(change: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        play(replace(SMALL, **change))


# ------------------------------------------------------------------------------------------ interruption, resume
class Interrupting(FakeEvaluator):
    """Calls ``what`` after ``after`` evaluations."""

    def __init__(self, seed: int, after: int, what: Any) -> None:
        super().__init__(seed)
        self.after, self.what = after, what

    def evaluate(self, key: str, program: Program) -> Evaluation:
        if len(self.evaluated) == self.after:
            self.what()
        return super().evaluate(key, program)


def test_the_stop_flag_ends_the_run_with_what_was_found() -> None:
    event = threading.Event()
    evaluator = Interrupting(0, 40, event.set)
    result, store, _, _ = play(Options(evaluations=500, screen=False), evaluator=evaluator, stop=event)
    assert result.interrupted and result.reason == "interrupted" and store.status == "interrupted"
    assert result.champion is not None and len(evaluator.confirmed) == 1 and result.evaluations < 60


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_the_run_cleanly_and_handlers_are_restored(number: signal.Signals) -> None:
    outside = signal.signal(number, signal.default_int_handler)  # whatever this process was started with
    try:
        evaluator = Interrupting(0, 40, lambda: os.kill(os.getpid(), number))
        result, _, _, _ = play(Options(evaluations=500, screen=False), evaluator=evaluator)
        assert result.interrupted and result.champion is not None
        assert signal.getsignal(number) == signal.default_int_handler
    finally:
        signal.signal(number, outside)


def test_a_run_under_nohup_outlives_its_terminal() -> None:
    outside = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        evaluator = Interrupting(0, 40, lambda: os.kill(os.getpid(), signal.SIGHUP))
        result, _, _, _ = play(Options(evaluations=80, screen=False), evaluator=evaluator)
        assert not result.interrupted
    finally:
        signal.signal(signal.SIGHUP, outside)


def killed(store: Any, options: Options, after: int) -> FakeEvaluator:
    def die() -> None:
        raise Stop
    evaluator = Interrupting(options.seed, after, die)
    with pytest.raises(Stop):
        play(options, evaluator=evaluator, store=store)
    return evaluator


def test_a_killed_run_goes_on_and_loses_nothing() -> None:
    store, options = MemoryStore(), Options(evaluations=100)
    killed(store, options, 60)
    before = {e.key: e for e in store.verdicts}
    flying = set(store.added) - set(before)
    assert flying, "some were in flight"
    evaluator = FakeEvaluator(9)
    result, _, _, _ = play(options, evaluator=evaluator, store=store, resume=True)
    assert result.evaluations == 100 and len(store.added) == 101
    assert set(evaluator.evaluated) & set(before) == set(), "nothing is measured twice"
    assert flying <= set(evaluator.evaluated), "what was in flight is measured again"
    assert {e.key for e in store.verdicts} == set(store.added)
    assert len({c.source for c in store.added.values()}) == 101
    assert result.champion is not None and store.status == "finished"


def test_a_resumed_search_remembers_what_it_learned() -> None:
    store, options = MemoryStore(), Options(evaluations=140)
    killed(store, options, 90)
    evaluator = FakeEvaluator(9)
    engine = Engine(Setup(Landscape(), evaluator), options, Quiet(), store, threading.Event(), evaluator.clock)
    engine._gate(True)
    state = persist.load(engine)
    assert state is not None
    for agent, kept in zip(engine.arena.agents, state["arena"]["agents"], strict=True):
        assert json.loads(json.dumps(agent.policy.state())) == kept["policy"]
        assert agent.population.tried and {m.key for m in agent.population.members} & set(kept["members"])
        assert agent.draws.state() == kept["draws"]
    best = max((e for e in store.verdicts if e.verdict is Verdict.OK), key=lambda e: -e.timings[0].median)
    members = {m.key for a in engine.arena.agents for m in a.population.members}
    assert best.key in members and engine.champion is not None
    assert engine.announced == engine.champion.key == evaluator.champions[-1] and len(evaluator.champions) == 1
    assert engine.screen is not None and len(engine.screen.rows) == len(store.verdicts)
    assert engine.memory.genomes == {r.genome_key for r in engine.memory.records.values()}


def test_seconds_already_spent_count_after_a_resume() -> None:
    store = MemoryStore()
    killed(store, Options(seconds=100.0, screen=False), 60)
    store.seconds = 80.0
    result, _, evaluator, _ = play(Options(seconds=100.0, screen=False, finalists=1), store=store, resume=True)
    assert 80.0 < result.seconds <= 101.0 and evaluator.now < 21.0


def test_a_run_without_a_baseline_cannot_go_on() -> None:
    with pytest.raises(InputError, match="no measured baseline"):
        play(SMALL, store=MemoryStore(), resume=True)


def test_it_writes_and_resumes_a_real_store(tmp_path: Path) -> None:
    options = Options(evaluations=160)
    with Store.create(tmp_path / "run", {"kernel": "synthetic"}, {}) as store:
        killed(store, options, 60)
    with Store.open(tmp_path / "run") as store:
        assert store.status() == "interrupted"
        result, _, _, _ = play(options, evaluator=FakeEvaluator(3), store=store, resume=True)
        assert store.status() == "finished"
    with Store.open(tmp_path / "run") as store:
        champion = store.champion()
        assert champion is not None and champion.key == result.champion
        assert len(store.candidates()) == 161 and store.unevaluated() == []
        assert store.gain(result.champion or "") == pytest.approx(math.log(result.speedup), abs=0.15)
        assert sum(store.verdict_counts().values()) == 160 and store.refusal_counts()
        assert {e.kind for e in store.events()} >= {"gate", "champion", "round", "end"}


def test_resources_reach_the_objectives() -> None:
    result, store, _, display = play(SMALL, objectives=("latency", "shared_bytes", "occupancy"))
    front = display.snapshots[-1].front
    assert {n for f in front for n, _ in f.values} == {"latency", "shared_bytes", "occupancy"}
    assert any(dict(f.values)["shared_bytes"] == 0 for f in front)
    assert Resources().registers == -1
