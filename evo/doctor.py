"""``evo doctor``: what works here, and for each missing thing the command that mends it."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from evo.probes import Answer, probe
from evo.shadow import foreign_distributions, foreign_modules

TITLES = {"packages": "Python packages", "gpu": "NVIDIA GPU", "nvrtc": "CUDA compiler", "pycuda": "PyCUDA",
          "opencl": "OpenCL", "oclgrind": "Oclgrind"}
OPTIONAL = {"oclgrind"}
TOOLKIT_FOLDERS = ("/usr/local/cuda/bin", "/opt/cuda/bin", "/usr/lib/nvidia-cuda-toolkit/bin")


@dataclass(frozen=True)
class Finding:
    """``state``: "ok", "missing" (something needs it) or "note" (nice to have, or needed for a GPU only)."""

    name: str
    state: str
    text: str
    fix: str = ""


def examine(folder: Path) -> Iterator[Finding]:
    """All findings, in a fixed order, each as soon as it is known. ``folder`` is where runs would be written."""
    yield system()
    with ThreadPoolExecutor(2) as pool:
        answers = {n: pool.submit(probe, n) for n in TITLES}
        gpu = False
        for name, title in TITLES.items():
            answer = answers[name].result()
            gpu = answer.ok if name == "gpu" else gpu
            yield _finding(name, title, answer, gpu)
    yield tool("compute-sanitizer", "checks finalists for races and bad accesses on the GPU")
    yield tool("ncu", "profiles kernels")
    if gpu and (blocked := profiling_blocked()):
        yield blocked
    yield from shadows()
    yield writable(folder)


def usable(findings: Iterable[Finding]) -> bool:
    """Whether a run could start: packages, and one back end with its device."""
    ok = {f.name for f in findings if f.state == "ok"}
    cuda = {TITLES["gpu"], TITLES["nvrtc"], TITLES["pycuda"]} <= ok
    return TITLES["packages"] in ok and (cuda or TITLES["opencl"] in ok)


def _finding(name: str, title: str, answer: Answer, gpu: bool) -> Finding:
    if answer.ok:
        return Finding(title, "ok", answer.text)
    needed = name in ("packages", "nvrtc", "opencl") or (name == "pycuda" and gpu)
    text = answer.text
    if name == "pycuda" and not gpu:
        text += "; needed with an NVIDIA GPU only"
    fix = answer.fix if needed or gpu or name in OPTIONAL else ""
    return Finding(title, "missing" if needed else "note", text, fix)


def system() -> Finding:
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    if (platform.system(), platform.machine()) == ("Linux", "x86_64"):
        return Finding("System", "ok", machine)
    return Finding("System", "note", f"{machine}: PoCL, Oclgrind and NVRTC come as wheels for Linux x86-64 only; "
                                     "reading runs works, running kernels needs an OpenCL driver of your own",
                   "use Linux x86-64 or WSL2")


def find_tool(name: str) -> str | None:
    """The tool's path: on PATH, or in a toolkit's usual places."""
    home = [os.path.join(os.environ[v], "bin") for v in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(v)]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join([*home, *TOOLKIT_FOLDERS]))


def tool(name: str, purpose: str) -> Finding:
    found = find_tool(name)
    if found:
        return Finding(name, "ok", found)
    return Finding(name, "note", f"not found; it {purpose}", "install the CUDA toolkit, or put its bin folder on PATH")


def profiling_blocked(params: Path = Path("/proc/driver/nvidia/params")) -> Finding | None:
    """The driver can keep hardware counters from ordinary users."""
    try:
        text = params.read_text()
    except OSError:  # no such file where the driver is another's (WSL2, containers)
        return None
    if "RmProfilingAdminOnly: 1" not in text or os.geteuid() == 0:
        return None
    return Finding("ncu", "note", "the driver gives hardware counters to root only",
                   "options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, then reboot")


def shadows() -> Iterator[Finding]:
    hidden = foreign_modules()
    for name, file in hidden:
        yield Finding("Modules", "missing", f"{file} hides evo's package '{name}'",
                      "rename that file, or take its folder off PYTHONPATH")
    for name, owner in foreign_distributions():
        yield Finding("Modules", "missing", f"the distribution '{owner}' also installs a package '{name}'",
                      f"pip uninstall {owner}, or install evo-kernels in an environment of its own")
        hidden.append((name, Path(owner)))
    here = sorted(p.name for p in Path.cwd().glob("*.py") if p.stem in ("evo", "genome", "gpu", "mutators", "results",
                                                                        "surrogate"))
    if here:
        yield Finding("Modules", "note", f"{', '.join(here)} in this folder would hide evo's own under python -m evo",
                      "use the command evo, or rename the file")
    elif not hidden:
        yield Finding("Modules", "ok", "nothing hides evo's packages")


def writable(folder: Path) -> Finding:
    """Whether a run folder can be made; asked by writing, since permission bits do not tell all."""
    target = folder / "runs"
    place = target if target.is_dir() else folder
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as e:
        return Finding("Run folder", "missing", f"{place} cannot be written: {e.strerror}",
                       "start evo in a folder of yours, or give --out DIR")
    free = shutil.disk_usage(place).free / 2**30
    return Finding("Run folder", "ok", f"{target.resolve()} ({free:.0f} GiB free)")
