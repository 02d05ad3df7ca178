"""The engine: gate, search, confirmation. It joins agents, screen, evaluator and store, and owns the budget."""

from __future__ import annotations

import json
import math
import os
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from evo.search.options import Options
from evo.search import gains
from evo.search.agents import Agent, Proposal
from evo.search.arena import Arena
from evo.search.context import Situation
from evo.search.draws import Draws
from evo.search.finish import Finish, confirm_best
from evo.search.interrupt import stop_on_signals
from evo.search.memory import BASELINE, Memory, Record
from evo.search.policy import Trace
from evo.search.population import make_individual
from evo.search.reward import Outcome, Reward, Step, Weights, lineage_shares, potential, reward
from evo.search.snapshot import AgentView, FrontView, Snapshot
from evo.search.space import Expression, Space
from evo.search.strategies import Strategy, load_strategy, strategies
from genome.errors import InputError, Refusal
from genome.gene import Gene
from genome.program import Program
from gpu.interface import Confirmation, Evaluator
from gpu.records import Evaluation, Verdict
from mutators.base import Direction
from results.records import Candidate
from surrogate.features import Vocabulary
from surrogate.model import TreeEnsemble
from surrogate.screen import Choice, Screen

STATE = "search"
SAVE_EVERY = 20.0  # seconds between saved states
DRAIN = 20.0  # seconds that measurements in flight get at the end, at most


class Display(Protocol):
    def update(self, snapshot: Snapshot) -> None: ...

    def message(self, text: str) -> None: ...


class RunStore(Protocol):
    """The part of :class:`results.store.Store` that the engine uses."""

    def add_candidate(self, c: Candidate) -> None: ...

    def set_evaluation(self, e: Evaluation) -> None: ...

    def add_confirmation(self, key: str, confirmation: Confirmation) -> None: ...

    def add_refusal(self, agent: str, gene: str, code: str, reason: str, line: int = 0) -> None: ...

    def event(self, kind: str, data: dict[str, Any]) -> None: ...

    def save_state(self, name: str, data: bytes | str) -> None: ...

    def load_state(self, name: str) -> bytes | str | None: ...

    def set_status(self, status: str) -> None: ...

    def elapsed(self) -> float: ...

    def candidates(self) -> list[Candidate]: ...

    def evaluations(self) -> list[Evaluation]: ...


@dataclass(frozen=True)
class Setup:
    """The problem as the search sees it. ``weights`` of the tune sizes in order; ``limit_seconds`` is the time of the
    device's roofline for the problem (0: unknown), weighted like the medians."""

    space: Space
    evaluator: Evaluator
    weights: tuple[float, ...] = (1.0,)
    objectives: tuple[str, ...] = ("latency", "registers")
    reward: Reward = reward
    reward_weights: Weights = field(default_factory=Weights)
    strategies: tuple[Strategy, ...] = ()  # empty: the named ones
    limit_seconds: float = 0.0


@dataclass(frozen=True)
class RunResult:
    """``champion`` is the confirmed one's key, None when nothing beat the baseline (``best`` is then the best that
    was measured, if any)."""

    champion: str | None
    best: str | None
    speedup: float  # the champion's, from its confirmation; 1.0 without one
    confirmation: Confirmation | None
    evaluations: int
    verdicts: dict[Verdict, int]
    seconds: float
    interrupted: bool
    reason: str  # why the search ended


def run(setup: Setup, options: Options, display: Display, store: RunStore, *, resume: bool = False,
        stop: threading.Event | None = None, clock: Callable[[], float] = time.monotonic) -> RunResult:
    """The whole run. Raises InputError for wrong options or an unusable baseline; everything else that a candidate
    can do is a verdict. With ``stop`` set (or on SIGINT, SIGTERM) it confirms what there is and ends."""
    options.check()
    with stop_on_signals(stop or threading.Event()) as event:
        return Engine(setup, options, display, store, event, clock).run(resume)


