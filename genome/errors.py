"""The two ways in which evo says no: a refusal of a transform, and an error in what the user handed over."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Loc:
    """A place in the user's file; lines and columns count from 1, 0 means unknown."""

    line: int = 0
    column: int = 0


class Refusal(Exception):
    """A transform was asked for where it is not legal, or not proved legal.

    ``code`` is a stable identifier (one per cause, kebab-case: ``tile-carries-dependence``), ``reason`` is in the
    user's terms, ``loc`` is the place in the user's file, ``gene`` the index in the genome once that is known.
    """

    def __init__(self, code: str, reason: str, loc: Loc | None = None, gene: int | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.loc = loc or Loc()
        self.gene = gene

    def __str__(self) -> str:
        where = f" (line {self.loc.line})" if self.loc.line else ""
        which = f"gene {self.gene}: " if self.gene is not None else ""
        return f"{which}{self.code}: {self.reason}{where}"


class InputError(Exception):
    """Wrong use or input: one clear line with file, line and remedy; the command ends with exit code 2."""

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None, remedy: str = "") -> None:
        self.message, self.file, self.line, self.remedy = message, file, line, remedy
        place = "" if file is None else f"{file}:{line}: " if line else f"{file}: "
        super().__init__(place + message + (f" ({remedy})" if remedy else ""))
