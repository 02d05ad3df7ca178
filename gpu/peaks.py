"""A device's measured peaks, kept between runs: one small JSON file per device and driver in the cache folder.

A measurement can only be too low (another process, a clock that has not ramped up), so the higher of the kept and the
present one holds; a kept one far above the present one is dropped, for then the device is no longer the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path

from gpu.compile_cache import default_folder
from gpu.records import DeviceInfo

IMPLAUSIBLE = 3.0  # times the present measurement


def keep(device: DeviceInfo, cache_dir: str | None) -> DeviceInfo:
    """``device`` as measured now, with the higher of both measurements; remembers that. A folder that cannot be written
    costs only the remembering."""
    path = _path(device, cache_dir)
    kept = _read(path)
    best = replace(device, bandwidth=_higher(device.bandwidth, kept.get("bandwidth", 0.0)),
                   flops=_higher(device.flops, kept.get("flops", 0.0)))
    found = {"device": device.name, "driver": device.driver, "bandwidth": best.bandwidth, "flops": best.flops}
    if found != kept:
        _write(path, json.dumps(found))
    return best


def _higher(now: float, before: object) -> float:
    plausible = isinstance(before, float) and now > 0 and now < before < IMPLAUSIBLE * now
    return before if plausible and isinstance(before, float) else now


def _path(device: DeviceInfo, cache_dir: str | None) -> Path:
    folder = Path(cache_dir) if cache_dir else default_folder().parent
    name = hashlib.sha256(repr((device.backend, device.name, device.arch, device.driver)).encode()).hexdigest()[:16]
    return folder / "devices" / f"{name}.json"


def _read(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(path: Path, text: str) -> None:
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
