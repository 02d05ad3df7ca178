"""Positions of keys: against texts with known lines, and against tomllib on generated documents."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo.problem.locate import locate

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*/evo.toml"))


def paths(value: Any, at: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    """Every path of a parsed document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    out = {at} if at else set()
    for key, inner in items:
        out |= paths(inner, (*at, key))
    return out


def test_tables_keys_and_elements() -> None:
    text = "\n".join([
        "# a comment with [brackets] = 'and quotes",      # 1
        "[kernel]",                                       # 2
        'name = "x # no comment"',                        # 3
        "block = [16,",                                   # 4
        "  16, # comment, with a comma",                  # 5
        "  1]",                                           # 6
        "[sizes.opencl]",                                 # 7
        "tune = [{ M = 1, N = 2 },",                      # 8
        "        { M = 3 }]",                             # 9
        "[[runs]]",                                       # 10
        "a.'b c'.\"d\\u0065\" = '''",                     # 11
        "[not a table]",                                  # 12
        "'''",                                            # 13
        "[[runs]]",                                       # 14
        "a = 2020-01-01",                                 # 15
        "[runs.deep]",                                    # 16
        "z = true"])                                      # 17
    lines = locate(text)
    assert set(lines) == paths(tomllib.loads(text))
    for path, line in {("kernel",): 2, ("kernel", "name"): 3, ("kernel", "block", 0): 4, ("kernel", "block", 1): 5,
                       ("kernel", "block", 2): 6, ("sizes", "opencl"): 7, ("sizes", "opencl", "tune", 0, "N"): 8,
                       ("sizes", "opencl", "tune", 1, "M"): 9, ("runs", 0): 10, ("runs", 0, "a", "b c", "de"): 11,
                       ("runs", 1): 14, ("runs", 1, "a"): 15, ("runs", 1, "deep", "z"): 17}.items():
        assert lines[path] == line, path


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda f: f.parent.name)
def test_examples(file: Path) -> None:
    text = file.read_text()
    lines = locate(text)
    assert set(lines) | {("sizes",)} == paths(tomllib.loads(text)) | {("sizes",)}
    shown = text.splitlines()
    for path, line in lines.items():
        if isinstance(path[-1], str):
            assert path[-1] in shown[line - 1], path


TEXT = st.text("abAB09_-. é'\"\\#=[]{},\t", max_size=6)
KEYS = TEXT
LEAVES = st.integers(-9, 99) | st.booleans() | TEXT
VALUES = st.recursive(LEAVES, lambda v: st.lists(v, max_size=3) | st.dictionaries(KEYS, v, max_size=3), max_leaves=8)


def quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '"'


def write(value: Any, gap: str) -> str:
    """TOML text; ``gap`` goes where a line break or a comment may stand inside brackets."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, list):
        return f"[{gap}" + f",{gap}".join(write(v, gap) for v in value) + f"{gap}]"
    return "{" + ", ".join(f"{quote(k)} = {write(v, ' ')}" for k, v in value.items()) + "}"


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.sampled_from(["", " ", "\n", " # ]}\"'=\n"]))
def test_agrees_with_tomllib(document: dict[str, Any], gap: str) -> None:
    text = ""
    expected = {}
    for key, value in document.items():
        expected[(key,)] = text.count("\n") + 1
        text += f"{quote(key)} = {write(value, gap)}\n"
    lines = locate(text)
    assert set(lines) == paths(tomllib.loads(text))
    assert {k: v for k, v in lines.items() if len(k) == 1} == expected
