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
    folder, rest = _words(path, database)
    include: list[str] = []
    defines: dict[str, str] = {}
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


def compiler_flags(path: Path, database: Path) -> tuple[str, ...]:
    """Those of the file's other flags that decide what device code computes or how it is compiled: arithmetic,
    language, registers. Raises :class:`InputError` as :func:`flags_of` does."""
    _, rest = _words(path, database)
    out: list[str] = []
    while rest:
        word = rest.pop(0)
        if word in SEPARATE:
            value = rest.pop(0) if rest else ""
            out.append(f"{word}={value}")
        elif word.split("=")[0] in DEVICE:
            out.append(word)
    return tuple(out)


DEVICE = frozenset(f"{dashes}{name}" for dashes in ("-", "--") for name in (
    "use_fast_math", "fmad", "ftz", "prec-div", "prec-sqrt", "std", "maxrregcount", "extra-device-vectorization"))
SEPARATE = frozenset({"-fmad", "--fmad", "-ftz", "--ftz", "-prec-div", "--prec-div", "-prec-sqrt", "--prec-sqrt",
                      "-std", "--std", "-maxrregcount", "--maxrregcount"})  # with the value as a word of its own


def _words(path: Path, database: Path) -> tuple[Path, list[str]]:
    """The folder that ``path`` is compiled in and the words of the command; no words where it is not named."""
    try:
        entries = json.loads(database.read_text(encoding="utf-8"))
        found = next((e for e in entries if (Path(e["directory"]) / e["file"]).resolve() == path.resolve()), None)
        if found is None:
            return Path(), []
        words = found["arguments"] if "arguments" in found else shlex.split(found["command"])
        return Path(found["directory"]), [str(w) for w in words]
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise InputError(f"cannot be read: {e}", file=str(database), remedy="let the build tool write it anew") from e


def split_define(text: str) -> tuple[str, str]:
    """``"N=4"`` → ``("N", "4")``; a bare name is 1, as compilers have it."""
    name, _, value = text.partition("=")
    return name, value if "=" in text else "1"
