"""Programs on a device, as simply as can be: build, run once, hand the arrays back. OpenCL without optimisation and
without contraction; CUDA with ``-fmad=false``. Guard zones on both sides of every buffer."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genome.program import Launch
from genome.workload import Workload
from gpu.data import workspace

GUARD = 4096  # bytes
GUARD_BYTE = 0xA5
POISON = (0xCB, 0x5A)  # bytes that fill an output before a run


class Damaged(Exception):
    """A guard zone was written."""


@dataclass(frozen=True)
class Step:
    """One run: geometry, the arrays by name and the scalars, in parameter order."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    arguments: tuple[tuple[str, Any], ...]  # name, array or NumPy scalar


def step(workload: Workload, launch: Launch, values: dict[str, int | float], arrays: dict[str, NDArray[Any]],
         scalars: dict[str, np.generic]) -> Step:
    arguments = tuple((a.name, arrays[a.name] if a.is_array else scalars[a.name]) for a in workload.arguments)
    arguments += tuple((w.name, arrays[w.name]) for w in launch.workspaces)
    return Step(launch.kernel, launch.grid_at(values), launch.block, launch.shared_bytes, arguments)


def poisoned(workload: Workload, arrays: dict[str, NDArray[Any]], byte: int) -> dict[str, NDArray[Any]]:
    """Copies, the pure outputs filled with a byte."""
    out = {name: a.copy() for name, a in arrays.items()}
    for a in workload.arguments:
        if a.is_array and a.role == "out":
            out[a.name].view(np.uint8)[:] = byte
    return out


def workspaces(launches: Sequence[Launch], values: dict[str, int | float], byte: int) -> dict[str, NDArray[Any]]:
    """Every workspace of the launches, filled with a byte."""
    out: dict[str, NDArray[Any]] = {}
    for launch in launches:
        for w in launch.workspaces:
            count, dtype = workspace(w, values)
            out[w.name] = np.empty(count, dtype)
            out[w.name].view(np.uint8)[:] = byte
    return out


def framed(a: NDArray[Any]) -> NDArray[np.uint8]:
    guard = np.full(GUARD, GUARD_BYTE, np.uint8)
    return np.concatenate([guard, a.view(np.uint8).reshape(-1), guard])


def unframed(name: str, raw: NDArray[np.uint8], like: NDArray[Any]) -> NDArray[Any]:
    if (raw[:GUARD] != GUARD_BYTE).any() or (raw[GUARD + like.nbytes:] != GUARD_BYTE).any():
        raise Damaged(f"wrote outside of {name}")
    return np.array(raw[GUARD: GUARD + like.nbytes].view(like.dtype))


class OpenCl:
    def __init__(self) -> None:
        import pyopencl as cl

        self.cl = cl
        platforms = [p for p in cl.get_platforms() if "oclgrind" not in p.name.lower()]
        self.context = cl.Context(platforms[0].get_devices()[:1])
        self.queue = cl.CommandQueue(self.context)

    def build(self, source: str) -> Any:
        return self.cl.Program(self.context, source).build(["-cl-opt-disable"])

    def run(self, program: Any, s: Step) -> dict[str, NDArray[Any]]:
        cl = self.cl
        buffers: dict[str, tuple[Any, NDArray[Any]]] = {}
        arguments: list[Any] = []
        for name, value in s.arguments:
            if isinstance(value, np.ndarray):
                flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
                whole = cl.Buffer(self.context, flags, hostbuf=framed(value))
                buffers[name] = whole, value
                arguments.append(whole.get_sub_region(GUARD, max(value.nbytes, 1)))
            else:
                arguments.append(value)
        work = tuple(g * b for g, b in zip(s.grid, s.block, strict=True))
        getattr(program, s.kernel)(self.queue, work, s.block, *arguments)
        self.queue.finish()
        out: dict[str, NDArray[Any]] = {}
        for name, (whole, like) in buffers.items():
            raw = np.empty(like.nbytes + 2 * GUARD, np.uint8)
            cl.enqueue_copy(self.queue, raw, whole)
            out[name] = unframed(name, raw, like)
        return out


class Cuda:
    def __init__(self) -> None:
        import pycuda.driver as drv

        drv.init()
        self.drv = drv
        self.context = drv.Device(0).retain_primary_context()
        self.context.push()
        atexit.register(self.context.pop)
        major, minor = drv.Device(0).compute_capability()
        self.arch = f"sm_{major}{minor}"

    def build(self, cubin: bytes) -> Any:
        return self.drv.module_from_buffer(cubin)

    def run(self, module: Any, s: Step) -> dict[str, NDArray[Any]]:
        drv = self.drv
        buffers: dict[str, tuple[Any, NDArray[Any]]] = {}
        arguments: list[Any] = []
        for name, value in s.arguments:
            if isinstance(value, np.ndarray):
                whole = drv.mem_alloc(value.nbytes + 2 * GUARD)
                drv.memcpy_htod(whole, framed(value))
                buffers[name] = whole, value
                arguments.append(np.uintp(int(whole) + GUARD))
            else:
                arguments.append(value)
        function = module.get_function(s.kernel)
        if s.shared_bytes > 49152:
            function.set_attribute(drv.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, s.shared_bytes)
        function(*arguments, grid=s.grid, block=s.block, shared=s.shared_bytes)
        drv.Context.synchronize()
        out: dict[str, NDArray[Any]] = {}
        for name, (whole, like) in buffers.items():
            raw = np.empty(like.nbytes + 2 * GUARD, np.uint8)
            drv.memcpy_dtoh(raw, whole)
            whole.free()
            out[name] = unframed(name, raw, like)
        return out


def nvrtc(source: str, arch: str, flags: Sequence[str] = ("-fmad=false",)) -> bytes:
    """A cubin; raises ValueError with the compiler's message."""
    from cuda.bindings import nvrtc as rtc

    _, program = rtc.nvrtcCreateProgram(source.encode(), b"candidate.cu", 0, [], [])
    options = [f"--gpu-architecture={arch}".encode(), *(f.encode() for f in flags)]
    (code,) = rtc.nvrtcCompileProgram(program, len(options), options)
    if int(code) != 0:
        _, n = rtc.nvrtcGetProgramLogSize(program)
        log = b" " * n
        rtc.nvrtcGetProgramLog(program, log)
        raise ValueError(log.decode(errors="replace"))
    _, n = rtc.nvrtcGetCUBINSize(program)
    cubin = b" " * n
    rtc.nvrtcGetCUBIN(program, cubin)
    rtc.nvrtcDestroyProgram(program)
    return cubin
