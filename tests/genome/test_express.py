"""Genomes applied: strictly, or with refused genes dropped; and the programs that come of it."""

from __future__ import annotations

import pytest

from genome.errors import Refusal
from genome.express import emit, express
from genome.scheduled import Limits
from mutators.catalogue import CATALOGUE
from tests.helpers.kernels import EXAMPLES, applied, block, coarsen, composite, example, gene, loads_first, stage, tile
from tests.helpers.nvrtc import compile_ptx

GENOME = (block(x=32, y=8), tile("q", 8), gene("Nonsense", "x"), tile("k", 8), stage("A", "k.o"), coarsen("x", 64))


def test_strict_raises_at_the_first_illegal_gene() -> None:
    with pytest.raises(Refusal) as r:
        express(example("sgemm"), GENOME, CATALOGUE, strict=True)
    assert (r.value.gene, r.value.code) == (1, "no-such-loop")
    assert str(r.value).startswith("gene 1: no-such-loop: there is no canonical loop 'q'")


def test_search_drops_what_is_refused_and_says_why() -> None:
    done = express(example("sgemm"), GENOME, CATALOGUE, strict=False)
    assert done.effective == (GENOME[0], GENOME[3], GENOME[4], GENOME[5])
    assert [(r.gene, r.code) for r in done.refusals] == [(1, "no-such-loop"), (2, "unknown-mutator")]
    again = express(example("sgemm"), done.effective, CATALOGUE, strict=True)
    assert again.state.schedule == done.state.schedule and emit(again.state) == emit(done.state)


def test_the_empty_genome_is_the_users_text() -> None:
    state = example("sgemm")
    done = express(state, (), CATALOGUE, strict=True)
    program = emit(done.state)
    assert done.state is state and program.launches == (state.launch,) and program.preconditions == ()
    assert "acc += A[row * K + k] * B[k * N + col];" in program.source


def test_programs_know_their_launch() -> None:
    state = applied(example("sgemm"), block(x=32, y=4), coarsen("y", 4))
    (launch,) = emit(state).launches
    assert launch.block == (32, 4, 1) and launch.grid_at({"M": 100, "N": 65}) == (3, 7, 1)
    assert emit(state).preconditions == state.preconditions != ()


def test_shared_memory_past_the_static_limit_is_dynamic() -> None:
    from dataclasses import replace

    base = replace(example("sgemm"), limits=Limits(shared_bytes=101376))
    state = applied(base, coarsen("x", 8), coarsen("y", 8), tile("k", 64), stage("A", "k.o"), stage("B", "k.o"))
    program = emit(state)
    assert program.launches[0].shared_bytes == 64 * 128 * 4 * 2 and "extern __shared__" in program.source
    assert "sgemm" in compile_ptx(program.source)
    opencl = emit(state, "opencl")
    assert opencl.language == "opencl" and opencl.launches[0].shared_bytes == 0 and "__local" in opencl.source


@pytest.mark.parametrize("name", EXAMPLES)
def test_keys_tell_programs_apart(name: str) -> None:
    state = example(name)
    first = state.schedule.order[0]
    programs = [emit(state), emit(state, "opencl"), emit(applied(state, coarsen(first, 2))),
                emit(applied(state, coarsen(first, 2, "strided")))]
    assert len({p.key for p in programs}) == 4


def test_composite_replaces_earlier_values() -> None:
    state = applied(example("sgemm_wrong_axes"), *composite())
    assert state.schedule.axis("x").items == 8 and state.schedule.axis("x").mode == "fragments"
    without = [g for g in composite() if g != coarsen("x", 4)]
    assert len(without) == 9 and emit(applied(example("sgemm_wrong_axes"), *without)) == emit(state)


def test_refused_genes_leave_no_trace() -> None:
    state = example("transpose")
    done = express(state, (loads_first("out"), coarsen("x", 3, "fragments", 2)), CATALOGUE, strict=False)
    assert done.state is state and done.effective == () and len(done.refusals) == 2
