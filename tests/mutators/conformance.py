"""What every mutator must keep, whatever it does: a suite that a new mutator passes by being put into the catalogue.

Each function takes a mutator and a state and asserts one part of the contract in :mod:`mutators.base`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from random import Random

from genome.errors import Refusal
from genome.express import emit, express
from genome.gene import Gene, ParamValue, from_json, to_json
from genome.scheduled import Scheduled
from genome.workload import Exactness
from mutators.base import Direction, Mutator
from tests.helpers.kernels import applied, coarsen, example, pipeline, stage, tile, unroll

TRIALS = 10  # parameter choices tried at a site
EMITTED = 2  # of the legal ones that are printed

# Values outside the declared domain, as docs/mutators.md says: a block of one axis also takes multiples of a warp
# that are no powers of two, and one scope of UseSharedMemory is named after a loop of the kernel.
DOCUMENTED: Mapping[tuple[str, str], tuple[ParamValue, ...]] = {
    ("AdjustBlockSize", axis): (96, 192, 384, 1024) for axis in "xyz"}

# What an example looks like half-way through a genome, so that sites exist which the baseline does not have.
EVOLVED: Mapping[str, tuple[Gene, ...]] = {
    "conv2d": (coarsen("y", 2), tile("dx", 4), unroll("dy", "full"), stage("in")),
    "sgemm": (coarsen("x", 2, "strided"), tile("k", 8), unroll("k", "factor", 2), stage("A", "k.o"), stage("B", "k.o")),
    "sgemm_wrong_axes": (tile("k", 16), stage("B", "k.o", "10", 1), pipeline("k.o", 3)),
    "softmax": (tile("j", 8), unroll("j_2", "factor", 4)),
    "stencil7": (coarsen("z", 4, "fragments", 2),),
    "transpose": (coarsen("y", 4, "strided"),),
}


def states(name: str) -> tuple[Scheduled, Scheduled]:
    """An example's baseline and a state further on."""
    base = example(name)
    return base, applied(base, *EVOLVED[name])


def well_declared(mutator: Mutator) -> None:
    assert mutator.name == type(mutator).__name__
    assert isinstance(mutator.direction, Direction) and isinstance(mutator.exactness, Exactness)
    assert "→" in mutator.summary
    assert "\n" not in mutator.summary and len(mutator.summary) < 120
    assert mutator.parameters and isinstance(mutator, Mutator)
    names = [p.name for p in mutator.parameters]
    assert len(set(names)) == len(names)
    for p in mutator.parameters:
        assert p.kind in ("int", "choice", "flag") and p.values and p.help
        assert len(set(p.values)) == len(p.values)
        assert all(isinstance(v, {"int": int, "choice": str, "flag": bool}[p.kind]) for v in p.values)
    assert (type(mutator).__doc__ or "").count("→") >= 1, "the docstring shows before → after"


def sites_are_stable(mutator: Mutator, state: Scheduled) -> None:
    """Equal on every call, distinct, and in the order in which the user's file has them."""
    sites = list(mutator.sites(state))
    assert sites == list(mutator.sites(state))
    names = [s.name for s in sites]
    assert len(set(names)) == len(names) and all(names)
    lines = [s.loc.line for s in sites if s.loc.line]
    assert lines == sorted(lines)


def domain_is_declared(mutator: Mutator, state: Scheduled) -> None:
    declared = {p.name: p.values for p in mutator.parameters}
    for site in mutator.sites(state):
        domain = mutator.domain(state, site.name)
        assert set(domain) <= set(declared), f"{site.name}: undeclared parameter"
        assert dict(domain) == dict(mutator.domain(state, site.name))
        for name, values in domain.items():
            allowed = set(declared[name]) | set(DOCUMENTED.get((mutator.name, name), ()))
            for v in values:
                assert v in allowed or _loop_scope(mutator, state, name, v), f"{site.name}: {name} = {v!r}"


def _loop_scope(mutator: Mutator, state: Scheduled, name: str, value: ParamValue) -> bool:
    return "<loop>.o" in next(p.values for p in mutator.parameters if p.name == name) and isinstance(value, str) \
        and value.endswith(".o") and state.schedule.tile_of(value.removesuffix(".o")) is not None


def choices(mutator: Mutator, state: Scheduled, site: str) -> Iterator[dict[str, ParamValue]]:
    """Some parameter choices of a site's domain, the same ones every time."""
    domain = mutator.domain(state, site)
    every = [dict(zip(domain, values, strict=True)) for values in itertools.product(*domain.values())]
    Random(f"{mutator.name} {site}").shuffle(every)
    yield from every[:TRIALS]


def try_one(mutator: Mutator, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> Scheduled | None:
    """check, apply and validate; None where one of them refuses. Nothing but a refusal may come out of any, and the
    state that went in stays what it was."""
    before = (state.schedule, state.baseline, state.preconditions, state.logical.body)
    new = None
    try:
        added = mutator.check(state, site, params)
        assert isinstance(added, tuple) and all(isinstance(p, str) for p in added)
        new = mutator.apply(state, site, params)
        assert new is not state
        new = new.with_schedule(new.schedule, added)
        new.validate()
    except Refusal as r:
        assert_named(r)
        new = None
    assert (state.schedule, state.baseline, state.preconditions, state.logical.body) == before
    if new is not None:
        assert new.schedule != state.schedule, f"{mutator.name} at {site} with {params} changed nothing"
        assert new.logical is state.logical and new.baseline == state.baseline
    return new


def assert_named(r: Refusal) -> None:
    """A code in kebab-case and a reason that a user can read."""
    assert r.code and all(c.islower() or c.isdigit() or c == "-" for c in r.code), r.code
    assert len(r.reason) > 10 and not r.reason.endswith("."), r.reason
    assert r.code in str(r) and r.reason in str(r)


def replays(mutator: Mutator, state: Scheduled, site: str, params: Mapping[str, ParamValue], new: Scheduled,
            catalogue: Mapping[str, Mutator]) -> None:
    """The gene survives JSON, replays to the same schedule, and prints the same text every time."""
    gene = Gene.make(mutator.name, site, **params)
    (again,) = from_json(to_json((gene,)))
    assert again == gene and hash(again) == hash(gene)
    replayed = express(state, (again,), catalogue, strict=True)
    assert replayed.effective == (gene,) and not replayed.refusals
    assert replayed.state.schedule == new.schedule and replayed.state.preconditions == new.preconditions
    program = emit(new)
    assert emit(new) == program == emit(replayed.state)
    assert new.unit.kernel.name in program.source and program.language == "cuda"
    assert program.launches[0].block == (new.schedule.block if not new.same_mapping else new.launch.block)


def legal(mutator: Mutator, state: Scheduled) -> Iterator[tuple[str, dict[str, ParamValue], Scheduled]]:
    """The tried choices that are legal, at every site."""
    for site in mutator.sites(state):
        for params in choices(mutator, state, site.name):
            new = try_one(mutator, state, site.name, params)
            if new is not None:
                yield site.name, params, new
