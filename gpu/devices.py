"""Which devices there are. Asked in a child process: the parent never opens a driver or an OpenCL context."""

from __future__ import annotations

import select

from genome.errors import InputError
from gpu import frames
from gpu.child import Child
from gpu.records import DeviceInfo

REMEDIES = {
    "cuda": "an NVIDIA driver and PyCUDA are needed (pip install pycuda, with nvcc's folder on PATH); "
            "--backend opencl runs on the CPU",
    "opencl": "pip install pyopencl pocl-binary-distribution",
    "auto": "pip install pyopencl pocl-binary-distribution gives a CPU device; a GPU needs NVIDIA's driver and PyCUDA",
}
PROBE_SECONDS = 60.0


def available(backend: str = "auto") -> list[DeviceInfo]:
    """All devices of a back end ("cuda", "opencl", "auto": CUDA's first). Empty when there is none, or when the
    driver hangs or crashes on being asked."""
    child = Child("probe", None)
    try:
        child.send({"op": "list", "backend": backend})
        if not select.select([child.read_fd], [], [], PROBE_SECONDS)[0]:
            return []
        kind, value = child.receive()
        return list(value) if kind == "done" else []
    except frames.Closed:
        return []
    finally:
        child.kill()


def pick(backend: str) -> DeviceInfo:
    """The device to use. Raises :class:`InputError`, with what to install, when there is none."""
    if backend not in REMEDIES:
        raise InputError(f"unknown back end '{backend}'", remedy="cuda, opencl or auto")
    found = available(backend)
    if not found:
        raise InputError("no device found" if backend == "auto" else f"no {backend} device found",
                         remedy=REMEDIES[backend])
    return found[0]
