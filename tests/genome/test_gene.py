"""Genes and genomes as data."""

from __future__ import annotations

import pytest

from genome.gene import Gene, from_json, genome_key, to_json
from tests.helpers.kernels import composite


def test_parameters_are_sorted_and_hashable() -> None:
    a = Gene.make("M", "s", b=1, a="x", c=[1, 2])  # type: ignore[arg-type]
    assert a == Gene.make("M", "s", c=(1, 2), a="x", b=1) and len({a, a}) == 1
    assert a.params == (("a", "x"), ("b", 1), ("c", (1, 2)))
    assert a.as_dict() == {"a": "x", "b": 1, "c": (1, 2)}


def test_text() -> None:
    assert str(Gene.make("TileLoops", "k", size=8)) == "TileLoops(k: size=8)"
    assert str(Gene.make("M", "s")) == "M(s)"


def test_json() -> None:
    genome = composite()
    text = to_json(genome)
    assert from_json(text) == genome and "\n" not in text
    assert to_json(()) == "[]" and from_json("[]") == ()
    assert text.startswith('[["CoalesceMemoryAccess","threads",{"order":"yx"}],')


@pytest.mark.parametrize("text", ["[[1]]", '[["M","s"]]', '[["M","s",3]]', "[3]", '[["M","s",[1]]]', "{", "", "7"])
def test_what_is_no_genome(text: str) -> None:
    with pytest.raises(ValueError):
        from_json(text)


def test_keys() -> None:
    genome = composite()
    assert genome_key(genome) == genome_key(from_json(to_json(genome))) != genome_key(genome[:-1])
    assert genome_key(genome) != genome_key(genome[::-1])
    assert len(genome_key(())) == 16 and int(genome_key(()), 16) >= 0
