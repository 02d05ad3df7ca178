"""Kernel Tuner's cache files as JSON: plain or gzip, with an end that was never written supplied."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from genome.errors import InputError

REMEDY = "expected a Kernel Tuner cache file, .json or .json.gz"


def read_cache(path: Path) -> dict[str, Any]:
    """The file's top-level object. A tuner that is stopped leaves a file without its closing brackets, with a comma
    at the end, or with half of its last line; what is complete is read. Raises InputError otherwise."""
    text = _text(path)
    try:
        data = json.loads(text)
    except json.JSONDecodeError as e:
        data = _repaired(text)
        if data is None:
            raise InputError(f"not JSON: {e.msg}", file=str(path), line=e.lineno, remedy=REMEDY) from e
    if not isinstance(data, dict):
        raise InputError("the file holds no JSON object", file=str(path), remedy=REMEDY)
    return data


def _text(path: Path) -> str:
    try:
        raw = path.read_bytes()
        if raw[:2] == b"\x1f\x8b":  # by content: a renamed file reads as well
            raw = gzip.decompress(raw)
        return raw.decode("utf-8")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as e:
        raise InputError(f"cannot be read: {e}", file=str(path), remedy=REMEDY) from e


def _repaired(text: str) -> Any:
    """With the closing brackets supplied: as the text stands, else after its last complete entry. None: no use."""
    body = text.rstrip().removesuffix(",")
    complete = body[: body.rfind("}") + 1]
    for part in (body, complete):
        for closing in ("}", "}}"):
            try:
                return json.loads(part + closing)
            except json.JSONDecodeError:
                continue
    return None