class Engine:
    """One run. Not reusable."""

    def __init__(self, setup: Setup, options: Options, display: Display, store: RunStore, stop: threading.Event,
                 clock: Callable[[], float]) -> None:
        self.setup, self.options, self.display, self.store, self.stop = setup, options, display, store, stop
        self.space, self.evaluator = setup.space, setup.evaluator
        self.clock, self.began, self.before = clock, clock(), 0.0
        self.memory = Memory(setup.weights)
        self.vocabulary = Vocabulary()
        self.screen = Screen(TreeEnsemble(self.vocabulary, seed=options.seed)) if options.screen else None
        self.arena = self._arena()
        self.queue = options.queue or _queue_depth(self.evaluator)
        self.batch = options.batch or max(8, len(self.arena.agents))
        self.backlog: deque[tuple[Proposal, Choice]] = deque()
        self.flying: dict[str, Record] = {}
        self.submitted = 0
        self.serial = 0
        self.champion: Record | None = None
        self.announced = ""  # key of the champion that the evaluator knows
        self.refusals: dict[str, int] = {}
        self.gate_seconds = 0.0
        self.saved = self.shown = -1e9
        self.barren = 0  # plans in a row that yielded nothing
        self.phase = "gate"

    # --------------------------------------------------------------------------------------------------- parts
    def _arena(self) -> Arena:
        chosen = self.setup.strategies or strategies(self.options.agents)
        return Arena([self._spawn(s) for s in chosen], Draws(self.options.seed, "arena"), self._spawn)

    def _spawn(self, strategy: Strategy) -> Agent:
        agent = Agent(strategy, self.space, self.setup.objectives, self.options.seed,
                      uniform=self.options.policy == "uniform")
        if BASELINE in self.memory.records:
            agent.population.add(self._member(self.memory.baseline))
        return agent

    def _member(self, r: Record) -> Any:
        assert r.evaluation is not None
        return make_individual(self.setup.objectives, r.key, r.genome, r.gain,
                               [_objective(o, r) for o in self.setup.objectives])

    def _situation(self, member: Any, genome: Sequence[Gene]) -> Situation:
        """``genome`` is the member's own, or what one operation made of it within a proposal."""
        r = self.memory.records[member.key]
        assert r.evaluation is not None
        res = r.evaluation.resources
        agent_best = max((a.population.best.gain for a in self.arena.agents if a.population.best is not None),
                         default=0.0)
        fraction = -1.0
        if self.setup.limit_seconds > 0:
            fraction = self.setup.limit_seconds / _seconds(r.evaluation, self.setup.weights)
        return Situation(r.features, r.gain, fraction, res.occupancy, res.registers, res.spill_bytes, len(genome),
                         best=agent_best, applied=self._applied(genome))

    def _applied(self, genome: Sequence[Gene]) -> dict[Direction, int]:
        counts: dict[Direction, int] = {}
        for g in genome:
            d = self.space.directions.get(g.mutator)
            if d is not None:
                counts[d] = counts.get(d, 0) + 1
        return counts

    # ------------------------------------------------------------------------------------------------- budget
    def elapsed(self) -> float:
        return self.before + self.clock() - self.began

    def reserve(self) -> float:
        """Seconds kept for the end: a confirmation costs some three gates."""
        if self.options.seconds is None:
            return 0.0
        return min(0.4 * self.options.seconds, max(self.options.reserve * self.options.seconds, 3 * self.gate_seconds))

    def spent(self) -> float:
        """The part 0..1 of the search's budget that is used."""
        parts = []
        if self.options.evaluations is not None:
            parts.append(self.submitted / self.options.evaluations)
        if self.options.seconds is not None:
            parts.append(self.elapsed() / max(self.options.seconds - self.reserve(), 1e-9))
        return min(1.0, max(parts))

    # ---------------------------------------------------------------------------------------------------- run
    def run(self, resume: bool) -> RunResult:
        if resume:
            self._resume()
        else:
            self._gate()
        self.phase = "search"
        reason = self._search()
        self._drain()
        self._save()
        self.phase = "confirm"
        self._show(force=True)
        finish = self._confirm()
        interrupted = self.stop.is_set()
        self.store.event("end", {"reason": reason, "evaluations": self.submitted})
        self.store.set_status("interrupted" if interrupted else "finished")
        self.phase = "done"
        self._show(force=True)
        return RunResult(finish.champion, self.champion.key if self.champion else None, finish.speedup,
                         finish.confirmation, self.submitted, dict(self.memory.counts), self.elapsed(), interrupted,
                         reason)

    def _gate(self) -> None:
        self.display.message("checking the baseline")
        expression = self.space.express(())
        program = self.space.program(expression)
        self.store.add_candidate(self._candidate(BASELINE, "", (), "baseline", expression, program, None))
        start = self.clock()
        report = self.evaluator.gate()
        self.gate_seconds = self.clock() - start
        e = report.evaluation
        e = Evaluation(BASELINE, e.verdict, e.reason, e.resources, e.timings, e.check_timings, e.max_error,
                       e.device_seconds, e.log)
        if not gains.timed(e):
            raise InputError(f"the baseline was not timed: {e.verdict.value} {e.reason}".rstrip())
        self.store.set_evaluation(e)
        self.store.event("gate", {"seconds": self.gate_seconds, "deterministic": report.deterministic,
                                  "spread": report.spread, "notes": list(report.notes)})
        for note in report.notes:
            self.display.message(note)
        self._seed_baseline(e, expression, program)

    def _seed_baseline(self, e: Evaluation, expression: Expression, program: Program) -> None:
        base = Record(BASELINE, "", (), "baseline", (), expression.key, expression.features,
                      program_key=program.key, row=self.vocabulary.row(expression.features, ()))
        self.memory.add(base)
        self.memory.judge(base, e, 0.0)
        base.outcome = Outcome(Verdict.OK, gains.medians(e), gains.spread(e), e.resources.spill_bytes, 0.0,
                               potential(expression.features, expression.features))
        if self.screen is not None:
            self.screen.learn(base.row, 0.0, True)
        for a in self.arena.agents:
            a.population.add(self._member(base))

    def _search(self) -> str:
        """Until the budget is spent, the user stops it, or nothing new can be proposed; the reason is returned."""
        while True:
            if self.stop.is_set():
                return "interrupted"
            if self.spent() >= 1.0:
                return "budget spent"
            self._fill()
            if not self.flying:
                if self.barren >= 3:
                    return "nothing new to propose"
                continue
            for e in self.evaluator.collect(0.2):
                self._absorb(e)
            if self.arena.round_over():
                self._end_round()
            if self.clock() - self.saved > SAVE_EVERY:
                self._save()
            self._show()

    def _fill(self) -> None:
        while len(self.flying) < self.queue and not self.stop.is_set() and self.spent() < 1.0:
            if not self.backlog and not self._plan():
                return
            if self.backlog:
                self._submit(*self.backlog.popleft())

    # ------------------------------------------------------------------------------------------------ propose
    def _plan(self) -> bool:
        """Fills the backlog with one batch; False when no agent had anything new."""
        if self.screen is not None:
            self.screen.refit()
            self.screen.start_batch()
        planned: set[str] = {p.expression.key for p, _ in self.backlog}
        lanes: list[deque[tuple[Proposal, Choice]]] = []
        for name, places in self.arena.next_agents(self.batch).items():
            agent = self.arena.agent(name)
            if agent is None or not places:
                continue
            pool: list[Proposal] = []
            for _ in range(self.screen.wanted(places) if self.screen is not None else places):
                p = agent.propose(lambda k: k in self.memory.genomes or k in planned, self._situation,
                                  lambda x, who=name: self._refused(who, x))  # type: ignore[misc]
                if p is None:
                    break
                planned.add(p.expression.key)
                pool.append(p)
            lanes.append(deque(self._choose(pool, places)))
        count = 0
        while any(lanes):  # one of each agent in turn
            for lane in lanes:
                if lane:
                    self.backlog.append(lane.popleft())
                    count += 1
        self.barren = 0 if count else self.barren + 1
        return count > 0

    def _choose(self, pool: Sequence[Proposal], places: int) -> list[tuple[Proposal, Choice]]:
        if self.screen is None:
            return [(p, Choice(i)) for i, p in enumerate(pool[:places])]
        rows = [self.vocabulary.row(p.expression.features, p.expression.genome) for p in pool]
        return [(pool[c.index], c) for c in self.screen.select(rows, places)]

    def _refused(self, agent: str, expression: Expression) -> None:
        for gene, r in expression.refusals:
            self.refusals[r.code] = self.refusals.get(r.code, 0) + 1
            self.store.add_refusal(agent, str(gene), r.code, r.reason, r.loc.line)

    def _submit(self, proposal: Proposal, choice: Choice) -> None:
        x = proposal.expression
        self.memory.genomes.add(x.key)
        agent = self.arena.agent(proposal.agent)
        try:
            program = self.space.program(x)
        except Refusal as r:
            self.refusals[r.code] = self.refusals.get(r.code, 0) + 1
            self.store.add_refusal(proposal.agent, str(x.genome[-1]) if x.genome else "", r.code, r.reason, r.loc.line)
            if agent is not None:
                agent.policy.refused(proposal.draft.trace)
            return
        if program.key in self.memory.programs:  # another way to the same text
            if agent is not None:
                agent.policy.refused(proposal.draft.trace, 0.3)
            return
        self.serial += 1
        key = f"c{self.serial:06d}"
        d = proposal.draft
        record = Record(key, proposal.agent, d.parents, d.operation, x.genome, x.key, x.features, d.trace,
                        self.vocabulary.row(x.features, x.genome), choice, program.key)
        self.store.add_candidate(self._candidate(key, proposal.agent, d.parents, d.operation, x, program, choice))
        self.memory.add(record)
        self.flying[key] = record
        self.submitted += 1
        self.evaluator.submit(key, program)

    def _candidate(self, key: str, agent: str, parents: tuple[str, ...], operation: str, x: Expression,
                   program: Program, choice: Choice | None) -> Candidate:
        launches = json.dumps([{"kernel": n.kernel, "grid": list(n.grid), "block": list(n.block),
                                "shared_bytes": n.shared_bytes} for n in program.launches])
        opencl = program.source if program.language == "opencl" else ""
        return Candidate(key, agent, self.arena.index, parents, x.genome, operation, dict(x.features),
                         choice.predicted if choice else None, choice.explored if choice else False,
                         program.preconditions, self.space.cuda(x) if opencl else program.source, launches,
                         self.elapsed(), opencl)

    # ------------------------------------------------------------------------------------------------- absorb
    def _absorb(self, e: Evaluation) -> None:
        record = self.flying.pop(e.key, None)
        if record is None:
            self.store.event("stray", {"key": e.key, "verdict": e.verdict.value})
            return
        self.store.set_evaluation(e)
        self.memory.judge(record, e, potential(record.features, self.memory.baseline.features))
        agent = self.arena.agent(record.agent)
        if self.screen is not None:
            self.screen.learn(record.row, record.gain, record.timed, record.choice)
        parent = self.memory.records.get(record.parents[0] if record.parents else BASELINE, self.memory.baseline)
        step = Step(parent.outcome, record.outcome, self.memory.weights, self.setup.reward_weights)
        value = self.setup.reward(step)
        new_champion = self._champion(record)
        shares = lineage_shares(self.setup.reward_weights) if new_champion else ()
        if shares:
            value += shares[0]
        self._learn(record, value)
        for share, ancestor in zip(shares[1:], self.memory.lineage(record.key, len(shares))[1:], strict=False):
            owner = self.arena.agent(ancestor.agent)
            if owner is not None:
                owner.policy.credit(ancestor.trace, share)
        if agent is None:
            return
        agent.population.count(record.genome)
        before = agent.population.best.gain if agent.population.best is not None else 0.0
        agent.stale += 1
        if record.timed and e.verdict is not Verdict.ABORTED_SLOW:
            twin = self.memory.twin(e) if e.verdict is Verdict.DUPLICATE else None
            if twin is None or len(twin.genome) != len(record.genome):
                agent.population.add(self._member(record))
            if record.gain > before + 0.005:
                agent.stale = 0
        self.arena.record(agent, record.timed, not record.timed, e.device_seconds, record.low if record.timed else 0.0)

    def _learn(self, record: Record, value: float) -> None:
        """The proposer learns the reward; the others a little (they may have other posteriors, not another truth)."""
        for a in self.arena.agents:
            if a.name == record.agent:
                a.policy.learn(record.trace, value)
            elif self.options.sharing > 0:
                a.policy.learn(record.trace, value, self.options.sharing)

    def _champion(self, r: Record) -> bool:
        """A new best by the lower bound. The evaluator hears of it when it is clearly better than what it has."""
        if not r.timed or r.evaluation is None or r.evaluation.verdict is not Verdict.OK or r.low <= 0:
            return False
        if self.champion is not None and not (r.low > self.champion.low and r.gain > self.champion.gain):
            return False
        self.champion = r
        self.store.event("champion", {"key": r.key, "gain": r.gain, "low": r.low})
        told = self.memory.records.get(self.announced)
        if told is None or r.gain > told.gain + 0.02:
            program = self.space.program(self.space.express(r.genome))
            self.evaluator.set_champion(r.key, program, _seconds(r.evaluation, self.memory.weights))
            self.announced = r.key
        return True

    def _end_round(self) -> None:
        for event in self.arena.end_round():
            self.store.event(event.kind, {"agent": event.agent, **event.data})
            if event.kind in ("eliminated", "born", "restarted"):
                self.display.message(f"{event.agent} {event.kind}")
        if self.screen is not None:
            self.store.event("screen", vars(self.screen.report()))

    # --------------------------------------------------------------------------------------------------- end
    def _drain(self) -> None:
        """Collects what is in flight, for a while."""
        limit = DRAIN if self.options.seconds is None else min(DRAIN, 0.3 * self.reserve() + 1.0)
        if self.stop.is_set():
            limit = min(limit, 2.0)
        end = self.clock() + limit
        while self.flying and self.clock() < end:
            for e in self.evaluator.collect(0.2):
                self._absorb(e)

    def _confirm(self) -> Finish:
        deadline = None if self.options.seconds is None else self.options.seconds
        if self.stop.is_set():
            deadline = self.elapsed()
        return confirm_best(self.memory, self.space, self.evaluator, self.store,
                            count=1 if self.stop.is_set() else self.options.finalists,
                            late=lambda: deadline is not None and self.elapsed() > deadline,
                            message=self.display.message)

    # -------------------------------------------------------------------------------------------------- state
    def _save(self) -> None:
        state = {"arena": self.arena.state(), "serial": self.serial, "submitted": self.submitted,
                 "gate_seconds": self.gate_seconds, "refusals": self.refusals,
                 "traces": {m.key: self.memory.records[m.key].trace.state() for a in self.arena.agents
                            for m in a.population.members}}
        self.store.save_state(STATE, zlib.compress(json.dumps(state).encode(), 1))
        self.saved = self.clock()

    def _resume(self) -> None:
        """Everything measured so far from the store; policies, populations and randomness from the last saved state;
        candidates without a verdict are submitted once more under their old keys."""
        self.before = self.store.elapsed()
        self.began = self.clock()
        self.store.set_status("running")
        candidates = {c.key: c for c in self.store.candidates()}
        verdicts = self.store.evaluations()
        base = next((e for e in verdicts if e.key == BASELINE), None)
        if base is None:
            raise InputError("the run has no measured baseline to go on from", remedy="start it anew with evo run")
        start = self.clock()
        self.evaluator.gate()
        self.gate_seconds = self.clock() - start
        expression = self.space.express(())
        self._seed_baseline(base, expression, self.space.program(expression))
        saved = self.store.load_state(STATE)
        state = json.loads(zlib.decompress(saved)) if isinstance(saved, bytes) else None
        traces = {k: Trace.load(t) for k, t in state["traces"].items()} if state else {}
        for c in candidates.values():
            if c.key != BASELINE:
                self.memory.add(self._remember(c, traces.get(c.key, Trace())))
                self.serial = max(self.serial, int(c.key[1:]))
                self.submitted += 1
        for e in verdicts:
            if e.key != BASELINE:
                self._replay(self.memory.records[e.key], e)
        if self.screen is not None:
            self.screen.refit()
        if state:
            self._restore(state)
        self._adopt()
        for key, r in self.memory.records.items():
            if r.evaluation is None:
                program = self.space.program(self.space.express(r.genome))
                r.program_key = program.key
                self.flying[key] = r
                self.evaluator.submit(key, program)

    def _remember(self, c: Candidate, trace: Trace) -> Record:
        x = self.space.express(c.genome)
        return Record(c.key, c.agent, c.parents, c.operation, c.genome, x.key, c.features, trace,
                      self.vocabulary.row(c.features, c.genome), Choice(0, c.predicted, None, c.explored))

    def _replay(self, r: Record, e: Evaluation) -> None:
        self.memory.judge(r, e, potential(r.features, self.memory.baseline.features))
        if self.screen is not None:
            self.screen.learn(r.row, r.gain, r.timed, r.choice)
        self._champion(r)

    def _restore(self, state: dict[str, Any]) -> None:
        self.refusals = dict(state["refusals"])
        kept = state["arena"]
        agents = []
        for s in kept["agents"]:
            agent = self._spawn(load_strategy(s["strategy"]))
            agent.restore(s, lambda k: self._member(self.memory.records[k])
                          if k in self.memory.records and self.memory.records[k].timed else None)
            agents.append(agent)
        self.arena.agents = agents
        self.arena.restore(kept)

    def _adopt(self) -> None:
        """Measured after the last saved state: back into its agent's population."""
        for r in self.memory.records.values():
            agent = self.arena.agent(r.agent)
            if agent is not None and r.timed and r.evaluation is not None \
                    and r.evaluation.verdict is Verdict.OK and r.key > self._last_saved(agent):
                agent.population.add(self._member(r))

    @staticmethod
    def _last_saved(agent: Agent) -> str:
        return max((m.key for m in agent.population.members if m.key != BASELINE), default="")

    # ------------------------------------------------------------------------------------------------ display
    def _show(self, force: bool = False) -> None:
        if not force and self.clock() - self.shown < 0.25:
            return
        self.shown = self.clock()
        self.display.update(self.snapshot())

    def snapshot(self) -> Snapshot:
        shares = self.arena.shares()
        best = self.champion
        base = self.memory.baseline.evaluation
        assert base is not None
        base_seconds = _seconds(base, self.memory.weights)
        views = tuple(AgentView(a.name, a.strategy.summary, a.last, shares[a.name], a.round.evaluated,
                                a.round.verified, math.exp(a.population.best.gain if a.population.best else 0.0))
                      for a in self.arena.agents)
        front = self._front()
        return Snapshot(self.phase, self.elapsed(), self.spent(), self.submitted,
                        self.submitted / max(self.elapsed(), 1e-9), len(self.flying), base_seconds,
                        best.key if best else "", base_seconds / math.exp(best.gain) if best else base_seconds,
                        math.exp(best.gain) if best else 1.0, math.exp(best.low) if best else 1.0, self.arena.index,
                        views, dict(self.memory.counts), dict(self.refusals), front,
                        self.screen.report() if self.screen is not None else None)

    def _front(self) -> tuple[FrontView, ...]:
        members = {m.key: m for a in self.arena.agents for m in a.population.members}
        front = [m for m in members.values()
                 if not any(o.fitness.dominates(m.fitness) for o in members.values())]
        front.sort(key=lambda m: -m.gain)
        return tuple(FrontView(m.key, math.exp(m.gain), tuple(zip(self.setup.objectives, m.fitness.values,
                                                                 strict=True))) for m in front[:12])


def _objective(name: str, r: Record) -> float:
    """Seconds for latency (the weighted geometric mean), the resource's own unit else."""
    assert r.evaluation is not None
    if name == "latency":
        return -r.gain
    return float(getattr(r.evaluation.resources, name))


def _seconds(e: Evaluation, weights: Sequence[float]) -> float:
    """Weighted geometric mean of the medians."""
    return math.exp(gains.mean_log(gains.medians(e), weights))


def _queue_depth(evaluator: Evaluator) -> int:
    """Enough that compilers and device never wait for each other."""
    if evaluator.device.backend == "cuda":
        return max(1, (os.cpu_count() or 2) - 1) + 4
    return 3
