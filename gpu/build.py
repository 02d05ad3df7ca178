"""What a compile child hands to a device worker."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

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
    flags: tuple[str, ...] = ()  # the user's, as this was built with
    digest: str = ""  # SHA-256 of the binary, taken by its builder

    def mismatch(self, flags: tuple[str, ...]) -> str:
        """Why this is not what was asked for (evaluator.md C18, C19), or ""."""
        if self.flags != flags:
            return f"built with the flags {' '.join(self.flags) or 'none'}, asked for are {' '.join(flags) or 'none'}"
        if hashlib.sha256(self.binary).hexdigest() != self.digest:
            return "the binary is not the one that was built"
        return ""

    def sealed(self, flags: tuple[str, ...]) -> Built:
        """With what :meth:`mismatch` looks at."""
        return replace(self, flags=flags, digest=hashlib.sha256(self.binary).hexdigest())


class CompileError(Exception):
    """The compiler refused; the text is its message."""
