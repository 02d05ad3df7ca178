"""Tunable parameters as a search space: restrictions, admissible combinations, genomes, encoding."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from evo.search.draws import Draws
from evo.tuning import restrictions
from evo.tuning.encode import encode
from evo.tuning.parameters import Parameters
from evo.tuning.replay import recorded_space
from evo.tuning.space import MUTATOR, TuningSpace
from genome.errors import InputError
from genome.gene import Gene
from gpu.replay import load_space
from gpu.replay.program import program, values

CUT = Path(__file__).parent.parent / "data" / "convolution-cut.json.gz"

CONVOLUTION = ("use_padding==0 or block_size_x % 32 != 0", "block_size_x*block_size_y<=1024",
               "use_padding==0 or use_shmem != 0",
               "use_shmem == 0 or ((block_size_x*tile_size_x+(filter_width-1))"
               "*(block_size_y*tile_size_y+(filter_height-1))) < 12*1024")


def holds(text: str, **columns: list[object]) -> list[bool]:
    return restrictions.parse(text).holds({k: np.asarray(v) for k, v in columns.items()}).tolist()


@pytest.mark.parametrize("text", ["a % b == 0", "32 <= a * b <= 96", "not a == 4 or b > 1", "a / b == 2",
                                  "b % (a / 8) == 0", "a if b > 2 else a > 6", "min(a, b) + max(a, b) < abs(-12)",
                                  "a == 0 or b % a == 0", "a != 0 and b // a > 0", "-a + +b >= 0", "a ** 2 > 30"])
def test_restrictions_mean_what_they_mean_in_python(text: str) -> None:
    pairs = list(itertools.product((0, 1, 4, 8, 12), (1, 2, 3, 8, 16)))
    expected = []
    for a, b in pairs:
        try:
            expected.append(bool(eval(text, {"a": a, "b": b, "min": min, "max": max, "abs": abs})))
        except ZeroDivisionError:
            expected.append(False)
    assert holds(text, a=[p[0] for p in pairs], b=[p[1] for p in pairs]) == expected
    assert True in expected and False in expected


def test_texts_compare() -> None:
    assert holds("layout == 'row' or n > 1", layout=["row", "col", "col"], n=[1, 1, 2]) == [True, False, True]


@pytest.mark.parametrize("text", ["__import__('os')", "a.b", "a[0]", "lambda: 1", "print(a)", "a =", "max(a)",
                                  "[x for x in a]", "a | b", "None"])
def test_nothing_else_evaluates(text: str) -> None:
    with pytest.raises(InputError):
        restrictions.parse(text)


def test_sidecar_files(tmp_path: Path) -> None:
    lines, listed = tmp_path / "a.restrictions", tmp_path / "b.restrictions"
    lines.write_text("# device limits\na*b <= 64  # threads\n\na > 1\n")
    listed.write_text('["a*b <= 64", "a > 1"]')
    assert [r.text for r in restrictions.load(lines)] == [r.text for r in restrictions.load(listed)]
    listed.write_text("[1]")
    with pytest.raises(InputError, match="b.restrictions"):
        restrictions.load(listed)


def test_admissible_is_the_filtered_product() -> None:
    p = Parameters({"a": (1, 2, 4, 8), "b": (1, 2, 3), "kind": ("x", "y")})
    rows = p.admissible([restrictions.parse("a % b == 0"), restrictions.parse("kind == 'x' or a > 2")])
    found = [p.configuration(r) for r in rows]
    assert found == [c for c in itertools.product(*p.values.values()) if c[0] % c[1] == 0 and (c[2] == "x" or c[0] > 2)]
    assert np.array_equal(p.rows(found), rows)


def test_the_recorded_space_is_what_its_restrictions_admit() -> None:
    """The record's authors ran every admissible configuration: our reading of the restrictions must give theirs."""
    record = load_space(CUT)
    p = Parameters(record.parameters)
    admitted = {p.configuration(r) for r in p.admissible([restrictions.parse(t) for t in CONVOLUTION])}
    assert admitted == set(record.entries)


