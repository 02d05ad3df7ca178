"""Facts that a cubin states about its kernels: their parameters."""

from __future__ import annotations

import struct

from gpu import elf

# .nv.info.<kernel> is a list of attributes: format byte, attribute byte, 16-bit value or payload length. The layout
# of KPARAM_INFO (32-bit index, 16-bit ordinal, 16-bit offset, 32 bits with the size in the upper 14) is what
# cuobjdump -elf prints as EIATTR_KPARAM_INFO.
_FORMAT_SIZED = 0x04
_KPARAM_INFO = 0x17


def parameter_sizes(binary: bytes, symbol: str) -> list[int] | None:
    """Bytes of each parameter in order; None when the cubin does not say (or has no such kernel)."""
    for section in elf.sections(binary):
        if section.name == f".nv.info.{symbol}":
            return _sizes(section.data)
    return None


def _sizes(data: bytes) -> list[int] | None:
    found: dict[int, int] = {}
    at = 0
    while at + 4 <= len(data):
        form, attribute, length = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == _FORMAT_SIZED:
            if attribute == _KPARAM_INFO and length >= 12:
                _, ordinal, _, packed = struct.unpack_from("<IHHI", data, at)
                found[ordinal] = packed >> 18
            at += length
    if sorted(found) != list(range(len(found))):
        return None
    return [found[i] for i in range(len(found))]
