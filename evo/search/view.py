"""How members and the whole search look from outside: objectives, the policy's situation, the display's snapshot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evo.search import gains
from evo.search.context import Situation
from evo.search.memory import Record
from evo.search.population import make_individual
from evo.search.snapshot import AgentView, FrontView, Snapshot
from genome.gene import Gene
from gpu.records import Evaluation
from mutators.base import Direction

if TYPE_CHECKING:
    from evo.engine import Engine


def seconds(e: Evaluation, weights: Sequence[float]) -> float:
    """Weighted geometric mean of the medians."""
    return math.exp(gains.mean_log(gains.medians(e), weights))


def objective(name: str, r: Record) -> float:
    """Latency is -gain, ln(time / baseline time); a resource counts in its own unit."""
    assert r.evaluation is not None
    return -r.gain if name == "latency" else float(getattr(r.evaluation.resources, name))


def member(objectives: Sequence[str], r: Record) -> Any:
    """The DEAP individual of a timed candidate."""
    return make_individual(objectives, r.key, r.genome, r.gain, [objective(o, r) for o in objectives])


def applied(genome: Sequence[Gene], directions: Mapping[str, Direction]) -> dict[Direction, int]:
    counts: dict[Direction, int] = {}
    for g in genome:
        d = directions.get(g.mutator)
        if d is not None:
            counts[d] = counts.get(d, 0) + 1
    return counts


def situation(r: Record, genome: Sequence[Gene], *, best: float, limit_seconds: float, weights: Sequence[float],
              directions: Mapping[str, Direction]) -> Situation:
    """A measured parent with ``genome``: its own, or what one operation made of it within a proposal. ``best`` is the
    best gain so far, ``limit_seconds`` the roofline's time (0: unknown)."""
    assert r.evaluation is not None
    res = r.evaluation.resources
    fraction = limit_seconds / seconds(r.evaluation, weights) if limit_seconds > 0 else -1.0
    return Situation(r.features, r.gain, fraction, res.occupancy, res.registers, res.spill_bytes, len(genome),
                     best=best, applied=applied(genome, directions))


def snapshot(engine: Engine) -> Snapshot:
    arena, best, base = engine.arena, engine.champion, engine.memory.baseline.evaluation
    assert base is not None
    shares = arena.shares()
    base_seconds = seconds(base, engine.memory.weights)
    speedup, low = (math.exp(best.gain), math.exp(best.low)) if best else (1.0, 1.0)
    key, final = best.key if best else "", engine.finish
    if final is not None and final.champion is not None:  # the figure that counts is the last one
        key, speedup, low = final.champion, final.speedup, final.low
    views = tuple(AgentView(a.name, a.strategy.summary, a.last, shares[a.name], a.round.evaluated, a.round.verified,
                            math.exp(a.best)) for a in arena.agents)
    return Snapshot(
        engine.phase, engine.elapsed(), engine.spent(), engine.submitted,
        engine.submitted / max(engine.elapsed(), 1e-9), len(engine.flying), base_seconds, key,
        base_seconds / speedup, speedup, low, arena.index, views, dict(engine.memory.counts), dict(engine.refusals),
        front(engine), engine.screen.report() if engine.screen is not None else None,
        final is not None and final.champion is not None)


def front(engine: Engine) -> tuple[FrontView, ...]:
    """The non-dominated members of all populations, the fastest first, at most twelve."""
    members = {m.key: m for a in engine.arena.agents for m in a.population.members}
    best = [m for m in members.values() if not any(o.fitness.dominates(m.fitness) for o in members.values())]
    best.sort(key=lambda m: -m.gain)
    return tuple(FrontView(m.key, math.exp(m.gain),
                           tuple(zip(engine.setup.objectives, m.fitness.values, strict=True))) for m in best[:12])
