"""From a path to a parsed source, kept while the same file is asked for again (one kernel after the other)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from genome.errors import InputError
from genome.frontend.preprocess import decoded, expand_file
from genome.frontend.source import Source, parse

SOURCES = (".cu", ".cuh", ".h", ".hpp", ".hh", ".inc", ".cpp")


def read_source(path: str | Path, defines: Mapping[str, object], include: Sequence[str] = ()) -> Source:
    """The expanded and parsed file. Raises :class:`InputError`."""
    try:
        stat = os.stat(path)
    except OSError as e:
        raise InputError(f"cannot be read: {e.strerror or e}", file=str(path),
                         remedy="name an existing .cu file") from e
    return _read(str(path), stat.st_mtime_ns, stat.st_size, tuple(defines.items()), tuple(include))


@lru_cache(maxsize=4)
def _read(file: str, modified: int, size: int, defines: tuple[tuple[str, object], ...],
          include: tuple[str, ...]) -> Source:
    try:
        data = Path(file).read_bytes()
    except OSError as e:
        raise InputError(f"cannot be read: {e.strerror or e}", file=file, remedy="name an existing .cu file") from e
    if b"\0" in data:
        raise InputError("this is a binary file", file=file, remedy="name a .cu source file")
    expanded = expand_file(decoded(data), file, dict(defines), include)
    return parse(expanded.text, file, expanded)
