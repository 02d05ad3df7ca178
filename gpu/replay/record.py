"""A recorded space: tunable parameters with their values, and what each measured configuration gave."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genome.errors import InputError
from genome.gene import ParamValue
from gpu.records import Verdict
from gpu.replay.cachefile import REMEDY, read_cache

FAILED_TIME = 1e20  # what older Kernel Tuner versions wrote as the time of a failure
MILLISECOND = 1e-3

# Kernel Tuner's names of failures -> ours
VERDICTS = {
    "RuntimeFailedConfig": Verdict.LAUNCH_FAILURE,
    "CompilationFailedConfig": Verdict.COMPILE_ERROR,
    "InvalidConfig": Verdict.OVER_LIMITS,  # too many threads, too much shared memory
    "ErrorConfig": Verdict.WRONG,
}

Configuration = tuple[ParamValue, ...]  # one value per parameter, in order


@dataclass(frozen=True)
class Entry:
    """One configuration's record. ``seconds`` is the recorded objective (None: it failed), ``samples`` in seconds."""

    seconds: float | None
    failure: str = ""
    samples: tuple[float, ...] = ()
    compile_seconds: float = 0.0
    device_seconds: float = 0.0

    @property
    def verdict(self) -> Verdict:
        return Verdict.OK if self.seconds is not None else VERDICTS.get(self.failure, Verdict.LAUNCH_FAILURE)


@dataclass(frozen=True)
class RecordedSpace:
    """``parameters`` holds every value that the file declares or that an entry has, in the file's order."""

    name: str
    device: str
    kernel: str
    parameters: Mapping[str, tuple[ParamValue, ...]]
    entries: Mapping[Configuration, Entry]

    @property
    def valid(self) -> list[float]:
        """The times in seconds of the configurations that ran, in the file's order."""
        return [e.seconds for e in self.entries.values() if e.seconds is not None]


def plain(value: Any) -> ParamValue:
    """A JSON scalar as a gene's value: whole numbers as int, others as text (genes hold no floats)."""
    if isinstance(value, bool) or isinstance(value, (int, str)):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else repr(value)
    raise ValueError(f"{value!r} is neither a number nor a text")


def load_space(path: str | Path) -> RecordedSpace:
    """Reads a cache file. Raises InputError where it is none or holds no configuration that ran."""
    path = Path(path)
    data = read_cache(path)
    cache, keys = data.get("cache"), data.get("tune_params_keys")
    declared = data.get("tune_params", {})
    if not isinstance(cache, dict) or not isinstance(keys, list) or not isinstance(declared, dict):
        raise InputError("'cache', 'tune_params_keys' or 'tune_params' is missing", file=str(path), remedy=REMEDY)
    try:
        values = {k: dict.fromkeys(plain(v) for v in _flat(declared.get(k, []))) for k in keys}
        entries: dict[Configuration, Entry] = {}
        for row in cache.values():
            configuration = tuple(plain(row[k]) for k in keys)
            for k, v in zip(keys, configuration, strict=True):
                values[k].setdefault(v)
            entries[configuration] = _entry(row)
    except (KeyError, TypeError, ValueError, AttributeError) as e:
        raise InputError(f"an entry is not as expected: {e}", file=str(path), remedy=REMEDY) from e
    name = path.name.removesuffix(".gz").removesuffix(".json")
    space = RecordedSpace(name, str(data.get("device_name", "")), str(data.get("kernel_name", "")),
                          {k: tuple(v) for k, v in values.items()}, entries)
    if not space.valid:
        raise InputError("no configuration in the file was timed", file=str(path), remedy=REMEDY)
    return space


def _flat(values: Any) -> Sequence[Any]:
    return values if isinstance(values, list) else [values]


def _entry(row: Mapping[str, Any]) -> Entry:
    """``time`` in milliseconds, or a text that names the failure."""
    time = row.get("time")
    compiled = _seconds(row.get("compile_time"))
    busy = _seconds(row.get("verification_time")) + _seconds(row.get("benchmark_time"))
    if isinstance(time, bool) or not isinstance(time, (int, float)) or not 0.0 < time < FAILED_TIME:
        return Entry(None, time if isinstance(time, str) else "RuntimeFailedConfig", (), compiled, busy)
    samples = tuple(MILLISECOND * float(t) for t in row.get("times") or () if isinstance(t, (int, float)))
    return Entry(MILLISECOND * float(time), "", samples, compiled, busy)


def _seconds(milliseconds: Any) -> float:
    """0 where the file does not say, or says nonsense."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, (int, float)) or not math.isfinite(milliseconds):
        return 0.0
    return max(0.0, MILLISECOND * float(milliseconds))
