"""OpenCL C 1.2 from the IR."""

from __future__ import annotations

from typing import Any

from genome import ir
from genome.errors import Refusal


def print_unit(unit: Any, kernel: ir.Kernel) -> str:
    raise Refusal("opencl-untranslatable", "not yet")
