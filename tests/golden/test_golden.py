"""Golden source: what each mutator makes of small kernels, readable and compiled. ``--update-golden`` writes anew."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mutators.catalogue import CATALOGUE
from tests.golden.cases import CASES, Case
from tests.helpers.nvrtc import compile_ptx

FOLDER = Path(__file__).parent


def test_every_mutator_has_cases() -> None:
    counts = Counter(c.mutator for c in CASES)
    assert set(CATALOGUE) | {"composite"} == set(counts)
    assert all(counts[n] >= 2 for n in CATALOGUE)
    for c in CASES:
        assert c.mutator == "composite" or any(g.mutator == c.mutator for g in c.genes)
    assert len(next(c for c in CASES if c.mutator == "composite").genes) == 10


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.file)
def test_source(case: Case, request: pytest.FixtureRequest) -> None:
    path, text = FOLDER / case.file, case.text()
    if request.config.getoption("--update-golden"):
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), "write it with --update-golden"
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.file)
def test_compiles(case: Case) -> None:
    program = case.program()
    ptx = compile_ptx((FOLDER / case.file).read_text(encoding="utf-8"))
    assert f".entry {program.launches[0].kernel}(" in ptx


def test_no_file_is_left_over() -> None:
    assert {p.name for p in FOLDER.glob("*.cu")} == {c.file for c in CASES}
