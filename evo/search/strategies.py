"""The agents' characters: named strategies that a person understands, as priors on what to try.

A strategy is data. A user's own is one more :class:`Strategy`; names of mutators that the catalogue lacks are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evo.search.draws import Draws
from mutators.base import Direction


@dataclass(frozen=True)
class Strategy:
    """``directions``, ``mutators`` and ``operations`` hold prior mean rewards (0 is neutral, 0.3 a strong leaning);
    ``temperature`` scales exploration; ``horizon`` is the longest genome it builds; ``sketches`` the prior for
    starting from a sketch; ``elitism`` the share of parents that are the agent's best;
    ``chain`` the chance that one more operation follows in the same proposal (what pays only together)."""

    name: str
    summary: str = ""
    directions: Mapping[Direction, float] = field(default_factory=dict)
    mutators: Mapping[str, float] = field(default_factory=dict)
    operations: Mapping[str, float] = field(default_factory=dict)
    temperature: float = 1.0
    horizon: int = 12
    sketches: float = 0.1
    elitism: float = 0.4
    chain: float = 0.3

    def priors(self) -> dict[str, float]:
        """The prior mean rewards by the policy's arm names."""
        out = {f"direction:{d.value}": v for d, v in self.directions.items()}
        out |= {f"mutator:{m}": v for m, v in self.mutators.items()}
        out |= {f"operation:{o}": v for o, v in self.operations.items()}
        out["operation:sketch"] = self.sketches
        return out


STRATEGIES: tuple[Strategy, ...] = (
    Strategy("block-first", "block shape and size, then the rest", {Direction.OCCUPANCY: 0.25},
             {"AdjustBlockSize": 0.3, "CoalesceMemoryAccess": 0.2}, {"append": 0.1}, 0.8, 10, 0.05),
    Strategy("loads-first", "coalesced accesses and shared memory before arithmetic",
             {Direction.MEMORY_TRAFFIC: 0.3}, {
                 "CoalesceMemoryAccess": 0.3, "UseSharedMemory": 0.3, "TileLoops": 0.2, "VectorizeLoads": 0.2},
             {"append": 0.1}, 0.8, 12, 0.1),
    Strategy("tiles-first", "loop tiles and staging, then parameters",
             {Direction.MEMORY_TRAFFIC: 0.15, Direction.COMPUTE: 0.1}, {"TileLoops": 0.3, "UseSharedMemory": 0.2},
             {"reparameterise": 0.1, "exchange": 0.1}, 0.8, 14, 0.2),
    Strategy("registers-first", "many points a thread in registers, then feeding them",
             {Direction.COMPUTE: 0.3}, {"CoarsenThreads": 0.3, "UnrollLoop": 0.15},
             {"reparameterise": 0.1}, 0.8, 14, 0.2),
    Strategy("latency-hiding", "independent work in flight: unrolling, reordering, occupancy",
             {Direction.LATENCY: 0.3, Direction.OCCUPANCY: 0.1},
             {"UnrollLoop": 0.25, "ReorderInstructions": 0.25, "PipelineStages": 0.25}, {}, 0.9, 12, 0.1),
    Strategy("explorer", "no leanings, long genomes, hot", {}, {}, {"splice": 0.05}, 1.5, 18, 0.15, 0.25),
)


def strategies(count: int) -> tuple[Strategy, ...]:
    """The first ``count`` agents. One alone is the explorer at ordinary temperature (no leaning); past the named
    ones, varied copies with a number."""
    if count <= 1:
        return (replace(STRATEGIES[-1], name="solo", summary="one agent, no leanings", temperature=1.0, elitism=0.4),)
    out = list(STRATEGIES[:count])
    if count < len(STRATEGIES):
        out[-1] = STRATEGIES[-1]
    for i in range(len(STRATEGIES), count):
        base = STRATEGIES[i % len(STRATEGIES)]
        out.append(replace(base, name=f"{base.name}-{i // len(STRATEGIES) + 1}",
                           temperature=base.temperature * (1.0 + 0.3 * (i // len(STRATEGIES)))))
    return tuple(out)


def varied(base: Strategy, name: str, draws: Draws) -> Strategy:
    """A clone's strategy: temperature and horizon changed, priors blurred."""
    def blur(priors: Mapping[str, float]) -> dict[str, float]:
        return {k: v * (0.5 + draws.uniform()) for k, v in priors.items()}
    return replace(base, name=name, summary=f"varied from {base.name}",
                   directions={d: v * (0.5 + draws.uniform()) for d, v in base.directions.items()},
                   mutators=blur(base.mutators), operations=blur(base.operations),
                   temperature=min(2.0, max(0.4, base.temperature * (0.7 + 0.8 * draws.uniform()))),
                   horizon=max(4, base.horizon + draws.choice((-2, 0, 2, 4))),
                   sketches=base.sketches + 0.1 * draws.gauss(),
                   elitism=min(0.7, max(0.1, base.elitism + 0.1 * draws.gauss())))


def strategy_state(s: Strategy) -> dict[str, Any]:
    return {**vars(s), "directions": {d.name: v for d, v in s.directions.items()}, "mutators": dict(s.mutators),
            "operations": dict(s.operations)}


def load_strategy(state: Mapping[str, Any]) -> Strategy:
    return Strategy(**{**state, "directions": {Direction[d]: v for d, v in state["directions"].items()}})
