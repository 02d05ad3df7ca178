"""The engine: gate, search, confirmation. It joins agents, screen, evaluator and store, and owns the budget."""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from evo.search import gains, persist, view
from evo.search.agents import Agent, Proposal
from evo.search.arena import Arena
from evo.search.context import Situation
from evo.search.draws import Draws
from evo.search.finish import Finish, confirm_best
from evo.search.interrupt import stop_on_signals
from evo.search.memory import BASELINE, Memory, Record
from evo.search.options import Options
from evo.search.policy import Trace
from evo.search.reward import Step, lineage_shares, potential
from evo.search.setup import Display, RunResult, RunStore, Setup
from evo.search.space import Expression
from evo.search.strategies import Strategy, strategies
from evo.search.variation import Draft
from genome.errors import InputError, Refusal
from genome.gene import Gene
from genome.program import Program, launches_to_json
from gpu.interface import Evaluator
from gpu.records import Evaluation, Verdict
from results.records import Candidate
from surrogate.features import Vocabulary
from surrogate.model import TreeEnsemble
from surrogate.screen import Choice, Screen

__all__ = ["Engine", "RunResult", "Setup", "run"]

SAVE_EVERY = 20.0  # seconds between saved states
POOL = 8  # proposals per place while the screen acts, at most
DRAIN = 20.0  # seconds that measurements in flight get at the end, at most
CLOSING = 1.5  # seconds kept for writing the results
LADDER = 10.0  # seconds kept for measuring what each gene brings, at most; a tenth of a short budget


def run(setup: Setup, options: Options, display: Display, store: RunStore, *, resume: bool = False,
        stop: threading.Event | None = None, clock: Callable[[], float] = time.monotonic,
        began: float | None = None) -> RunResult:
    """The whole run. Raises InputError for wrong options or an unusable baseline; everything else that a candidate
    can do is a verdict. With ``stop`` set (or on SIGINT, SIGTERM) it confirms what there is and ends. The budget counts
    from ``began`` on ``clock``; None: from now."""
    options.check()
    with stop_on_signals(stop or threading.Event()) as event:
        return Engine(setup, options, display, store, event, clock, began).run(resume)


