"""Survival, parents, and the operators over gene sequences."""

from __future__ import annotations

import random
from typing import Any

import pytest

from evo.search.context import vector
from evo.search.draws import Draws
from evo.search.memory import Record
from evo.search.policy import UniformPolicy
from evo.search.population import Population, individual_class, make_individual
from evo.search.space import skeleton
from evo.search.variation import OPERATIONS, Variation, put
from evo.search.view import situation
from genome.gene import Gene, Genome
from gpu.records import Evaluation, Resources, Verdict
from tests.evo.landscape import Landscape

OBJECTIVES = ("latency", "registers")


def member(key: str, gain: float, registers: int = 32, genome: Genome = ()) -> Any:
    return make_individual(OBJECTIVES, key, genome, gain, (-gain, registers))


def gene(name: str, site: str = "k", **params: int) -> Gene:
    return Gene.make(name, site, **params)


def test_an_individual_is_a_list_with_a_weighted_fitness() -> None:
    ind = make_individual(("latency", "occupancy"), "c1", (gene("A"),), 0.5, (-0.5, 0.9))
    assert isinstance(ind, list) and ind.fitness.weights == (-1.0, 1.0)
    assert individual_class(("latency", "occupancy")) is type(ind)
    slow = make_individual(("latency", "occupancy"), "c2", (), 0.1, (-0.1, 0.8))
    assert ind.fitness.dominates(slow.fitness)


def test_the_fastest_and_the_trade_offs_survive_and_the_dominated_go() -> None:
    p = Population(OBJECTIVES, size=8, elite=2, grace=0)
    for i in range(40):
        p.add(member(f"c{i:03d}", gain=i / 40, registers=20 + i, genome=(gene("A", f"s{i}"),)))
        p.add(member(f"d{i:03d}", gain=i / 40 - 0.5, registers=120, genome=(gene("B", f"s{i}"),)))
    p.survive()
    keys = {m.key for m in p.members}
    assert len(keys) <= 8 and "c039" in keys and "c038" in keys
    assert "c000" in keys, "the fewest registers are a trade-off"
    assert not any(k.startswith("d") for k in keys)
    assert p.best is not None and p.best.key == "c039"
    assert p.hall[0].key == "c039"


def test_a_new_skeleton_has_grace_until_its_evaluations_are_spent() -> None:
    p = Population(OBJECTIVES, size=6, elite=2, grace=5)
    young = member("young", -0.3, 60, (gene("Stage"), gene("Tile")))
    p.add(young)

    def crowd(first: int) -> None:
        for i in range(first, first + 30):
            genome = (gene("A", f"s{i}"),)
            p.add(member(f"c{i:03d}", 0.5 + i / 100, 30, genome))
            for _ in range(5):
                p.count(genome)
        p.survive()

    crowd(0)
    assert any(m.key == "young" for m in p.members)
    for _ in range(5):
        p.count(young)
    crowd(30)
    assert not any(m.key == "young" for m in p.members)


def test_one_skeleton_does_not_take_all_places() -> None:
    p = Population(OBJECTIVES, size=8, elite=4, grace=0)
    for i in range(30):
        p.add(member(f"same{i}", 1.0 + i / 100, 30, (gene("A", n=i),)))
    for i in range(6):
        p.add(member(f"other{i}", 0.2, 30, (gene("B", f"s{i}"),)))
    p.survive()
    assert sum(m.key.startswith("same") for m in p.members) <= 4
    assert sum(m.key.startswith("other") for m in p.members) >= 3


def test_slightly_worse_parents_are_chosen_too() -> None:
    p = Population(OBJECTIVES, grace=0)
    for i in range(10):
        p.add(member(f"c{i}", i / 100))
    draws = Draws(0)
    picked = [p.parent(draws).key for _ in range(500)]
    assert picked.count("c9") > picked.count("c5") > 0
    assert len(set(picked)) >= 7


def variation(parents: list[Genome], seed: int = 0, horizon: int = 12, **space: bool) -> tuple[Variation, list[Any]]:
    landscape = Landscape(**space)
    p = Population(OBJECTIVES)
    members = [member(f"c{i}", 0.1 * i, genome=landscape.express(g).genome) for i, g in enumerate(parents)]
    for m in members:
        p.add(m)
    return Variation(landscape, UniformPolicy(), p, Draws(seed), horizon), members


def block(x: int, y: int) -> Gene:
    return Gene.make("AdjustBlockSize", "block", x=x, y=y)


TILED: Genome = (block(16, 16), gene("TileLoops", size=16), gene("UseSharedMemory", "A", pad=0),
                 gene("CoarsenThreads", "x", items=4))
X = vector(situation(Record("c0", "", (), "", (), "", {}, evaluation=Evaluation("c0", Verdict.OK, "", Resources())),
                     (), best=0.0, limit_seconds=0.0, weights=(1.0,), directions={}))


