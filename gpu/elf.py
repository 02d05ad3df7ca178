"""A minimal reader of 64-bit little-endian ELF files: sections by name, and what decides behaviour in a binary.

Layout: Tool Interface Standard, Executable and Linking Format, version 1.2. NVIDIA's cubins and PoCL's kernels are
both ordinary ELF files in this respect.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELA = struct.Struct("<QQq")
SHT_NOBITS, SHT_SYMTAB, SHT_RELA = 8, 2, 4


class NotElf(ValueError):
    """The bytes are no 64-bit little-endian ELF file, or a damaged one."""


@dataclass(frozen=True)
class Section:
    name: str
    kind: int
    data: bytes  # empty for sections without file content
    size: int
    link: int
    info: int


def sections(binary: bytes) -> list[Section]:
    """All sections in file order. Raises :class:`NotElf`."""
    try:
        head = _HEADER.unpack_from(binary)
        if head[0][:6] != b"\x7fELF\x02\x01":
            raise NotElf("not a 64-bit little-endian ELF file")
        offset, entry, count, strings = head[6], head[11], head[12], head[13]
        raw = [_SECTION.unpack_from(binary, offset + i * entry) for i in range(count)]
        names = binary[raw[strings][4]:raw[strings][4] + raw[strings][5]]
        result = []
        for name, kind, _flags, _address, at, size, link, info, _align, _entsize in raw:
            data = b"" if kind == SHT_NOBITS else binary[at:at + size]
            result.append(Section(_string(names, name), kind, data, size, link, info))
        return result
    except (struct.error, IndexError) as e:
        raise NotElf(f"damaged ELF file: {e}") from e


def _string(table: bytes, offset: int) -> str:
    return table[offset:table.index(b"\0", offset)].decode(errors="replace")


# .text: instructions. .rodata, .nv.constant*, .nv.global.init: data they read.
_BEHAVIOUR = (".text", ".rodata", ".nv.constant", ".nv.global.init", ".data")


def behaviour_hash(binary: bytes, order: tuple[str, ...] = ()) -> str:
    """A hash over code and constants that does not depend on what symbols are called.

    Sections named after a kernel are taken in the ``order`` of kernel symbols given, others in file order.
    Relocations enter by offset, type, addend and the place that they resolve to, never by name.
    """
    found = sections(binary)
    symbols: list[tuple[int, int]] = []
    for section in found:
        if section.kind == SHT_SYMTAB:
            symbols = [(s[3], s[4]) for s in _SYMBOL.iter_unpack(section.data)]
    wanted = [(_rank(s.name, order), i, s) for i, s in enumerate(found) if s.name.startswith(_BEHAVIOUR)]
    wanted.sort(key=lambda item: item[:2])
    place = {index: rank for rank, (_, index, _) in enumerate(wanted)}
    digest = hashlib.sha256()
    for rank, index, section in wanted:
        digest.update(repr((_kind(section.name), rank, section.size)).encode())
        digest.update(section.data)
        for rela in found:
            if rela.kind == SHT_RELA and rela.info == index:
                for offset, info, addend in _RELA.iter_unpack(rela.data):
                    home, value = symbols[info >> 32] if info >> 32 < len(symbols) else (-1, 0)
                    digest.update(repr((offset, info & 0xFFFFFFFF, addend, place.get(home, -1), value)).encode())
    return digest.hexdigest()


def _kind(name: str) -> str:
    """``.nv.constant0.kernel`` → ``.nv.constant0``, ``.text.kernel`` → ``.text``."""
    parts = name.split(".")
    return ".".join(parts[:3]) if parts[1] == "nv" else ".".join(parts[:2])


def _rank(name: str, order: tuple[str, ...]) -> int:
    for rank, symbol in enumerate(order):
        if name.endswith("." + symbol):
            return rank
    return len(order)


def code_bytes(binary: bytes) -> int:
    return sum(s.size for s in sections(binary) if s.name.startswith(".text"))