class Engine:
    """One run. Not reusable."""

    def __init__(self, setup: Setup, options: Options, display: Display, store: RunStore, stop: threading.Event,
                 clock: Callable[[], float], began: float | None = None) -> None:
        self.setup, self.options, self.display, self.store, self.stop = setup, options, display, store, stop
        self.space, self.evaluator = setup.space, setup.evaluator
        self.clock, self.began, self.before = clock, clock() if began is None else began, 0.0
        self.memory = Memory(setup.weights)
        self.vocabulary = Vocabulary()
        self.screen = Screen(TreeEnsemble(self.vocabulary, seed=options.seed)) if options.screen else None
        self.arena = self._arena()
        self.queue = options.queue or _queue_depth(self.evaluator)
        self.batch = options.batch or max(8, len(self.arena.agents))
        self.backlog: deque[tuple[Proposal, Choice]] = deque()
        self.flying: dict[str, Record] = {}
        self.submitted = 0
        self.judged = 0  # evaluations filed, the baseline's included
        self.serial = 0
        self.champion: Record | None = None
        self.announced = ""  # key of the champion that the evaluator knows
        self.refusals: dict[str, int] = {}
        self.gate_seconds = self.watch_seconds = 0.0
        self.saved = self.shown = -1e9
        self.thinking, self.proposed = 0.0, 0  # seconds spent on planning, and the proposals that came of it
        self.barren = 0  # plans in a row that yielded nothing
        self.phase = "gate"
        self.finish: Finish | None = None

    # --------------------------------------------------------------------------------------------------- parts
    def _arena(self) -> Arena:
        chosen = self.setup.strategies or strategies(self.options.agents)
        return Arena([self.spawn(s) for s in chosen], Draws(self.options.seed, "arena"), self.spawn)

    def spawn(self, strategy: Strategy) -> Agent:
        agent = Agent(strategy, self.space, self.setup.objectives, self.options.seed,
                      uniform=self.options.policy == "uniform")
        if BASELINE in self.memory.records:
            agent.population.add(view.member(self.setup.objectives, self.memory.baseline))
        return agent

    def _situation(self, member: Any, genome: Sequence[Gene]) -> Situation:
        return view.situation(
            self.memory.records[member.key], genome, best=max(a.best for a in self.arena.agents),
            limit_seconds=self.setup.limit_seconds, weights=self.memory.weights, directions=self.space.directions)

    # ------------------------------------------------------------------------------------------------- budget
    def elapsed(self) -> float:
        return self.before + self.clock() - self.began

    def reserve(self) -> float:
        """Seconds kept for the end: a confirmation costs some three gates; the ladder and the files come after it."""
        if self.options.seconds is None:
            return 0.0
        after = min(LADDER, 0.1 * self.options.seconds) + CLOSING
        return min(0.5 * self.options.seconds,
                   max(self.options.reserve * self.options.seconds, 3 * self.gate_seconds + self.watch_seconds + after))

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
        self._gate(resume)
        self.phase = "search"
        reason = self._search()
        self._drain()
        self._save()
        self.phase = "confirm"
        self._show(force=True)
        finish = self.finish = self._confirm()
        interrupted = self.stop.is_set()
        self.store.event("end", {"reason": reason, "evaluations": self.submitted})
        self.store.set_status("interrupted" if interrupted else "finished")
        self.phase = "done"
        self._show(force=True)
        return RunResult(finish.champion, self.champion.key if self.champion else None, finish.speedup,
                         finish.confirmation, self.submitted, dict(self.memory.counts), self.elapsed(), interrupted,
                         reason)

    def _gate(self, resume: bool) -> None:
        """Checks and times the baseline. A resumed run keeps its first measurement of it, which all gains refer to."""
        self.display.message("checking the baseline")
        if resume:
            self.before = self.store.elapsed()
            self.store.set_status("running")
        else:
            expression = self.space.express(())
            self.store.add_candidate(self._candidate(BASELINE, "", (), "baseline", expression,
                                                     self.space.program(expression), None))
        start = self.clock()
        report = self.evaluator.gate()
        self.watch_seconds = report.watch_seconds
        self.gate_seconds = self.clock() - start
        e = replace(report.evaluation, key=BASELINE)
        if not gains.timed(e):
            raise InputError(f"the baseline was not timed: {e.verdict.value} {e.reason}".rstrip())
        self.store.event("gate", {"seconds": self.gate_seconds, "deterministic": report.deterministic,
                                  "spread": report.spread, "notes": list(report.notes), "ran": report.ran,
                                  "median": view.seconds(e, self.memory.weights)})
        for note in report.notes:
            self.display.message(note)
        if resume:
            persist.resume(self)
        else:
            self.store.set_evaluation(e)
            self.seed_baseline(e)

    def seed_baseline(self, e: Evaluation) -> None:
        """The baseline becomes everybody's first member and the model's first row."""
        x = self.space.express(())
        base = Record(BASELINE, "", (), "baseline", (), x.key, x.features, program_key=self.space.program(x).key,
                      row=self.vocabulary.row(x.features, ()))
        self.memory.add(base)
        self.memory.judge(base, e, potential(x.features, x.features))
        self.judged += 1
        if self.screen is not None:
            self.screen.learn(base.row, 0.0, True)
        for a in self.arena.agents:
            a.population.add(view.member(self.setup.objectives, base))

    def _search(self) -> str:
        """Until the budget is spent, the user stops it, or nothing new can be proposed; the reason is returned."""
        self._seed()
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

    def _seed(self) -> None:
        """Puts the given genomes before the agents' own proposals, each into the hands of one agent in turn."""
        for i, genome in enumerate(self.setup.seeds):
            expression = self.space.express(genome)
            if expression.genome and expression.key not in self.memory.genomes:
                agent = self.arena.agents[i % len(self.arena.agents)]
                draft = Draft(expression.genome, (BASELINE,), "seed", Trace())
                self.backlog.append((Proposal(agent.name, draft, expression, BASELINE), Choice(0)))

    def _fill(self) -> None:
        """Keeps the evaluator's queue full; plans at most one batch, so that verdicts are not left waiting."""
        planned = False
        while len(self.flying) < self.queue and not self.stop.is_set() and self.spent() < 1.0:
            if not self.backlog:
                if planned or not self._plan():
                    return
                planned = True
            if self.backlog:
                self._submit(*self.backlog.popleft())

    # ------------------------------------------------------------------------------------------------ propose
    def _plan(self) -> bool:
        """Fills the backlog with one batch; False when no agent had anything new."""
        if self.screen is not None:
            self.screen.refit()
            self.screen.start_batch()
            self.screen.factor = self._pool_factor()
        began, made = self.clock(), 0
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
                made += 1
            lanes.append(deque(self._choose(pool, places)))
        self.thinking += self.clock() - began
        self.proposed += made
        count = 0
        while any(lanes):  # one of each agent in turn
            for lane in lanes:
                if lane:
                    self.backlog.append(lane.popleft())
                    count += 1
        self.barren = 0 if count else self.barren + 1
        return count > 0

    def _pool_factor(self) -> int:
        """Proposals per place that fit beside the measurements: thinking may take half of the time that an evaluation
        takes. All of them where only evaluations are counted (the history must then not depend on the clock)."""
        if self.options.seconds is None or not self.proposed or not self.submitted:
            return POOL
        pace = (self.elapsed() - self.gate_seconds) / self.submitted
        return int(min(POOL, max(2.0, 0.5 * pace / max(self.thinking / self.proposed, 1e-6))))

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
                        self.vocabulary.row(x.features, x.genome), choice, program.key,
                        proposal.against)
        self.store.add_candidate(self._candidate(key, proposal.agent, d.parents, d.operation, x, program, choice))
        self.memory.add(record)
        self.flying[key] = record
        self.submitted += 1
        self.evaluator.submit(key, program)

    def _candidate(self, key: str, agent: str, parents: tuple[str, ...], operation: str, x: Expression,
                   program: Program, choice: Choice | None) -> Candidate:
        launches = launches_to_json(program.launches)
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
        self.judged += 1
        self.memory.judge(record, e, potential(record.features, self.memory.baseline.features))
        agent = self.arena.agent(record.agent)
        if self.screen is not None:
            self.screen.learn(record.row, record.gain, record.timed, record.choice)
        parent = self.memory.records.get(record.against or record.parents[0], self.memory.baseline)
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
        before = agent.best
        agent.stale += 1
        if record.timed and e.verdict is not Verdict.ABORTED_SLOW:
            twin = self.memory.twin(e) if e.verdict is Verdict.DUPLICATE else None
            if twin is None or len(twin.genome) != len(record.genome):
                agent.population.add(view.member(self.setup.objectives, record))
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

    def better(self, r: Record) -> bool:
        """Is this a new champion? By the lower bound of its gain; never what is not verified in full."""
        if not r.timed or r.evaluation is None or r.evaluation.verdict is not Verdict.OK or r.low <= 0:
            return False
        return self.champion is None or (r.low > self.champion.low and r.gain > self.champion.gain)

    def _champion(self, r: Record) -> bool:
        if not self.better(r):
            return False
        self.champion = r
        self.store.event("champion", {"key": r.key, "gain": r.gain, "low": r.low})
        self.announce()
        return True

    def announce(self) -> None:
        """Tells the evaluator of the champion when it is clearly better than the one it has (2 %)."""
        r, told = self.champion, self.memory.records.get(self.announced)
        if r is None or r.evaluation is None or (told is not None and r.gain <= told.gain + 0.02):
            return
        program = self.space.program(self.space.express(r.genome))
        self.evaluator.set_champion(r.key, program, view.seconds(r.evaluation, self.memory.weights))
        self.announced = r.key

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
        if self.flying:  # what comes next must not wait for it
            self.evaluator.abandon()

    def _confirm(self) -> Finish:
        def left() -> float:
            return math.inf if self.options.seconds is None else self.options.seconds - CLOSING - self.elapsed()
        return confirm_best(self.memory, self.space, self.evaluator, self.store,
                            count=1 if self.stop.is_set() else self.options.finalists, left=left,
                            message=self.display.message)

    def _save(self) -> None:
        persist.save(self)
        self.saved = self.clock()

    def _show(self, force: bool = False) -> None:
        if not force and self.clock() - self.shown < 0.25:
            return
        self.shown = self.clock()
        self.display.update(view.snapshot(self))

def _queue_depth(evaluator: Evaluator) -> int:
    """Enough that compilers and device never wait for each other."""
    if evaluator.device.backend == "cuda":
        return max(1, (os.cpu_count() or 2) - 1) + 4
    return 3
