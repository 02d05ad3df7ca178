"""What a compile child hands to a device worker."""

from __future__ import annotations

from dataclasses import dataclass

from genome.program import Program
from gpu.records import Resources


@dataclass(frozen=True)
class Built:
    """A program's device binary. ``entries`` are the symbols to launch, one per launch of the program."""

    program: Program
    binary: bytes
    entries: tuple[str, ...]
    resources: Resources
    log: str = ""


class CompileError(Exception):
    """The compiler refused; the text is its message."""
