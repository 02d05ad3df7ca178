"""Rows under a vocabulary that grows, and the distance that keeps near-duplicates out of a batch."""

from __future__ import annotations

import math

import numpy as np
import pytest

from genome.gene import Gene
from surrogate.features import Vocabulary, distance, nearest

A = (Gene.make("Tile", "k", size=16), Gene.make("Block", "b", shape=(32, 8), mode="strided"))
B = (Gene.make("Tile", "k", size=32),)


def test_a_later_column_is_missing_in_earlier_rows_and_counts_are_zero() -> None:
    v = Vocabulary()
    first = v.row({"threads": 256.0}, B)
    width = v.matrix([first]).shape[1]
    second = v.row({"threads": 64.0, "bytes": 3.0}, A)
    m = v.matrix([first, second])
    assert m.shape[1] > width
    assert m[0, v.columns["param Tile k size"]] == 32 and m[1, v.columns["param Tile k size"]] == 16
    assert math.isnan(m[0, v.columns["static bytes"]]) and m[0, v.columns["count Block"]] == 0
    assert math.isnan(m[0, v.columns["param Block b shape"]])
    assert list(v.matrix([first])[0][:width]) == pytest.approx(list(m[0][:width]), nan_ok=True)


def test_text_and_tuples_become_numbers() -> None:
    v = Vocabulary()
    row = v.row({}, A)
    assert row["param Block b shape"] == 256 and row["param Block b shape 0"] == 32
    assert row["param Block b mode"] == 0.0
    other = v.row({}, (Gene.make("Block", "b", mode="blocked"),))
    assert other["param Block b mode"] == 1.0
    assert v.row({"x": math.nan, "y": math.inf}, ()) == {"genes": 0.0}


def test_the_vocabulary_survives_its_text() -> None:
    v = Vocabulary()
    row = v.row({"threads": 1.0}, A)
    w = Vocabulary.from_json(v.to_json())
    assert np.array_equal(v.matrix([row]), w.matrix([row]), equal_nan=True) and w.codes == v.codes
    with pytest.raises(ValueError):
        Vocabulary.from_json('{"version": 99, "columns": [], "codes": {}}')


def test_distance_sees_parameters_and_genes_but_not_static_features() -> None:
    v = Vocabulary()
    a, same = v.row({"threads": 1.0}, A), v.row({"threads": 9.0}, A)
    other = v.row({}, (Gene.make("Tile", "k", size=32), A[1]))
    assert distance(a, same) == 0.0
    assert 0.0 < distance(a, other) < distance(a, v.row({}, ())) <= 1.0
    assert nearest(a, []) == 1.0 and nearest(a, [other, same]) == 0.0
