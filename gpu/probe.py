"""Lists devices; runs in a child process, so that the parent never opens a driver."""

from __future__ import annotations

from typing import Any

from gpu.records import DeviceInfo


class Probe:
    def handle(self, task: dict[str, Any]) -> list[DeviceInfo]:
        wanted = task["backend"]
        found: list[DeviceInfo] = []
        if wanted in ("cuda", "auto"):
            found += _cuda()
        if wanted in ("opencl", "auto"):
            found += _opencl()
        return found


def _opencl() -> list[DeviceInfo]:
    try:
        from gpu import opencl
        opencl.quiet()
        return [opencl.facts(d) for d in opencl.devices()]
    except ImportError:
        return []


def _cuda() -> list[DeviceInfo]:
    try:
        from gpu.session_cuda import all_devices
        return all_devices()
    except ImportError:
        return []
