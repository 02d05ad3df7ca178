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
    options = [b"--gpu-architecture=compute_90", b"--std=c++17", b"-default-device",
               *(f"-I{f}".encode() for f in include_folders())]
    return [h.encode() for h in headers.values()], [n.encode() for n in headers], options


def ptx(source: str) -> str:
    """Canonical PTX for compute_90. Raises :class:`CompileFailed`."""
    from cuda.bindings import nvrtc

    from gpu import prelude

    texts, names, options = _set_up()
    options = [*options, *(o.encode() for o in prelude.options(source))]
    _, program = nvrtc.nvrtcCreateProgram(source.encode("utf-8", "surrogateescape"), b"kernel.cu", len(names), texts,
                                          names)
    try:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            log = _text(nvrtc, program, "ProgramLog")
            raise CompileFailed(next((line for line in log.split("\n") if "error" in line), str(status)))
        return canonical(_text(nvrtc, program, "PTX"))
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _text(nvrtc: Any, program: Any, what: str) -> str:
    _, size = getattr(nvrtc, f"nvrtcGet{what}Size")(program)
    text = b" " * size
    getattr(nvrtc, f"nvrtcGet{what}")(program, text)
    return text.rstrip(b"\0").decode(errors="replace")


def canonical(text: str) -> str:
    """PTX without comments and debug lines, symbols numbered as they appear."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    lines = [line for line in text.split("\n")
             if line.strip() and not re.match(r"\s*\.(loc|file|version|target|section)\b", line)]
    names: dict[str, str] = {}
    return re.sub(r"\b_Z\w+|\$\w+|__local_depot\w+", lambda m: names.setdefault(m.group(0), f"S{len(names)}"),
                  "\n".join(lines))
