"""nvcc, for sources whose headers NVRTC cannot take (cub and thrust hold host code). It needs a toolkit and a host
compiler, and takes seconds where NVRTC takes tenths of one."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from gpu.build import CompileError

SECONDS = 120.0
INCLUDE = re.compile(r"^[ \t]*#[ \t]*(?:include|define|if|ifdef|ifndef|elif|else|endif|undef)\b(?:[^\n\\]|\\.)*",
                     re.MULTILINE | re.DOTALL)
SAID = "compiled by nvcc: NVRTC cannot take the headers that the source includes"


def available() -> bool:
    return shutil.which("nvcc") is not None


def headers_alone(source: str) -> str:
    """The directives of a source with nothing else: what fails to compile is then the headers' fault."""
    return "\n".join(m.group(0) for m in INCLUDE.finditer(source)) + "\n"


def compile_cubin(source: str, arch: str, flags: list[str]) -> tuple[bytes, str]:
    """The cubin, and what ptxas says of resources. ``flags`` as NVRTC takes them. Raises :class:`CompileError`."""
    words = ["nvcc", "-cubin", f"-arch={arch}", "-Xptxas=-v", "--expt-relaxed-constexpr", "--extended-lambda"]
    if not any(f.startswith(("-std", "--std")) for f in flags):
        words.append("-std=c++17")
    words += [f.replace("--ptxas-options=", "-Xptxas=") for f in flags]
    with tempfile.TemporaryDirectory(prefix="evo-nvcc-") as folder:
        text, out = Path(folder, "kernel.cu"), Path(folder, "kernel.cubin")
        text.write_text(source, encoding="utf-8")
        try:
            done = subprocess.run([*words, "-o", str(out), str(text)], capture_output=True, text=True, errors="replace",
                                  timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as e:
            raise CompileError(f"nvcc: {e}") from e
        if done.returncode or not out.is_file():
            raise CompileError(done.stderr or f"nvcc ends with {done.returncode}")
        return out.read_bytes(), f"{SAID}\n{done.stderr}"
