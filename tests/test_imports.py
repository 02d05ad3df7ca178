"""The direction of knowledge between the six packages, from the imports in their source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EVERYTHING = {"genome", "mutators", "surrogate", "gpu", "results", "evo"}
# a package may import itself and these; entries with a dot are single modules
ALLOWED: dict[str, set[str]] = {
    "genome": set(),
    "mutators": {"genome"},
    "surrogate": {"genome"},
    "gpu": {"genome"},
    "results": {"genome", "gpu.records", "gpu.interface"},
    "evo": EVERYTHING,
}


def imported(tree: ast.AST) -> list[tuple[int, str]]:
    """Line and full name of every module of ours that is imported, also inside functions and for type checking."""
    out = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            out += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            out += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return [(line, name) for line, name in out if name.split(".")[0] in EVERYTHING]


def permitted(package: str, name: str) -> bool:
    return any(name == p or name.startswith(p + ".") for p in {package, *ALLOWED[package]})


@pytest.mark.parametrize("package", sorted(EVERYTHING))
def test_direction(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    wrong = [f"{f.relative_to(ROOT)}:{line}: {package} imports {name}" for f in files
             for line, name in imported(ast.parse(f.read_text(encoding="utf-8"))) if not permitted(package, name)]
    assert not wrong, "\n".join(wrong)


def test_finds_what_is_forbidden() -> None:
    text = "import os\ndef f():\n    from gpu.opencl import facts\nimport evo.engine as e\nfrom gpu import records\n"
    names = imported(ast.parse(text))
    assert sorted(names) == [(3, "gpu.opencl.facts"), (4, "evo.engine"), (5, "gpu.records")]
    assert sorted(n for _, n in names if not permitted("results", n)) == ["evo.engine", "gpu.opencl.facts"]
    assert not permitted("genome", "gpu.records") and not permitted("results", "gpu.recordsx")