def test_unknown_names_and_hopeless_restrictions_are_input_errors() -> None:
    record = load_space(CUT)
    with pytest.raises(InputError, match="warp"):
        recorded_space(record, [restrictions.parse("warp == 32")])
    with pytest.raises(InputError, match="no combination"):
        recorded_space(record, [restrictions.parse("block_size_x == 1")])
    with pytest.raises(InputError, match="warp"):
        Parameters({"a": (1,)}).admissible([restrictions.parse("warp == 32")])


def space() -> TuningSpace:
    p = Parameters({"a": (1, 2, 4), "b": (1, 2, 4), "kind": ("x", "y")})
    rows = p.admissible([restrictions.parse("a == b")])
    return TuningSpace(p, rows, lambda v: program("k", v))


def test_equal_configurations_have_equal_genomes() -> None:
    s = space()
    one = s.express((Gene.make(MUTATOR, "b", value=4), Gene.make(MUTATOR, "a", value=4)))
    two = s.express(tuple(Gene.make(MUTATOR, n, value=v) for n, v in (("a", 2), ("a", 4), ("b", 4))))
    assert one.key == two.key and one.genome == two.genome and not one.refusals
    assert values(s.program(one)) == {"a": 4, "b": 4, "kind": "x"}
    assert s.express(one.genome).key == one.key
    assert s.express((Gene.make(MUTATOR, "a", value=1),)).genome == ()


def test_a_pair_is_admissible_where_neither_gene_is_alone() -> None:
    s = space()
    alone = s.express((Gene.make(MUTATOR, "a", value=2), Gene.make(MUTATOR, "kind", value="y")))
    assert [g.site for g, _ in alone.refusals] == ["a"] and [r.code for _, r in alone.refusals] == ["restriction"]
    assert [g.site for g in alone.genome] == ["kind"]
    assert not s.express((Gene.make(MUTATOR, "a", value=2), Gene.make(MUTATOR, "b", value=2))).refusals


def test_foreign_genes_are_refused_by_name() -> None:
    s = space()
    genes = (Gene.make("UnrollLoop", "k", factor=2), Gene.make(MUTATOR, "a", value=3), Gene.make(MUTATOR, "c", value=1))
    codes = [r.code for _, r in s.express(genes).refusals]
    assert codes == ["no-such-parameter", "value-outside-domain", "no-such-parameter"]


def test_domains_leave_the_default_out_and_sketches_are_admissible() -> None:
    s = space()
    here = s.express(())
    assert s.domain(here, MUTATOR, "a") == {"value": (2, 4)}
    assert {p.site for p in s.places(here)} == {"a", "b", "kind"}
    draws = Draws(1)
    drawn = [s.express(s.sketch(s.sketches[0], draws)) for _ in range(50)]
    assert not any(x.refusals for x in drawn) and len({x.key for x in drawn}) == 6


def test_the_default_must_be_admissible() -> None:
    p = Parameters({"a": (1, 2)})
    with pytest.raises(InputError, match="default"):
        TuningSpace(p, p.rows([(1,)]), lambda v: program("k", v), default=(2,))


def test_encoding() -> None:
    p = Parameters({"a": (1, 2, 4, 8), "fixed": (7,), "kind": ("x", "y", "z"), "zero": (0, 5), "half": ("0.5", "2.0")})
    x = encode(p, p.admissible([]))
    assert x.shape == (48, 1 + 3 + 1 + 1) and x.min() == 0.0 and x.max() == 1.0
    assert np.allclose(np.unique(x[:, 0]), [0, 1 / 3, 2 / 3, 1])  # powers of two are equidistant
    assert np.array_equal(x[:, 1:4].sum(axis=1), np.ones(48))


def test_threads_are_a_coordinate_of_their_own() -> None:
    p = Parameters({"block_size_x": (16, 32), "block_size_y": (1, 2, 4), "tile": (1, 2)})
    rows = p.admissible([])
    assert encode(p, rows).shape[1] == 3
    x = encode(p, rows, ("block_size_x", "block_size_y"))
    same = [i for i, r in enumerate(rows) if p.configuration(r)[:2] in ((16, 2), (32, 1))]
    assert x.shape[1] == 4 and np.ptp(x[same, 3]) == pytest.approx(0.0)
