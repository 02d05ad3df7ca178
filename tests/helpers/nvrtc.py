"""PTX from NVRTC, for tests that look at instructions."""

from __future__ import annotations

import re
from functools import lru_cache

import pytest


@lru_cache(maxsize=256)
def compile_ptx(source: str, *flags: str) -> str:
    """PTX for sm_90. A source that does not compile fails the test with the compiler's message."""
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
    status, program = nvrtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, [], [])
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS
    options = [b"--gpu-architecture=compute_90", b"--std=c++17", b"-default-device", *(f.encode() for f in flags)]
    try:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            _, size = nvrtc.nvrtcGetProgramLogSize(program)
            log = b" " * size
            nvrtc.nvrtcGetProgramLog(program, log)
            raise AssertionError(f"does not compile:\n{log.decode()}\n{source}")
        _, size = nvrtc.nvrtcGetPTXSize(program)
        text = b" " * size
        nvrtc.nvrtcGetPTX(program, text)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return text.decode().rstrip("\0")


def memory_order(ptx: str) -> str:
    """Global loads and stores in the order of the text: "LLSS"."""
    found = re.finditer(r"^\s*(?:@%\w+\s+)?(ld|st)\.global", ptx, re.M)
    return "".join("L" if m.group(1) == "ld" else "S" for m in found)


def longest_load_run(ptx: str) -> int:
    """The most global loads in a row with no store between them."""
    return max((len(run) for run in memory_order(ptx).split("S")), default=0)
