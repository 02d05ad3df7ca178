"""Broken CUDA files: corpus files with bytes flipped, parts deleted, doubled or moved, tokens swapped, ends cut off."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from random import Random

from genome.printer.cuda import print_kernel
from genome.unit import SourceUnit

TOKEN = re.compile(rb'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\w+|[^\s\w]')
WORD = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|\w+')
STRAYS = (b"{", b"}", b"(", b")", b"[", b"]", b";", b"#", b'"', b"'", b"\\", b"/*", b"*/", b"//", b"<", b">", b"::",
          b"template", b"__global__", b"asm", b"#if", b"#endif", b"#define", b"R\"(", b"\0", b"\xff", b"\xc3",
          b"#include", b"return", b"for", b"- -", b"? :", b"0x", b"1e", b"operator", b"auto", b"goto")
KINDS = ("flip", "delete", "double", "swap", "truncate", "insert", "exchange")


def mutant(text: bytes, rng: Random) -> tuple[bytes, int, str]:
    """(the broken text, where it was broken first, how)."""
    kind = rng.choice(KINDS)
    at = rng.randrange(len(text))
    match kind:
        case "flip":
            raw = bytearray(text)
            for _ in range(rng.choice((1, 1, 1, 4))):
                i = rng.randrange(len(raw))
                raw[i] ^= 1 << rng.randrange(8)
                at = min(at, i)
            return bytes(raw), at, kind
        case "delete":
            return text[:at] + text[at + rng.choice((1, 1, 3, 20, 200)):], at, kind
        case "double":
            part = text[at:at + rng.choice((1, 5, 60))]
            return text[:at] + part + text[at:], at, kind
        case "truncate":
            return text[:at], at, kind
        case "insert":
            return text[:at] + rng.choice(STRAYS) + text[at:], at, kind
    tokens = list(TOKEN.finditer(text))
    i = rng.randrange(len(tokens))
    j = min(len(tokens) - 1, i + rng.randrange(1, 6)) if kind == "swap" else rng.randrange(len(tokens))
    a, b = tokens[min(i, j)], tokens[max(i, j)]
    if a.start() == b.start():
        return text, a.start(), kind
    return text[:a.start()] + b[0] + text[a.end():b.start()] + a[0] + text[b.end():], a.start(), kind


# Words whose spelling or number is the printer's own: types and qualifiers that a declaration spreads over several,
# words for operators.
SPELLED = frozenset(
    "int long short unsigned signed char bool void const constexpr volatile register static inline extern struct "
    "typename and or not __restrict__ __restrict restrict __inline__ __forceinline__ __global__ __launch_bounds__ "
    "_Pragma".split())


def words(text: str) -> Counter[str]:
    """How often each name, number and literal occurs; numbers by their value, renamed variables by their old name."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"(?m)^\s*#\s*(?:line|pragma)\b.*$", "", text)
    out: Counter[str] = Counter()
    for w in WORD.findall(text):
        if w[0].isdigit():
            try:
                bare = w.rstrip("uUlL").replace("'", "")
                w = str(int(bare, 8 if re.fullmatch(r"0[0-7]+", bare) else 0))
            except ValueError:
                pass
        elif not w.startswith(('"', "'")):
            w = re.sub(r"(?<=.)_\d+$", "", w)
        if w not in SPELLED:
            out[w] += 1
    return out


def dropped(unit: SourceUnit) -> Counter[str]:
    """Words of the body's own text that are not in what is printed of the kernel. (The parameter list may have default
    arguments, which concern the host alone.)"""
    text = unit.original
    return words(text[text.index("{", text.index(unit.kernel.name)):]) - words(print_kernel(unit.kernel))


def files(folder: Path) -> list[bytes]:
    return [p.read_bytes() for p in sorted(folder.glob("*.cu"))]
