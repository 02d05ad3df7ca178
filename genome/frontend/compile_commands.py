"""Include folders and macros of a file from the project's ``compile_commands.json``."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from genome.errors import InputError

NAME = "compile_commands.json"


def find(path: Path) -> Path | None:
    """The database of the project that ``path`` is in: in a folder above it, or in that folder's ``build``."""
    for folder in path.resolve().parents:
        for place in (folder / NAME, folder / "build" / NAME):
            if place.is_file():
                return place
    return None


def flags_of(path: Path, database: Path) -> tuple[tuple[str, ...], dict[str, str]]:
    """(include folders, macros) with which the database compiles ``path``; nothing where it does not name it.
    Raises :class:`InputError` where the database cannot be read."""
    try:
        entries = json.loads(database.read_text(encoding="utf-8"))
        found = next((e for e in entries if (Path(e["directory"]) / e["file"]).resolve() == path.resolve()), None)
        if found is None:
            return (), {}
        words = found["arguments"] if "arguments" in found else shlex.split(found["command"])
        folder = Path(found["directory"])
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise InputError(f"cannot be read: {e}", file=str(database), remedy="let the build tool write it anew") from e
    include: list[str] = []
    defines: dict[str, str] = {}
    rest = [str(w) for w in words]
    while rest:
        word = rest.pop(0)
        for option in ("-I", "-isystem", "--include-path", "-D", "--define-macro"):
            if word != option and not (word.startswith(option) and (len(option) == 2 or word[len(option)] == "=")):
                continue
            value = word[len(option):].removeprefix("=") or (rest.pop(0) if rest else "")
            if option in ("-D", "--define-macro"):
                defines.update([split_define(value)])
            elif value:
                include.append(str((folder / value).resolve()))
            break
    return tuple(include), defines


def split_define(text: str) -> tuple[str, str]:
    """``"N=4"`` → ``("N", "4")``; a bare name is 1, as compilers have it."""
    name, _, value = text.partition("=")
    return name, value if "=" in text else "1"
