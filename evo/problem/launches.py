"""Launches ``kernel<<<grid, block>>>(...)`` in host code, as far as text tells their geometry."""

from __future__ import annotations

import re
from dataclasses import dataclass

from genome.expressions import ExpressionError
from genome.expressions import names as names_of
from genome.frontend.statements import constant

CEIL = re.compile(r"\(?\(?(?P<a>[\w.*]+)\+\(?(?P<b>[\w.]+)-1\)?\)?/(?P=b)\)?|\((?P<c>[\w.*]+)-1\)/(?P<d>[\w.]+)\+1|"
                  r"(?:cdiv|ceil_div|ceildiv|div_up|divup|iDivUp|DIVUP|CEIL_DIV|divUp)\((?P<e>[\w.*]+),(?P<f>[\w.]+)\)")


@dataclass(frozen=True)
class SeenLaunch:
    """``block`` where it is constant; ``grid``: an expression over the kernel's parameters for each axis that could be
    read. ``line`` counts from 1."""

    line: int
    block: tuple[int, int, int] | None
    grid: tuple[str, ...] | None
    shared: str


def split_arguments(text: str) -> list[str]:
    """The arguments between commas that stand in no bracket."""
    out, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += c in "([{"
        depth -= c in ")]}"
        if c == "," and depth == 0:
            out.append(text[start:i].strip())
            start = i + 1
    return [*out, text[start:].strip()] if text.strip() else []


def find_launch(text: str, kernel: str, params: list[str]) -> SeenLaunch | None:
    """The first launch of ``kernel`` in a file's (macro-expanded) text."""
    m = re.search(rf"\b{re.escape(kernel)}\s*(?:<(?!<)[^;{{}}]*?>)?\s*<<<", text)
    if m is None:
        return None
    end = text.find(">>>", m.end())
    opening = text.find("(", end)
    if end < 0 or opening < 0:
        return None
    closing, depth = opening, 0
    for i in range(opening, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            closing = i
            break
    config = split_arguments(text[m.end():end])
    if len(config) < 2:
        return None
    given = split_arguments(text[opening + 1:closing])
    rename = {a: p for a, p in zip(given, params, strict=False) if a.isidentifier()}
    before = text[:m.start()]
    block = _dimensions(config[1], before)
    sizes = [constant(_resolved(b, before)) for b in block] if block else []
    full = ([*sizes, 1, 1] + [1])[:3] if sizes and all(s is not None for s in sizes) else None
    shape = (full[0] or 1, full[1] or 1, full[2] or 1) if full else None
    grid = _dimensions(config[0], before)
    expressions = [_grid_axis(g, i, before, rename, params) for i, g in enumerate(grid)] if grid else None
    return SeenLaunch(text.count("\n", 0, m.start()) + 1, shape,
                      tuple(e or "?" for e in expressions) if expressions else None,
                      config[2] if len(config) > 2 else "0")


def _dimensions(text: str, before: str) -> list[str] | None:
    """The axes of ``dim3(16, 16)``, of a variable that was declared as one, or of a plain expression."""
    m = re.fullmatch(r"dim3\s*[({](.*)[)}]", text, re.S)
    if m:
        return split_arguments(m.group(1))
    if re.fullmatch(r"\w+", text):
        found = list(re.finditer(rf"\bdim3\s+{text}\s*(?:=\s*dim3\s*)?[({{]([^;]*)[)}}]\s*;", before))
        if not found:  # dim3 grid(..), block(..);
            found = list(re.finditer(rf"\bdim3\b[^;]*?\b{text}\s*\(([^;]*?)\)\s*[,;]", before))
        if found:
            return split_arguments(found[-1].group(1))
    return [text]


def _resolved(text: str, before: str, rounds: int = 4) -> str:
    """``text`` with variables that are set to something constant before replaced."""
    for _ in range(rounds):
        words = list(re.findall(r"(?<![\w.])[A-Za-z_]\w*(?![\w.(])", text))
        changed = False
        for w in words:
            found = re.findall(rf"(?:\b(?:int|unsigned|size_t|auto|unsigned int|long)\s+{w}|"
                               rf"\bconstexpr\s+\w+\s+{w})\s*=\s*([^;,]+)[;,]", before)
            if found and constant(found[-1]) is not None:
                text, changed = re.sub(rf"\b{w}\b", found[-1].strip(), text), True
        if not changed:
            break
    return text


def _grid_axis(text: str, axis: int, before: str, rename: dict[str, str], params: list[str]) -> str | None:
    """A grid axis over the kernel's parameters, or None where other variables stay in it."""
    letter = "xyz"[min(axis, 2)]
    for _ in range(3):
        if not re.fullmatch(r"\w+", text) or text in rename or text.isdigit():
            break
        found = re.findall(rf"\b(?:int|unsigned|size_t|auto|unsigned int)\s+{text}\s*=\s*([^;]+);", before)
        if not found:
            break
        text = found[-1]
    squeezed = re.sub(r"\s+", "", re.sub(r"\((?:unsigned|int|size_t|float|double)\)|static_cast<\w+>", "", text))
    literal = re.fullmatch(r"\(([\w.*]+)\+(\d+)\)/(\d+)", _resolved(squeezed, before))
    if literal and int(literal[2]) + 1 == int(literal[3]):
        squeezed = f"({literal[1]}+{literal[3]}-1)/{literal[3]}"
    m = CEIL.fullmatch(squeezed) or CEIL.fullmatch(_resolved(squeezed, before))
    if m:
        over = m["a"] or m["c"] or m["e"]
        by = m["b"] or m["d"] or m["f"]
        squeezed = f"ceil_div({over},{by})" if by.isdigit() else f"ceil_div({over},block_{letter})"
    out = re.sub(r"[A-Za-z_]\w*", lambda w: rename.get(w.group(), w.group()), squeezed).replace(",", ", ")
    resolved = _resolved(out, before)
    try:
        used = names_of(resolved)
    except ExpressionError:
        return None
    return resolved if used <= set(params) | {"block_x", "block_y", "block_z"} else None
