"""A run that can go on: the search's state in the store, and the search made from the store again.

What was measured comes from the candidates and evaluations; policies, populations and random generators from the last
saved state. Candidates measured after it rejoin their populations, but their rewards are not learned again; those
without a verdict are submitted once more under their old keys.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evo.search.memory import BASELINE, Record
from evo.search.policy import Trace
from evo.search.reward import potential
from evo.search.strategies import load_strategy
from evo.search.view import member
from genome.errors import InputError
from genome.program import Program, launches_from_json
from gpu.records import Evaluation, Verdict
from results.records import Candidate
from surrogate.screen import Choice

if TYPE_CHECKING:
    from evo.engine import Engine

STATE = "search"
VERSION = 1


def save(engine: Engine) -> None:
    traces = {m.key: engine.memory.records[m.key].trace.state()
              for a in engine.arena.agents for m in a.population.members}
    state = {"version": VERSION, "arena": engine.arena.state(), "judged": engine.judged,
             "refusals": engine.refusals, "traces": traces}
    engine.store.save_state(STATE, zlib.compress(json.dumps(state).encode(), 1))


def load(engine: Engine) -> dict[str, Any] | None:
    """The last saved state; None where there is none or another version wrote it (the search then learns anew)."""
    saved = engine.store.load_state(STATE)
    if not isinstance(saved, bytes):
        return None
    state: dict[str, Any] = json.loads(zlib.decompress(saved))
    return state if state.get("version") == VERSION else None


def resume(engine: Engine) -> None:
    """Raises InputError when the run was stopped before its baseline was measured."""
    verdicts = engine.store.evaluations()
    base = next((e for e in verdicts if e.key == BASELINE), None)
    if base is None:
        raise InputError("the run has no measured baseline to go on from", remedy="start it anew with evo run")
    engine.seed_baseline(base)
    state = load(engine)
    traces = {k: Trace.load(t) for k, t in state["traces"].items()} if state else {}
    for c in engine.store.candidates():
        if c.key != BASELINE:
            engine.memory.add(_remember(engine, c, traces.get(c.key, Trace())))
            engine.serial = max(engine.serial, int(c.key[1:]))
            engine.submitted += 1
    for e in verdicts:
        if e.key != BASELINE:
            _replay(engine, engine.memory.records[e.key], e)
    if engine.screen is not None:
        engine.screen.refit()
    if state:
        _restore(engine, state)
    for e in verdicts[state["judged"] if state else 0 :]:
        _adopt(engine, engine.memory.records[e.key])
    engine.judged = len(verdicts)
    engine.announce()
    for key, r in engine.memory.records.items():
        if r.evaluation is None:
            engine.flying[key] = r
            engine.evaluator.submit(key, engine.space.program(engine.space.express(r.genome)))


def _remember(engine: Engine, c: Candidate, trace: Trace) -> Record:
    x = engine.space.express(c.genome)
    return Record(c.key, c.agent, c.parents, c.operation, c.genome, x.key, c.features, trace,
                  engine.vocabulary.row(c.features, c.genome), Choice(0, c.predicted, None, c.explored),
                  program_of(c).key)


def program_of(c: Candidate) -> Program:
    """The program that ran, as the store has it."""
    language = "opencl" if c.source_opencl else "cuda"
    return Program(c.source_opencl or c.source, launches_from_json(c.launches), language, c.preconditions)


def _replay(engine: Engine, r: Record, e: Evaluation) -> None:
    engine.memory.judge(r, e, potential(r.features, engine.memory.baseline.features))
    if engine.screen is not None:
        engine.screen.learn(r.row, r.gain, r.timed, r.choice)
    if engine.better(r):
        engine.champion = r


def _restore(engine: Engine, state: Mapping[str, Any]) -> None:
    records = engine.memory.records

    def individual(key: str) -> Any | None:
        r = records.get(key)
        return member(engine.setup.objectives, r) if r is not None and r.timed else None

    engine.refusals = dict(state["refusals"])
    agents = []
    for s in state["arena"]["agents"]:
        agent = engine.spawn(load_strategy(s["strategy"]))
        agent.restore(s, individual)
        agents.append(agent)
    engine.arena.agents = agents
    engine.arena.restore(state["arena"])


def _adopt(engine: Engine, r: Record) -> None:
    """What was verified after the state was saved goes into its agent's population."""
    agent = engine.arena.agent(r.agent)
    if agent is not None and r.timed and r.evaluation is not None and r.evaluation.verdict is Verdict.OK:
        agent.population.add(member(engine.setup.objectives, r))
