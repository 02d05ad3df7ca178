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
from collections.abc import Callable
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
    kind: Any = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if kind is tuple or kind is list:
        return [plain(v) for v in value]
    if kind is dict:
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: plain(getattr(value, name)) for name in _names(kind)}
    return plain(scalar(value))


@lru_cache(maxsize=64)
def _names(cls: type) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(cls))


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
    return _builder(hint)(data)


@lru_cache(maxsize=256)
def _builder(hint: Any) -> Callable[[Any], Any]:
    """The function that :func:`build` needs for one hint: a run holds many records of few kinds."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        items = [_builder(a) for a in args if a is not Ellipsis]
        if len(args) == 2 and args[1] is Ellipsis:
            return lambda data: tuple(map(items[0], data))
        return lambda data: tuple(make(v) for make, v in zip(items, data, strict=True))
    if origin is dict:
        of = _builder(args[1])
        return lambda data: {k: of(v) for k, v in data.items()}
    if origin is typing.Union or origin is types.UnionType:
        inner = _builder(next(a for a in args if a is not type(None)))
        return lambda data: None if data is None else inner(data)
    if hint is float:
        return float
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        fields = [(name, _builder(hints[name])) for name in _names(hint)]
        return lambda data: hint(**{name: make(data[name]) for name, make in fields if name in data})
    return lambda data: data
