"""The top level of a file, cut up without a parser: for files that the grammar cannot take as a whole."""

from __future__ import annotations

import re
from dataclasses import dataclass

TOKEN = re.compile(
    rb"""//[^\n]*|/\*.*?\*/|R"([^\s()\\]{0,16})\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+'|"""
    rb"""^[ \t]*\#(?:[^\n\\]|\\.)*|[{}();]""", re.S | re.M)
CONTAINER = re.compile(rb'\s*(?:(?:inline\s+)?namespace\b[^;(){}=]*|extern\s*"C")\s*$', re.S)
COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*|^[ \t]*#(?:[^\n\\]|\\.)*", re.S | re.M)
DEVICE = re.compile(rb"\b(__device__|__global__|constexpr|__constant__|__shared__)\b")
TYPE = re.compile(rb"\s*(?:template\s*<.*>\s*)?(?:typedef\s+)?(?:struct|class|union|enum)\b", re.S)


@dataclass(frozen=True)
class Chunk:
    """A declaration or definition at the top level, by byte range; ``body`` is the range of a function's braces."""

    start: int
    end: int
    body: tuple[int, int] | None
    head: bytes

    @property
    def host(self) -> bool:
        """A function that is not marked for the device."""
        return self.body is not None and DEVICE.search(self.head) is None


def top_level(code: bytes) -> list[Chunk]:
    """The chunks of ``code`` in order. Namespaces and ``extern "C"`` blocks are seen through; directives belong to no
    chunk."""
    out: list[Chunk] = []
    start = at = 0
    depth = parens = containers = 0
    body_start = -1
    for m in TOKEN.finditer(code):
        token = m.group(0)
        if depth == 0 and parens == 0 and token[:1] not in b"{}();" and not code[start:m.start()].strip():
            start = m.end()  # comments and directives in front
            continue
        if len(token) != 1 or token not in b"{}();":
            continue
        if token == b"(":
            parens += 1
        elif token == b")":
            parens = max(0, parens - 1)
        elif token == b"{":
            if depth == 0:
                if CONTAINER.match(COMMENT.sub(b" ", code[start:m.start()])):
                    containers += 1
                    start = m.end()
                    continue
                body_start = m.start()
                parens = 0
            depth += 1
        elif token == b"}":
            if depth == 0:
                containers = max(0, containers - 1)
                start = m.end()
                continue
            depth -= 1
            if depth == 0:
                head = COMMENT.sub(b" ", code[start:body_start])
                if b")" in head and not TYPE.match(head) and not re.search(rb"=\s*$", head):
                    out.append(Chunk(start, m.end(), (body_start, m.end()), head))
                    start = m.end()
        elif depth == 0 and parens == 0:  # a semicolon
            out.append(Chunk(start, m.end(), None, COMMENT.sub(b" ", code[start:m.end()])))
            start = m.end()
        at = m.end()
    if code[start:].strip() and at > start:
        out.append(Chunk(start, len(code), None, code[start:]))
    return out


def blanked(code: bytes, start: int, end: int) -> bytes:
    """``code`` with a range replaced by blanks; line ends stay."""
    return code[:start] + re.sub(rb"[^\n]", b" ", code[start:end]) + code[end:]
