"""PTX of a translation unit in a form that can be compared: without comments, lines and names of symbols."""

from __future__ import annotations

import re
from functools import cache
from typing import Any


class CompileFailed(Exception):
    """The compiler's first error."""


@cache
def _set_up() -> tuple[list[bytes], list[bytes], list[bytes]]:
    from gpu import prelude
    from gpu.compile_nvrtc import include_folders

    headers = prelude.headers()
    options = [b"--std=c++17", b"-default-device", *(f"-I{f}".encode() for f in include_folders())]
    return [h.encode() for h in headers.values()], [n.encode() for n in headers], options


def ptx(source: str) -> str:
    """Canonical PTX for compute_90. Raises :class:`CompileFailed`."""
    return canonical(_compiled(source, "PTX", b"compute_90").rstrip(b"\0").decode(errors="replace"))


def cubin(source: str) -> bytes:
    """The cubin for sm_90. Raises :class:`CompileFailed`."""
    return _compiled(source, "CUBIN", b"sm_90")


def _compiled(source: str, what: str, architecture: bytes) -> bytes:
    from cuda.bindings import nvrtc

    from gpu import prelude

    texts, names, options = _set_up()
    options = [b"--gpu-architecture=" + architecture, *options, *(o.encode() for o in prelude.options(source))]
    _, program = nvrtc.nvrtcCreateProgram(source.encode("utf-8", "surrogateescape"), b"kernel.cu", len(names), texts,
                                          names)
    try:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            log = _data(nvrtc, program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
            raise CompileFailed(next((line for line in log.split("\n") if "error" in line), str(status)))
        return _data(nvrtc, program, what)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _data(nvrtc: Any, program: Any, what: str) -> bytes:
    _, size = getattr(nvrtc, f"nvrtcGet{what}Size")(program)
    data = b" " * size
    getattr(nvrtc, f"nvrtcGet{what}")(program, data)
    return data


def canonical(text: str) -> str:
    """PTX without comments and debug lines, symbols numbered as they appear."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    lines = [line for line in text.split("\n")
             if line.strip() and not re.match(r"\s*\.(loc|file|version|target|section)\b", line)]
    names: dict[str, str] = {}
    return re.sub(r"\b_Z\w+|\$\w+|__local_depot\w+", lambda m: names.setdefault(m.group(0), f"S{len(names)}"),
                  "\n".join(lines))
