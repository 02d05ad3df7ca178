"""A persistent cache of builds on disk: one file per key, written to a temporary name and renamed."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path

from genome.program import Program
from gpu.build import Built
from gpu.records import Resources


def default_folder() -> Path:
    """The user's cache folder for this program (XDG base directories)."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "evo", "builds")


def key(program: Program, parts: tuple[str, ...]) -> str:
    """``parts``: everything beside source and launches that the binary depends on (flags, architecture, compiler)."""
    text = repr((program.source, program.launches, program.language, program.select, parts))
    return hashlib.sha256(text.encode()).hexdigest()


HEADERS = (".h", ".cuh", ".hpp", ".inl", ".cl", ".cu")
MOST_HEADERS = 5000


def headers(flags: tuple[str, ...]) -> str:
    """What the user's own header folders (``-I``) hold: a header that was edited must not meet an old binary
    (evaluator.md C19). Sizes and times of modification are taken for their content."""
    digest = hashlib.sha256()
    folders = [f[2:] or after for f, after in zip(flags, (*flags[1:], ""), strict=False) if f.startswith("-I")]
    for folder in folders:
        found = sorted(p for p in Path(folder).rglob("*") if p.suffix in HEADERS) if Path(folder).is_dir() else []
        for path in found[:MOST_HEADERS]:
            try:
                stat = path.stat()
            except OSError:
                continue  # a dangling link: the compiler will not find it either
            digest.update(f"{path} {stat.st_size} {stat.st_mtime_ns}".encode())
    return digest.hexdigest()


class Cache:
    """Unreadable or damaged entries count as absent; a full disk only costs the caching."""

    def __init__(self, folder: str | None) -> None:
        self.folder = Path(folder) if folder else default_folder()

    def get(self, name: str, program: Program) -> Built | None:
        try:
            blob = self._path(name).read_bytes()
            head, _, binary = blob.partition(b"\n")
            fields = json.loads(head)
            if fields["sha256"] != hashlib.sha256(binary).hexdigest():
                return None
            return Built(program, binary, tuple(fields["entries"]), Resources(**fields["resources"]), fields["log"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, name: str, built: Built) -> None:
        head = {"sha256": hashlib.sha256(built.binary).hexdigest(), "entries": built.entries,
                "resources": asdict(built.resources), "log": built.log}
        path = self._path(name)
        temporary = ""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            with os.fdopen(fd, "wb") as file:
                file.write(json.dumps(head).encode() + b"\n" + built.binary)
            os.replace(temporary, path)
        except OSError:
            if temporary:
                Path(temporary).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self.folder / name[:2] / name[2:]
