"""What ``--ptxas-options=-v`` prints about each kernel, as numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_FUNCTION = re.compile(r"Function properties for (\S+)")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_CUMULATIVE = re.compile(r"(\d+) bytes cumulative stack size")
_SHARED = re.compile(r"(\d+)(?:\+\d+)? bytes smem")
_CONSTANT = re.compile(r"(\d+)(?:\+\d+)? bytes cmem\[(\d+)\]")


@dataclass(frozen=True)
class KernelUse:
    """Registers per thread; bytes per thread (stack, spill stores plus loads), per block (static shared), per kernel
    (constants)."""

    registers: int = 0
    stack: int = 0
    spill: int = 0
    shared: int = 0
    constant: int = 0


def parse(log: str) -> dict[str, KernelUse]:
    """Per entry symbol. Spills of the functions that a kernel calls without inlining are counted with the kernel."""
    result: dict[str, KernelUse] = {}
    entry, stack, spill = "", 0, 0
    for line in log.splitlines():
        if found := _ENTRY.search(line):
            entry, stack, spill = found[1], 0, 0
        elif found := _STACK.search(line):
            stack = max(stack, int(found[1]))
            spill += int(found[2]) + int(found[3])
        elif found := _REGISTERS.search(line):
            cumulative, shared = _CUMULATIVE.search(line), _SHARED.search(line)
            constant = sum(int(c) for c, _ in _CONSTANT.findall(line))
            if entry:
                result[entry] = KernelUse(int(found[1]), max(stack, int(cumulative[1]) if cumulative else 0), spill,
                                          int(shared[1]) if shared else 0, constant)
    return result
