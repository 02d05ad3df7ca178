"""Every refusal has a test: the code, the reason in the user's terms, the line. A code without a test fails here."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from genome.build import build_logical
from tests.helpers.kernels import ROOT, line_of, refusal, scheduled
from tests.mutators import refusal_loops, refusal_mapping, refusal_split, refusal_stages
from tests.mutators.refusal_base import Refused, one

CASES: tuple[Refused, ...] = (*refusal_mapping.CASES, *refusal_loops.CASES, *refusal_stages.CASES,
                             *refusal_split.CASES)
SOURCES = [*sorted((ROOT / "mutators").glob("*.py")),
           *(ROOT / "genome" / f"{n}.py" for n in (
               "footprint", "scheduled", "independence", "build", "express", "split"))]
# Causes that stand behind another one, which is what a user is told first: (source, words of the reason).
BEHIND = {
    "local-pointer": (one("const float* p = a[x] > 0.0f ? a : b; // here\nb[x] = p[x];"),
                      "p is a pointer that could not be turned into a subscript"),
    "pointer-dereference": (one("b[x] = *(a + x); // here"),
                            "a pointer is dereferenced in a form that is not a subscript"),
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_refused(case: Refused) -> None:
    r = refusal(case.state(), *case.genes)
    assert r.code == case.code, str(r)
    rest = r.reason
    for words in case.words:
        assert words in rest, r.reason
        rest = rest[rest.index(words) + len(words):]
    assert r.loc.line == case.line, str(r)
    assert r.gene == 0 and str(r).startswith(f"gene 0: {r.code}: ")


@pytest.mark.parametrize("code", BEHIND)
def test_blockers_behind_the_first(code: str) -> None:
    source, words = BEHIND[code]
    state = scheduled(source)
    # As loaded, before the normal forms turn pointers into subscripts.
    first, *rest = build_logical(state.unit.kernel, state.workload, state.launch).blockers
    assert first.code == "pointer-escapes"
    (r,) = [r for r in rest if r.code == code]
    assert words in r.reason and r.loc.line == line_of(source, "// here")


def codes(path: Path) -> set[str]:
    """Codes that a file can raise: first arguments of Refusal(...), of the blockers' block(...), and the codes that
    are handed to shared checks."""
    out: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in ("Refusal", "block") and node.args:
            text = node.args[0]
        elif name in ("unit_step", "simple_bounds"):
            text = node.args[-1]
        else:
            continue
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            out.add(text.value)
    return out


def all_codes() -> set[str]:
    return set[str]().union(*(codes(p) for p in SOURCES))


def test_every_code_has_a_test() -> None:
    found = all_codes()
    assert len(found) > 60 and {"tile-loop-not-unit-step", "own-barrier", "stage-order"} <= found
    covered = {c.code for c in CASES} | set(BEHIND)
    assert not found - covered, f"no test refuses with {sorted(found - covered)}"
    assert not covered - found, f"no code raises {sorted(covered - found)}"
