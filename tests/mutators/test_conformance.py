"""Every mutator of the catalogue keeps the contract, on every example."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import example as explicit
from hypothesis import strategies as st

from genome.errors import Refusal
from genome.gene import Gene, from_json, to_json
from mutators.catalogue import CATALOGUE, names, without
from tests.helpers.kernels import EXAMPLES
from tests.mutators import conformance

PAIRS = list(itertools.product(CATALOGUE, EXAMPLES))
# These have one site each, and do not look at what a gene calls it.
ONE_SITE = {"AdjustBlockSize", "CoalesceMemoryAccess", "SwizzleBlocks", "WarpTile", "LimitRegisters"}

junk = st.one_of(st.integers(-5, 70), st.integers(), st.booleans(), st.text(max_size=4), st.none(), st.floats(),
                 st.sampled_from(["", "0", "01", "10", "00", "block", "k.o", "xy", "yx", "pragma", "full", "factor",
                                  "blocked", "strided", "fragments", "loads-first"]),
                 st.tuples(st.integers(0, 3)), st.lists(st.integers(0, 3), max_size=2))


def test_catalogue() -> None:
    assert names() == tuple(CATALOGUE) == ("TileLoops", "CoalesceMemoryAccess", "AdjustBlockSize", "UseSharedMemory",
                                           "UnrollLoop", "ReorderInstructions", "CoarsenThreads", "VectorizeLoads",
                                           "PipelineStages", "SwizzleBlocks", "WarpTile", "SplitReduction",
                                           "LimitRegisters")
    assert set(without(["UnrollLoop"])) == set(CATALOGUE) - {"UnrollLoop"}
    assert all(n == m.name for n, m in CATALOGUE.items())


@pytest.mark.parametrize("name", CATALOGUE)
def test_declaration(name: str) -> None:
    conformance.well_declared(CATALOGUE[name])


@pytest.mark.parametrize(("name", "example"), PAIRS)
def test_sites_and_domains(name: str, example: str) -> None:
    for state in conformance.states(example):
        conformance.sites_are_stable(CATALOGUE[name], state)
        conformance.domain_is_declared(CATALOGUE[name], state)


@pytest.mark.parametrize(("name", "example"), PAIRS)
def test_legal_choices_replay(name: str, example: str) -> None:
    for state in conformance.states(example):
        found = conformance.legal(CATALOGUE[name], state)
        for site, params, new in itertools.islice(found, 0, 3 * conformance.EMITTED, 3):
            conformance.replays(CATALOGUE[name], state, site, params, new, CATALOGUE)


@pytest.mark.parametrize("name", CATALOGUE)
def test_something_is_legal_somewhere(name: str) -> None:
    assert any(True for e in EXAMPLES for state in conformance.states(e)
               for _ in conformance.legal(CATALOGUE[name], state))


@pytest.mark.parametrize(("name", "kernel"), PAIRS)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_junk_is_refused(name: str, kernel: str, data: Any) -> None:
    """Whatever the parameters, nothing but a refusal comes out, and what is accepted can be applied and printed."""
    mutator = CATALOGUE[name]
    state = conformance.states(kernel)[data.draw(st.integers(0, 1))]
    sites = [s.name for s in mutator.sites(state)]
    site = data.draw(st.sampled_from(sites) if sites else st.just("k"))
    params = {p.name: data.draw(st.one_of(st.sampled_from(p.values), junk)) for p in mutator.parameters
              if data.draw(st.integers(0, 9))}
    conformance.try_one(mutator, state, site, params)


WRONG_SITES = ("", "nothing", "k.o.o", "k,", "k,k", ",", "a,b,c,d", "A#7", "X", "threads.o")


def refuses_wrong_sites(name: str) -> None:
    mutator = CATALOGUE[name]
    for example in EXAMPLES:
        for state in conformance.states(example):
            for good in mutator.sites(state):
                for params in itertools.islice(conformance.choices(mutator, state, good.name), 3):
                    for site in WRONG_SITES:
                        with pytest.raises(Refusal) as r:
                            mutator.check(state, site, params)
                        conformance.assert_named(r.value)


@pytest.mark.parametrize("name", [n for n in CATALOGUE if n not in ONE_SITE])
def test_wrong_sites_are_refused(name: str) -> None:
    refuses_wrong_sites(name)


@pytest.mark.parametrize("name", sorted(ONE_SITE))
def test_wrong_sites_are_refused_where_there_is_one(name: str) -> None:
    refuses_wrong_sites(name)


def test_digits_of_other_scripts() -> None:
    state = conformance.states("sgemm")[0]
    conformance.try_one(CATALOGUE["UseSharedMemory"], state, "A", {"scope": "block", "order": "0\u00b9", "pad": 0})


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=8), st.text(max_size=8), st.dictionaries(
    st.text(min_size=1, max_size=5).filter(lambda s: s not in ("mutator", "site")),
    st.one_of(st.integers(), st.booleans(), st.text(max_size=5), st.lists(st.integers(), max_size=3).map(tuple)),
    max_size=4))
@explicit("M", "s", {"a": (1, 2), "b": True})
def test_genes_round_trip(mutator: str, site: str, params: dict[str, Any]) -> None:
    gene = Gene.make(mutator, site, **params)
    assert from_json(to_json((gene, gene))) == (gene, gene)
