"""Between configurations and programs: on replay a program's source is its configuration as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from genome.gene import ParamValue
from genome.program import Launch, Program

LANGUAGE = "replay"
BLOCK_NAMES = ("block_size_x", "block_size_y", "block_size_z")  # Kernel Tuner's defaults


def program(kernel: str, values: Mapping[str, ParamValue], block_names: Sequence[str] = BLOCK_NAMES) -> Program:
    """``values`` by parameter name. The block is read from the parameters of those names, 1 where there is none; the
    grid of a recorded configuration is not known and stands as 1."""
    x, y, z = (_size(values.get(n, 1)) for n in (*block_names, "", "", "")[:3])
    launch = Launch(kernel, ("1", "1", "1"), (x, y, z))
    return Program(json.dumps(dict(values), separators=(",", ":")), (launch,), LANGUAGE)


def values(source: Program) -> dict[str, ParamValue]:
    """Raises ValueError where the program is none of :func:`program`'s."""
    data: Any = json.loads(source.source)
    if source.language != LANGUAGE or not isinstance(data, dict):
        raise ValueError("not the program of a recorded configuration")
    return data


def _size(value: ParamValue) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1
