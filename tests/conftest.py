"""What all tests share: devices that are looked for once, and tests that need one skipped where there is none."""

from __future__ import annotations

from functools import cache

import pytest

from evo.probes import probe


@cache
def cuda_missing() -> str:
    """Why tests marked ``gpu`` cannot run here; empty where they can."""
    for name in ("gpu", "pycuda"):
        answer = probe(name)
        if not answer.ok:
            return answer.text
    return ""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/*.cu anew instead of comparing")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and (why := cuda_missing()):
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=f"needs an NVIDIA GPU: {why}"))