def drafts(name: str, parents: list[Genome], tries: int = 60, **space: bool) -> list[Any]:
    out = []
    for seed in range(tries):
        v, members = variation(parents, seed, **space)
        made = getattr(v.toolbox, name)(members[0], X)
        if made is not None:
            out.append((made, v, members))
    assert out, f"{name} never applied"
    return out


def test_append_adds_one_gene_or_replaces_its_own_kind() -> None:
    for made, _, members in drafts("append", [TILED]):
        assert len(made.genome) in (4, 5)
        if len(made.genome) == 5:
            assert made.genome[:4] == tuple(members[0])
        assert len(made.trace.arms) == 2 and made.trace.values


def test_put_keeps_one_gene_per_mutator_and_site() -> None:
    assert put(TILED, block(8, 8))[0] == block(8, 8) and len(put(TILED, block(8, 8))) == 4
    assert put(TILED, gene("CoarsenThreads", "y", items=2))[-1].site == "y"


def test_replace_keeps_the_rest() -> None:
    for made, _, members in drafts("replace", [TILED]):
        assert sum(g in made.genome for g in members[0]) >= 2
        assert len(made.genome) <= 4


def test_reparameterise_changes_one_to_three_values_and_nothing_else() -> None:
    changed = set()
    for made, _, members in drafts("reparameterise", [TILED]):
        assert skeleton(made.genome) == skeleton(tuple(members[0]))
        n = sum(a != b for g, h in zip(made.genome, members[0], strict=True)
                for a, b in zip(g.params, h.params, strict=True))
        assert 1 <= n <= 3
        changed.add(n)
    assert {1, 2} <= changed


def test_delete_drops_one() -> None:
    for made, _, members in drafts("delete", [TILED]):
        assert len(made.genome) == 3 and all(g in members[0] for g in made.genome)


def test_splice_takes_from_both_and_has_both_parents() -> None:
    other: Genome = (gene("UnrollLoop", factor=4), gene("ReorderInstructions", on=True))
    mixed = 0
    for made, _, _members in drafts("splice", [TILED, other]):
        assert made.parents == ("c0", "c1")
        names = {g.mutator for g in made.genome}
        mixed += bool(names & {"UnrollLoop", "ReorderInstructions"}) and "AdjustBlockSize" in names
    assert mixed > 5


def test_exchange_mixes_parameters_within_a_skeleton() -> None:
    other = tuple(Gene.make(g.mutator, g.site, **v) for g, v in zip(TILED, (
        {"x": 32, "y": 8}, {"size": 8}, {"pad": 4}, {"items": 2}), strict=True))
    seen = set()
    for made, _, _members in drafts("exchange", [TILED, other]):
        for g, a, b in zip(made.genome, TILED, other, strict=True):
            assert all(v in (a.as_dict()[n], b.as_dict()[n]) for n, v in g.params)
        seen.add(made.genome)
    assert len(seen) > 5


def test_swap_changes_the_order_only() -> None:
    for made, _, members in drafts("swap", [TILED]):
        assert sorted(map(str, made.genome)) == sorted(map(str, members[0])) and made.genome != tuple(members[0])


def test_sketch_starts_from_the_baseline() -> None:
    for made, v, _ in drafts("sketch", [TILED], sketches=True):
        assert made.parents == ("baseline",) and made.trace.arms[0].name == "sketch:contraction"
        assert len(v.space.express(made.genome).genome) >= 3


def test_all_operators_are_in_the_toolbox_and_offered_when_they_apply() -> None:
    v, members = variation([TILED, TILED[:2]], sketches=True)
    assert all(hasattr(v.toolbox, name) for name in OPERATIONS)
    assert set(v.applicable(members[0])) == set(OPERATIONS) - {"exchange"}
    empty, base = variation([()])
    assert empty.applicable(base[0]) == ["append"]
    full, members = variation([TILED], horizon=4)
    assert "append" not in full.applicable(members[0])


def test_nothing_draws_from_the_process_wide_generators() -> None:
    random.seed(5)
    before = random.getstate()
    v, members = variation([TILED, TILED[:3], TILED[:2]], sketches=True)
    for _ in range(100):
        v.draft(members[0], X)
        v.population.survive()
    assert random.getstate() == before


@pytest.mark.parametrize("stream", ["a", "b"])
def test_draws_go_on_where_they_were_saved(stream: str) -> None:
    draws = Draws(3, stream)
    draws.normal(3), draws.uniform()
    copy = Draws(0)
    copy.restore(draws.state())
    assert [draws.uniform(), draws.below(99), *draws.normal(2)] == [copy.uniform(), copy.below(99), *copy.normal(2)]
