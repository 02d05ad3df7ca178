"""The corpus of small kernels: how to load each, and PTX that can be compared."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from benchmarks._ptx import CompileFailed
from benchmarks._ptx import ptx as canonical_ptx
from genome.unit import SourceUnit, list_kernels, load_unit

FOLDER = Path(__file__).parent
# files with several kernels each, in the styles that people write
STYLES = ("barriers", "block_work", "c_style", "control_flow", "cooperative", "data_types", "generic", "library_user",
          "low_level", "macro_heavy", "macro_loops", "methods", "more_shapes", "pointers", "templated", "walkers")
FILES = sorted(p.stem for p in FOLDER.glob("*.cu"))
NAMES = [f for f in FILES if f not in STYLES]
INSTANCES = {"two_kernels": "second", "template_type": "template_type<float>"}
CASES = NAMES + [f"{f}:{k.name}" for f in STYLES for k in list_kernels(FOLDER / f"{f}.cu")]


def load(name: str, **options: bool) -> SourceUnit:
    """The kernel of a case: ``file`` or ``file:kernel``."""
    file, _, kernel = name.partition(":")
    return load_unit(FOLDER / f"{file}.cu", kernel or INSTANCES.get(name), **options)


@cache
def ptx(source: str) -> str:
    """PTX for compute_90 in canonical form: without comments and debug lines, symbols numbered as they appear."""
    pytest.importorskip("cuda.bindings.nvrtc")
    try:
        return canonical_ptx(source)
    except CompileFailed as e:
        raise AssertionError(f"does not compile: {e}\n{source}") from e
