"""Whether a kernel that a practice run on the CPU cannot take is at fault itself: NVIDIA's compiler is asked.

A kernel may use what OpenCL has not, and may as well have a typing error; the user is to be told which.
"""

from __future__ import annotations

import re

from genome.errors import InputError
from genome.program import Launch, Program
from genome.unit import SourceUnit
from gpu.records import DeviceInfo

ARCH = "sm_80"  # the oldest with everything that evo emits
_ERROR = re.compile(r"^(?P<file>.*?)\((?P<line>\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (?P<text>.*)$",
                    re.MULTILINE)


def complaint(unit: SourceUnit, flags: tuple[str, ...]) -> InputError | None:
    """NVRTC's first error in the user's own text, with the user's file and line; None when it compiles, or when there
    is no NVRTC to ask."""
    try:
        from gpu.compile_common import BuilderConfig
        from gpu.compile_nvrtc import NvrtcCompiler
    except ImportError:
        return None
    from gpu.build import CompileError

    program = Program(unit.cuda_original(), (Launch(unit.kernel.name, ("1", "1", "1"), (1, 1, 1)),))
    compiler = NvrtcCompiler(BuilderConfig(flags, None, 60.0, DeviceInfo("cuda", "", arch=ARCH)))
    try:
        compiler.compile(program, optimise=True)
    except CompileError as e:
        found = _ERROR.search(str(e))
        if found is not None:
            return InputError(f"the kernel does not compile: {found['text'].strip()}", file=found["file"],
                              line=int(found["line"]))
    return None
