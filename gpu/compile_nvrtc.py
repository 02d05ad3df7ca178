"""Builder child for CUDA: NVRTC to a cubin for one architecture. Needs neither a GPU nor a toolkit; where there is one,
its nvcc takes what NVRTC cannot."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cuda.bindings import nvrtc

from genome.program import Launch, Program
from gpu import compile_cache, compile_nvcc, elf, prelude, ptxas, support_cuda
from gpu.build import Built, CompileError
from gpu.child_main import Tell
from gpu.compile_common import BuilderConfig, BuilderRole
from gpu.occupancy import occupancy
from gpu.records import DeviceInfo, Resources
from gpu.session import Session

# nvcc's own options that mean nothing to NVRTC, with and without an operand
_DROPPED = re.compile(r"^(-O\d?|-c|-arch=.*|--gpu-architecture=.*|-gencode=.*|-code=.*|-Xcompiler=.*|-lineinfo|"
                      r"--generate-line-info|-rdc=.*|-ccbin=.*|-m64|-g|-shared|-cudart=.*|-w|--expt-.*|-l.*|-L.*)$")
_NO_KERNEL = re.compile(r'__nv_name_map\(\d+\): error: identifier "([^"]+)" is undefined')
_DROPPED_WITH_OPERAND = frozenset({"-arch", "-gencode", "-code", "-Xcompiler", "-o", "-ccbin", "-x", "-diag-suppress"})


EMPTY = 'extern "C" __global__ void evo_empty() {}\n'


class Builder(BuilderRole):
    def __init__(self, config: BuilderConfig, tell: Tell) -> None:
        super().__init__(NvrtcCompiler(config), config, tell)


def nvrtc_flags(flags: tuple[str, ...]) -> list[str]:
    """The user's nvcc flags as NVRTC takes them; flags of linking, optimisation level and host compiler fall away."""
    result: list[str] = []
    rest = list(flags)
    while rest:
        flag = rest.pop(0)
        if flag in _DROPPED_WITH_OPERAND:
            del rest[:1]
        elif flag in ("-I", "-D", "-U", "-std", "-maxrregcount", "--maxrregcount"):
            joint = "=" if flag.endswith(("std", "count")) else ""
            result.append(flag + joint + (rest.pop(0) if rest else ""))
        elif flag in ("-Xptxas", "--ptxas-options"):
            result.append(f"--ptxas-options={rest.pop(0) if rest else ''}")
        elif flag.startswith("-Xptxas="):
            result.append("--ptxas-options=" + flag.removeprefix("-Xptxas="))
        elif not _DROPPED.match(flag):
            result.append(flag)
    return result


def include_folders() -> list[str]:
    """Where CUDA's own device headers (fp16, mma) are, and the CCCL headers that cooperative groups include: in
    NVIDIA's wheels, else in a toolkit."""
    found: list[Path] = []
    spec = find_spec("nvidia")
    for root in (spec.submodule_search_locations or [] if spec else []):
        found += sorted(Path(root).glob("cu*/include")) + sorted(Path(root).glob("*/include"))
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    compiler = shutil.which("nvcc")
    if compiler:
        homes.append(str(Path(compiler).resolve().parent.parent))
    found += [Path(home, "include") for home in homes if home]
    base = next((p for p in found if (p / "cuda_fp16.h").is_file()), None)
    cccl = next((p for f in found for p in (f / "cccl", f) if (p / "nv" / "target").is_file()), None)
    return list(dict.fromkeys(str(p) for p in (base, cccl) if p is not None))


