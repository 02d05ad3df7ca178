"""The corpus of small kernels: how to load each, and PTX that can be compared."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from genome.unit import SourceUnit, load_unit

FOLDER = Path(__file__).parent
NAMES = sorted(p.stem for p in FOLDER.glob("*.cu"))
INSTANCES = {"two_kernels": "second", "template_type": "template_type<float>"}


def load(name: str, **options: bool) -> SourceUnit:
    return load_unit(FOLDER / f"{name}.cu", INSTANCES.get(name), **options)


@cache
def _include_options() -> tuple[bytes, ...]:
    nvidia = pytest.importorskip("nvidia")
    return tuple(b"-I" + str(p).encode() for d in nvidia.__path__ for p in Path(d).glob("*/include"))


def ptx(source: str) -> str:
    """PTX for compute_90 in canonical form: without comments and debug lines, symbols numbered as they appear."""
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, [], [])
    options = [b"--gpu-architecture=compute_90", b"--std=c++17", b"-default-device", *_include_options()]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        raise AssertionError(f"does not compile:\n{log.decode()}\n{source}")
    _, size = nvrtc.nvrtcGetPTXSize(program)
    text = b" " * size
    nvrtc.nvrtcGetPTX(program, text)
    nvrtc.nvrtcDestroyProgram(program)
    return canonical(text.decode().rstrip("\0"))


def canonical(text: str) -> str:
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    lines = [line for line in text.split("\n")
             if line.strip() and not re.match(r"\s*\.(loc|file|version|target|section)\b", line)]
    names: dict[str, str] = {}
    return re.sub(r"\b_Z\w+|\$\w+|__local_depot\w+", lambda m: names.setdefault(m.group(0), f"S{len(names)}"),
                  "\n".join(lines))
