"""Builder child for OpenCL: compiles a candidate and, since it owns a device too, runs the small checks on it.

A compiler or kernel that crashes or hangs takes this process along and nothing else; the device worker only ever sees
binaries that passed. PoCL 3.0 miscompiles some barrier loops when it optimises, so a candidate that fails the small
checks is built again with ``-cl-opt-disable``: right there means that the compiler is at fault. The verdict stays
WRONG (the optimised build is what would be timed and used), the reason says so.
"""

from __future__ import annotations

import hashlib
import time

import pyopencl as cl

from genome.program import Program
from gpu import compile_cache, elf, opencl
from gpu.build import Built, CompileError
from gpu.child_main import Tell
from gpu.compile_common import BuilderConfig, BuilderRole
from gpu.records import Resources
from gpu.session import Session
from gpu.session_opencl import OpenClSession


class Builder(BuilderRole):
    def __init__(self, config: BuilderConfig, tell: Tell) -> None:
        super().__init__(OpenClCompiler(config), config, tell)


class OpenClCompiler:
    def __init__(self, config: BuilderConfig) -> None:
        self._config = config
        self._opencl = OpenClSession()
        self._cache = compile_cache.Cache(config.cache_dir)
        self._users = compile_cache.headers(config.flags)  # once: nobody edits headers during a run

    @property
    def session(self) -> Session:
        return self._opencl

    def compile(self, program: Program, optimise: bool) -> Built:
        """Raises :class:`CompileError` with the compiler's message."""
        info = self._opencl.info
        parts = (*self._config.flags, self._users, str(optimise), info.name, info.driver, info.arch)
        name = compile_cache.key(program, parts)
        cached = self._cache.get(name, program)
        if cached is not None:
            return cached
        begin = time.monotonic()
        source = opencl.prepare(program, self._config.flags)
        try:
            compiled = cl.Program(self._opencl.context, source).build(
                opencl.options(self._config.flags, optimise))
            present = {k.strip() for k in compiled.get_info(cl.program_info.KERNEL_NAMES).split(";")}
            missing = [la.kernel for la in program.launches if la.kernel not in present]
            if missing:
                raise CompileError(f"there is no kernel '{missing[0]}' in the source, only "
                                   + ", ".join(sorted(present)))
            binary = compiled.get_info(cl.program_info.BINARIES)[0]
            shared = max(cl.Kernel(compiled, la.kernel).get_work_group_info(
                cl.kernel_work_group_info.LOCAL_MEM_SIZE, self._opencl.device) + la.shared_bytes
                for la in program.launches)
        except cl.Error as e:
            raise CompileError(opencl.message(e)) from e
        resources = Resources(shared_bytes=shared, code_bytes=_code_bytes(binary),
                              compile_seconds=time.monotonic() - begin, binary=_identity(binary, program))
        built = Built(program, binary, tuple(la.kernel for la in program.launches), resources)
        self._cache.put(name, built)
        return built


def _objects(binary: bytes) -> list[bytes]:
    """The ELF files that PoCL packs into a program binary, found by their header; each runs to the next one."""
    marks = []
    at = binary.find(b"\x7fELF\x02\x01")
    while at >= 0:
        marks.append(at)
        at = binary.find(b"\x7fELF\x02\x01", at + 1)
    return [binary[a:b] for a, b in zip(marks, [*marks[1:], len(binary)], strict=True)]


def _code_bytes(binary: bytes) -> int:
    try:
        return sum(elf.code_bytes(o) for o in _objects(binary))
    except elf.NotElf:
        return 0


def _identity(binary: bytes, program: Program) -> str:
    """Two programs with the same machine code, constants and launches are the same; without an ELF file inside, only
    identical binaries are."""
    digest = hashlib.sha256(repr(program.geometry).encode())
    try:
        objects = [elf.behaviour_hash(o) for o in _objects(binary)]
    except elf.NotElf:
        objects = []
    digest.update("".join(objects).encode() if objects else binary)
    return digest.hexdigest()[:32]
