"""docs/mutators.md says what the catalogue and the checks do: all mutators, parameters and refusal codes, no others."""

from __future__ import annotations

import re

import pytest

from genome.workload import Exactness
from mutators.catalogue import CATALOGUE
from tests.helpers.kernels import ROOT
from tests.mutators.test_refusals import all_codes

TEXT = (ROOT / "docs" / "mutators.md").read_text(encoding="utf-8")
ROWS = {cells[0].strip(): cells for cells in (line.strip("|").split("|") for line in TEXT.split("\n")
                                              if line.startswith("| ") and not line.startswith("| `"))}
WORDS = {Exactness.EXACT: "exact", Exactness.REASSOCIATES: "reassociates", Exactness.APPROXIMATES: "approximates"}


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_table_says_what_is_declared(name: str) -> None:
    mutator = CATALOGUE[name]
    _, change, _, parameters, direction, exactness = (c.strip() for c in ROWS[name])
    assert change.replace("`", "") == mutator.summary
    assert direction == mutator.direction.value and exactness.split()[0] == WORDS[mutator.exactness]
    assert {p.name for p in mutator.parameters} <= set(re.findall(r"`(\w+)`", parameters))


def test_catalogue_and_table_have_the_same_names() -> None:
    assert {n for n in ROWS if n[:1].isupper()} == set(CATALOGUE)


def test_every_code_is_explained_and_none_is_invented() -> None:
    listed = re.findall(r"`([a-z]+(?:-[a-z]+)+|opaque|volatile)`", TEXT)
    assert set(listed) == all_codes()
    rows = [c for line in TEXT.split("\n") if line.startswith("| `") for c in re.findall(
        r"`([a-z-]+)`", line.split("|")[1])]
    assert sorted(rows) == sorted(set(rows)), "a code has two rows"
    assert set(rows) == all_codes()
