"""What both OpenCL children (builder and device worker) share: the device, its facts, options, source preparation."""

from __future__ import annotations

import os
import re
import warnings
from typing import TYPE_CHECKING

from genome.errors import InputError
from genome.program import Program
from gpu.records import DeviceInfo

if TYPE_CHECKING:
    import pyopencl as cl

POCL = "Portable Computing Language"
# One compiled function per kernel, independent of grid and offset: asking PoCL 3.0 for the program's binary then
# compiles exactly what will run, before anything runs, given a required work-group size. (Its default specialises at
# the first launch, in the launch.) Costs up to a third of the speed of tiny kernels, the same for all candidates.
ENVIRONMENT = {"POCL_WORK_GROUP_SPECIALIZATION": "0"}


def devices() -> list[cl.Device]:
    """OpenCL devices to run on, PoCL's first; interpreters (Oclgrind) are none. In a child process only."""
    import pyopencl as cl
    found = []
    try:
        platforms = cl.get_platforms()
    except cl.LogicError:  # the loader knows no platform
        return []
    for platform in platforms:
        if "Oclgrind" in platform.name:
            continue
        try:
            found += [(platform.name != POCL, d) for d in platform.get_devices()]
        except cl.RuntimeError:
            continue  # a platform without a device
    return [d for _, d in sorted(found, key=lambda pair: pair[0])]


def facts(device: cl.Device) -> DeviceInfo:
    sizes = tuple(int(s) for s in device.max_work_item_sizes)
    return DeviceInfo(
        backend="opencl", name=device.name.strip(), arch=device.version.strip(),
        multiprocessors=device.max_compute_units, max_threads_per_block=device.max_work_group_size,
        max_block=(sizes[0], sizes[1], sizes[2]), max_grid=(2**31 - 1, 2**31 - 1, 2**31 - 1),
        max_shared_bytes=device.local_mem_size, max_shared_optin=device.local_mem_size,
        shared_per_multiprocessor=device.local_mem_size, max_threads_per_multiprocessor=device.max_work_group_size,
        max_blocks_per_multiprocessor=1, warp=1, l2_bytes=device.global_mem_cache_size,
        memory_bytes=device.global_mem_size, driver=device.driver_version)


def options(flags: tuple[str, ...], optimise: bool = True) -> list[str]:
    """OpenCL build options for the user's flags, which may be nvcc's: what has no counterpart is left out."""
    result = []
    for flag in flags:
        if flag in ("-use_fast_math", "--use_fast_math"):
            result.append("-cl-fast-relaxed-math")
        elif flag.startswith(("-cl-", "-D", "-I")):
            result.append(flag)
    return result if optimise else [*result, "-cl-opt-disable"]


def prepare(program: Program, flags: tuple[str, ...] = ()) -> str:
    """The source as built: each kernel with the work-group size that it is launched with.

    Raises :class:`InputError` for a program in another language.
    """
    if program.language != "opencl":
        raise InputError(f"a program in {program.language} cannot run on an OpenCL device",
                         remedy="emit it as OpenCL C, or choose the cuda back end")
    source = program.source
    for name in {launch.kernel for launch in program.launches}:
        blocks = {launch.block for launch in program.launches if launch.kernel == name}
        if len(blocks) == 1 and not _has_size(source, name):
            x, y, z = blocks.pop()
            source = re.sub(rf"\b(__kernel|kernel)(\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?void\s+{re.escape(name)}\b)",
                            rf"\1 __attribute__((reqd_work_group_size({x}, {y}, {z})))\2", source, flags=re.DOTALL)
    if "-fmad=false" in flags or "--fmad=false" in flags:
        source = "#pragma OPENCL FP_CONTRACT OFF\n#line 1\n" + source
    return source


def _has_size(source: str, name: str) -> bool:
    head = re.search(rf"\b(?:__kernel|kernel)\b([^;{{}}]*?)\bvoid\s+([^;{{}}(]*\)\)\)\s*)?{re.escape(name)}\s*\(",
                     source)
    return head is not None and "reqd_work_group_size" in head.group(0)


def quiet() -> None:
    """PyOpenCL reports a compiler's remarks as Python warnings; they are in the build log anyway."""
    os.environ.setdefault("PYOPENCL_COMPILER_OUTPUT", "0")
    warnings.filterwarnings("ignore", module="pyopencl")


def message(error: cl.Error) -> str:
    """The compiler's own lines, without PyOpenCL's frame around them."""
    text = str(error)
    _, found, rest = text.partition("Build on <pyopencl.Device")
    if not found:
        return text
    lines = [line for line in rest.splitlines()[1:] if line.strip()]
    return "\n".join(line for line in lines if not line.startswith(("(options:", "(source saved"))) or text
