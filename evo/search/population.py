"""An agent's sub-population: DEAP individuals (gene sequences), NSGA-II survival, grace for what is new.

The best by latency always survive; so do members of a skeleton that has not had its ``grace`` evaluations, because a
new skeleton's first parameters are rarely good; the rest of the places go by NSGA-II over all objectives. Neutral and
slightly worse parents survive while there is room: coupled transforms pay only together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from deap import base, creator, tools

from evo.search.draws import Draws
from evo.search.space import skeleton
from genome.gene import Genome

MINIMISED = ("latency", "registers", "shared_bytes", "spill_bytes", "stack_bytes", "code_bytes")
MAXIMISED = ("occupancy",)


def individual_class(objectives: Sequence[str]) -> Any:
    """The DEAP individual (a list of genes) with a fitness of these objectives; one class per set of weights."""
    weights = tuple(1.0 if o in MAXIMISED else -1.0 for o in objectives)
    name = "".join("+" if w > 0 else "-" for w in weights)
    fitness, individual = f"EvoFitness{name}", f"EvoIndividual{name}"
    if not hasattr(creator, individual):
        creator.create(fitness, base.Fitness, weights=weights)
        creator.create(individual, list, fitness=getattr(creator, fitness), key="", gain=0.0, skeleton=())
    return getattr(creator, individual)


def make_individual(objectives: Sequence[str], key: str, genome: Genome, gain: float, values: Sequence[float]) -> Any:
    """``gain`` is ln(baseline time / time); ``values`` one number per objective."""
    ind = individual_class(objectives)(genome)
    ind.key, ind.gain, ind.skeleton = key, gain, skeleton(genome)
    ind.fitness.values = tuple(values)
    return ind


class Population:
    """``size`` places beside those under grace; a skeleton takes at most half of them."""

    def __init__(self, objectives: Sequence[str], *, size: int = 16, elite: int = 4, grace: int = 10) -> None:
        self.objectives = tuple(objectives)
        self.size, self.elite, self.grace = size, elite, grace
        self.members: list[Any] = []
        self.tried: dict[tuple[tuple[str, str], ...], int] = {}  # evaluations per skeleton
        self.hall = tools.HallOfFame(8, similar=lambda a, b: bool(a.key == b.key))

    def __len__(self) -> int:
        return len(self.members)

    @property
    def best(self) -> Any | None:
        return max(self.members, key=lambda m: m.gain, default=None)

    def count(self, genome: Genome) -> None:
        """One evaluation of this skeleton is spent, whatever came of it."""
        s = skeleton(genome)
        self.tried[s] = self.tried.get(s, 0) + 1

    def in_grace(self, member: Any) -> bool:
        return len(member) > 0 and self.tried.get(member.skeleton, 0) < self.grace

    def add(self, member: Any) -> None:
        if any(m.key == member.key for m in self.members):
            return
        self.members.append(member)
        self.hall.update([member])
        if len(self.members) > self.size + self.size // 2:
            self.survive()

    def survive(self) -> None:
        """Environmental selection down to ``size``: elite, those under grace (the best four of each skeleton), the
        rest by NSGA-II."""
        ranked = sorted(self.members, key=lambda m: -m.gain)
        kept: list[Any] = []
        per: dict[Any, int] = {}
        for m in ranked:
            n = per.get(m.skeleton, 0)
            if len(kept) < self.elite and n < max(2, self.elite // 2):
                kept.append(m)
                per[m.skeleton] = n + 1
        young = [m for m in ranked if not _contains(kept, m) and self.in_grace(m)]
        for m in young[: self.size // 2]:
            if per.get(m.skeleton, 0) < 4:
                kept.append(m)
                per[m.skeleton] = per.get(m.skeleton, 0) + 1
        rest = [m for m in ranked if not _contains(kept, m)]
        for m in _nsga2_order(rest):
            if len(kept) >= self.size:
                break
            if per.get(m.skeleton, 0) < self.size // 2:
                kept.append(m)
                per[m.skeleton] = per.get(m.skeleton, 0) + 1
        self.members = kept

    def parent(self, draws: Draws, elitism: float = 0.4) -> Any:
        """The agent's best with probability ``elitism``, a member under grace in a quarter of the rest, else the
        winner of a tournament of three by latency. Raises IndexError when empty."""
        ranked = sorted(self.members, key=lambda m: -m.gain)
        if draws.uniform() < elitism:
            return ranked[min(draws.below(3), draws.below(3), len(ranked) - 1)]
        if draws.uniform() < 0.25:
            young = [m for m in ranked if self.in_grace(m)]
            if young:
                return draws.choice(young)
        return ranked[min(draws.below(len(ranked)) for _ in range(3))]

    def unmeasured(self, genome: Genome, parent: Any) -> Any:
        """A stand-in between two operations of one proposal: the parent's key and gain with another genome."""
        return make_individual(self.objectives, parent.key, genome, parent.gain, parent.fitness.values)

    def mate(self, draws: Draws, other: Any) -> Any | None:
        pool = [m for m in self.members if m.key != other.key]
        return min(draws.sample(pool, 2), key=lambda m: -m.gain) if pool else None

    def sibling(self, draws: Draws, other: Any) -> Any | None:
        """Another member of the same skeleton."""
        pool = [m for m in self.members if m.key != other.key and m.skeleton == other.skeleton]
        return draws.choice(pool) if pool else None

    def restart(self, keep: Iterable[str]) -> None:
        """Forgets all members but those named."""
        names = set(keep)
        self.members = [m for m in self.members if m.key in names]

    def front(self) -> list[Any]:
        return list(tools.sortNondominated(self.members, len(self.members), first_front_only=True)[0]) \
            if self.members else []


def _nsga2_order(members: list[Any]) -> list[Any]:
    """What ``tools.selNSGA2`` selects by, as an order (it sorts only the last front, and cannot skip a skeleton that
    has its share): fronts first, within a front the least crowded first."""
    out: list[Any] = []
    for front in tools.sortNondominated(members, len(members)) if members else []:
        tools.emo.assignCrowdingDist(front)
        out += sorted(front, key=lambda m: -m.fitness.crowding_dist)
    return out


def _contains(members: list[Any], m: Any) -> bool:
    return any(k.key == m.key for k in members)