class NvrtcCompiler:
    session: Session | None = None

    def __init__(self, config: BuilderConfig) -> None:
        self._device: DeviceInfo = config.device
        self._cache = compile_cache.Cache(config.cache_dir)
        self._headers = prelude.headers()
        major, minor = _checked(nvrtc.nvrtcVersion())
        self._version = f"{major}.{minor}"
        self._flags = nvrtc_flags(config.flags)
        self._folders = include_folders()
        self._users = compile_cache.headers(config.flags)  # once: nobody edits headers during a run
        self._nvcc: dict[object, bool] = {}

    def compile(self, program: Program, optimise: bool) -> Built:
        """Raises :class:`CompileError` with the compiler's message. ``optimise`` is not looked at: NVRTC is trusted."""
        if program.language != "cuda":
            raise CompileError(f"a program in {program.language} is not CUDA C++")
        # the worker's own kernels must not be compiled with the user's -use_fast_math
        flags = [] if program.source == support_cuda.SOURCE else self._flags
        name = compile_cache.key(program, (*flags, self._device.arch, self._version, self._users,
                                           hashlib.sha256(repr(self._headers).encode()).hexdigest()))
        cached = self._cache.get(name, program)
        if cached is not None:
            return cached
        begin = time.monotonic()
        try:
            binary, symbols, log = self._run(program, flags)
        except CompileError:
            if not self._for_nvcc(program.source, flags):
                raise
            binary, log = compile_nvcc.compile_cubin(program.source, self._device.arch, flags)
            symbols = tuple(la.kernel for la in program.launches)
        built = Built(program, binary, symbols,
                      self._resources(program, binary, symbols, log, time.monotonic() - begin), log)
        self._cache.put(name, built)
        return built

    def _for_nvcc(self, source: str, flags: list[str]) -> bool:
        """Whether it is the headers that NVRTC cannot take, and nvcc can: the same then holds for the baseline and
        every candidate of it."""
        alone = compile_nvcc.headers_alone(source)
        key = (alone, tuple(flags))
        if key not in self._nvcc:
            self._nvcc[key] = compile_nvcc.available() and not self._takes(alone, flags)
        return self._nvcc[key]

    def _takes(self, source: str, flags: list[str]) -> bool:
        try:
            self._run(Program(source + EMPTY, (Launch("evo_empty", ("1", "1", "1"), (1, 1, 1)),)), flags)
        except CompileError:
            return False
        return True

    def _run(self, program: Program, flags: list[str]) -> tuple[bytes, tuple[str, ...], str]:
        names = list(self._headers)
        handle = _checked(nvrtc.nvrtcCreateProgram(
            program.source.encode(), b"kernel.cu", len(names), [self._headers[n].encode() for n in names],
            [n.encode() for n in names]))
        try:
            for launch in program.launches:
                _checked(nvrtc.nvrtcAddNameExpression(handle, launch.kernel.encode()))
            options = [f"--gpu-architecture={self._device.arch}", "--ptxas-options=-v", "-default-device",
                       *prelude.options(program.source), *(f"-I{f}" for f in self._folders), *flags]
            if not any(o.startswith(("-std", "--std")) for o in options):
                options.append("--std=c++17")
            encoded = [o.encode() for o in options]
            (status,) = nvrtc.nvrtcCompileProgram(handle, len(encoded), encoded)
            log = self._log(handle)
            if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
                missing = _NO_KERNEL.search(log)
                raise CompileError(f"error: there is no kernel '{missing[1]}' in the source" if missing else
                                   log or str(status))
            symbols = tuple(_checked(nvrtc.nvrtcGetLoweredName(handle, la.kernel.encode())).decode()
                            for la in program.launches)
            binary = bytearray(_checked(nvrtc.nvrtcGetCUBINSize(handle)))
            buffer = b" " * len(binary)  # the binding writes into the bytes object
            _checked(nvrtc.nvrtcGetCUBIN(handle, buffer))
            return buffer, symbols, log
        finally:
            nvrtc.nvrtcDestroyProgram(handle)

    def _log(self, handle: Any) -> str:
        size = _checked(nvrtc.nvrtcGetProgramLogSize(handle))
        buffer = b" " * size
        _checked(nvrtc.nvrtcGetProgramLog(handle, buffer))
        return str(buffer.rstrip(b"\0 \n"), errors="replace")

    def _resources(self, program: Program, binary: bytes, symbols: tuple[str, ...], log: str,
                   seconds: float) -> Resources:
        """The largest use over the program's launches, the least occupancy; code bytes in sum."""
        uses = ptxas.parse(log)
        each = [uses.get(s, ptxas.KernelUse()) for s in symbols]
        shared = [u.shared + la.shared_bytes for u, la in zip(each, program.launches, strict=True)]
        levels = [occupancy(self._device, la.block[0] * la.block[1] * la.block[2], u.registers, s)
                  for u, la, s in zip(each, program.launches, shared, strict=True)]
        facts = Resources(
            registers=max(u.registers for u in each), spill_bytes=max(u.spill for u in each),
            stack_bytes=max(u.stack for u in each), shared_bytes=max(shared),
            constant_bytes=max(u.constant for u in each), code_bytes=elf.code_bytes(binary), occupancy=min(levels))
        digest = hashlib.sha256(elf.behaviour_hash(binary, symbols).encode())
        digest.update(repr((facts, program.geometry)).encode())
        return Resources(**{**vars(facts), "compile_seconds": seconds, "binary": digest.hexdigest()[:32]})


def _checked(result: tuple[Any, ...]) -> Any:
    """The values of an NVRTC call. Raises :class:`CompileError` on any other status than success."""
    status, *values = result
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise CompileError(f"NVRTC: {status.name}")
    return values[0] if len(values) == 1 else values
