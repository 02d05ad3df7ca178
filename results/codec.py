"""Frozen dataclasses to strict JSON and back, by their type hints.

Fields that a record lacks take their default and fields that the class lacks are skipped, so a run stays readable when
a record grows. Numbers that JSON has no word for (NaN, infinities) are written as the strings ``nan``, ``inf``,
``-inf`` where the hint says float.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")


def encode(value: Any) -> str:
    """Pure ASCII JSON of a dataclass instance, tuple, dict or scalar."""
    return json.dumps(plain(value), separators=(",", ":"), allow_nan=False)


def decode(cls: type[T], text: str) -> T:
    """The instance that :func:`encode` wrote. Raises ValueError, KeyError or TypeError when it is no such record."""
    result: T = build(cls, json.loads(text))
    return result


def plain(value: Any) -> Any:
    """Nested dicts, lists and scalars that the JSON writer takes."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return plain(scalar(value))


def scalar(value: Any) -> Any:
    """The Python number in a NumPy scalar (or 0-d array). Raises TypeError for anything else."""
    item = getattr(value, "item", None)
    if item is None or getattr(value, "ndim", 0) != 0:
        raise TypeError(f"{type(value).__name__} cannot be recorded")
    return item()


def dumps(data: Any) -> str:
    """JSON of free-form data (events, problem, environment); tuples come back as lists. Accepts NumPy scalars."""
    return json.dumps(data, separators=(",", ":"), default=_default)


def _default(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return scalar(value)


def build(hint: Any, data: Any) -> Any:
    """``data`` (parsed JSON) as an instance of ``hint``."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return tuple(build(args[0], v) for v in data)
        return tuple(build(h, v) for h, v in zip(args, data, strict=True))
    if origin is dict:
        return {k: build(args[1], v) for k, v in data.items()}
    if origin is typing.Union or origin is types.UnionType:
        if data is None:
            return None
        return build(next(a for a in args if a is not type(None)), data)
    if hint is float:
        return float(data)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(data)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return hint(**{name: build(h, data[name]) for name, h in _hints(hint) if name in data})
    return data


@lru_cache(maxsize=64)
def _hints(cls: type) -> tuple[tuple[str, Any], ...]:
    hints = typing.get_type_hints(cls)
    return tuple((f.name, hints[f.name]) for f in dataclasses.fields(cls))
