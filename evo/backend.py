"""Which back end a run uses on this machine."""

from __future__ import annotations

from collections.abc import Callable

from evo.probes import probe
from genome.errors import InputError

DOCTOR = "see: evo doctor"


def choose(wanted: str, say: Callable[[str], None]) -> str:
    """"cuda" or "opencl" for ``auto``, ``cuda`` or ``opencl``. ``say`` gets a line when ``auto`` passes over a GPU that
    is there. Raises InputError when there is nothing to run on. Devices are asked in child processes."""
    gpu = probe("gpu") if wanted in ("auto", "cuda") else None
    if gpu is not None and gpu.ok:
        pycuda = probe("pycuda")
        if pycuda.ok:
            return "cuda"
        if wanted == "cuda":
            raise InputError(f"the NVIDIA GPU cannot be used: {pycuda.text}", remedy=pycuda.fix or DOCTOR)
        say(f"note: there is an NVIDIA GPU ({gpu.text}), but {pycuda.text}; running on the CPU instead "
            f"({pycuda.fix or DOCTOR})")
    elif wanted == "cuda":
        raise InputError("no NVIDIA GPU was found", remedy="use --backend opencl, or " + DOCTOR)
    opencl = probe("opencl")
    if not opencl.ok:
        raise InputError(f"no device to run on: {opencl.text}", remedy=opencl.fix or DOCTOR)
    return "opencl"
