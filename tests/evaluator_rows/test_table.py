"""docs/evaluator-fixtures.md and the fixtures say the same, in both directions."""

from __future__ import annotations

import re
from pathlib import Path

from tests.evaluator_rows.wrong import ROWS_OF_THE_TABLE

ROOT = Path(__file__).resolve().parents[2]
IDS = [f"C{n}" for n in range(1, 26)] + [f"T{n}" for n in (1, 2, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 18, 19, 21, 22, 23,
                                                           28)]
NAMED = re.compile(r"^def (test_((?:[CT]\d+_)+)\w+)", re.M)


def fixtures() -> dict[str, set[str]]:
    """What the tests have for each id, as the table writes it."""
    found: dict[str, set[str]] = {}
    files = [*(ROOT / "tests" / "evaluator_rows").glob("test_*.py"), ROOT / "tests" / "gpu" / "test_rows.py"]
    for file in files:
        place = file.name if file.parent.name == "evaluator_rows" else f"gpu/{file.name}"
        for test, ids in NAMED.findall(file.read_text(encoding="utf-8")):
            for name in ids.strip("_").split("_"):
                found.setdefault(name, set()).add(f"{place}::{test}")
    for row in ROWS_OF_THE_TABLE:
        found.setdefault(row.id, set()).add(f"wrong.py: {row.what}")
    return found


def table() -> dict[str, tuple[set[str], str]]:
    """id -> (fixtures, verdict)."""
    result = {}
    for line in (ROOT / "docs" / "evaluator-fixtures.md").read_text(encoding="utf-8").splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if re.fullmatch(r"[CT]\d+", cells[0]):
            assert len(cells) == 4 and cells[0] not in result, line
            result[cells[0]] = set(re.findall(r"`([^`]+)`", cells[2])), cells[3]
    return result


def test_every_row_has_a_line_with_a_verdict() -> None:
    assert list(table()) == IDS
    assert all(verdict and found for found, verdict in table().values())


def test_table_and_fixtures_agree() -> None:
    written, there = table(), fixtures()
    assert {k: v for k, (v, _) in written.items()} == there


def test_rows_are_told_apart() -> None:
    assert len({str(row) for row in ROWS_OF_THE_TABLE}) == len(ROWS_OF_THE_TABLE)
