"""Two-dimensional plots as inline SVG: no library, no external resource."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Point = tuple[float, float]
_WIDTH, _HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 16, 16, 48


@dataclass(frozen=True)
class Axis:
    """``text`` turns a value into a tick's label; ``log`` needs positive values."""

    title: str
    text: Callable[[float], str]
    log: bool = False


def svg(title: str, x: Axis, y: Axis, dots: Sequence[tuple[Point, str]] = (), line: Sequence[Point] = (),
        stairs: bool = False) -> str:
    """Scattered ``dots`` (with the text shown when the pointer rests on one) and one ``line``, joined by steps when
    ``stairs``. Points that are not finite, or not positive on a logarithmic axis, are left out."""
    dots = [(p, t) for p, t in dots if _plottable(p, x, y)]
    line = [p for p in line if _plottable(p, x, y)]
    points = [p for p, _ in dots] + list(line)
    if not points:
        return f'<p class="empty">{html.escape(title)}: nothing was measured.</p>'
    sx = _scale([p[0] for p in points], x.log, _LEFT, _WIDTH - _RIGHT)
    sy = _scale([p[1] for p in points], y.log, _HEIGHT - _BOTTOM, _TOP)
    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{html.escape(title, quote=True)}">',
             f'<rect x="{_LEFT}" y="{_TOP}" width="{_WIDTH - _LEFT - _RIGHT}" height="{_HEIGHT - _TOP - _BOTTOM}" '
             'class="frame"/>']
    for v in ticks(min(p[0] for p in points), max(p[0] for p in points), x.log):
        parts.append(f'<line x1="{sx(v):.1f}" x2="{sx(v):.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}" class="grid"/>'
                     f'<text x="{sx(v):.1f}" y="{_HEIGHT - _BOTTOM + 16}" class="mid">{html.escape(x.text(v))}</text>')
    for v in ticks(min(p[1] for p in points), max(p[1] for p in points), y.log):
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{sy(v):.1f}" y2="{sy(v):.1f}" class="grid"/>'
                     f'<text x="{_LEFT - 6}" y="{sy(v) + 4:.1f}" class="end">{html.escape(y.text(v))}</text>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 10}" class="mid">{html.escape(x.title)}</text>'
                 f'<text x="14" y="{_HEIGHT / 2}" class="mid" transform="rotate(-90 14 {_HEIGHT / 2})">'
                 f"{html.escape(y.title)}</text>")
    for (a, b), text in dots:
        parts.append(f'<circle cx="{sx(a):.1f}" cy="{sy(b):.1f}" r="2.5" class="dot"><title>{html.escape(text)}</title>'
                     "</circle>")
    if line:
        path = f"M{sx(line[0][0]):.1f} {sy(line[0][1]):.1f}"
        for a, b in line[1:]:
            path += f"H{sx(a):.1f}V{sy(b):.1f}" if stairs else f"L{sx(a):.1f} {sy(b):.1f}"
        parts.append(f'<path d="{path}" class="line"/>')
    return "".join(parts) + "</svg>"


def ticks(low: float, high: float, log: bool) -> list[float]:
    """At most about six round values within [low, high]; the ends where no round value lies between."""
    if log:
        found = [m * 10.0**e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
                 for m in (1, 2, 5)]
        inside = [v for v in found if low <= v <= high]
        if len(inside) > 6:
            inside = [v for v in inside if math.isclose(v, 10.0 ** round(math.log10(v)))]
        inside = inside[::math.ceil(len(inside) / 6)] if inside else inside
        return inside if len(inside) > 1 else sorted({low, high})
    if high <= low:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / 3))
    step *= next((m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= 5), 10)
    first = math.ceil(low / step)
    values = [k * step for k in range(first, first + 8) if k * step <= high]
    return values if len(values) > 1 else [low, high]


def _plottable(p: Point, x: Axis, y: Axis) -> bool:
    return all(math.isfinite(v) and (v > 0 or not axis.log) for v, axis in zip(p, (x, y), strict=True))


def _scale(values: Sequence[float], log: bool, start: float, end: float) -> Callable[[float], float]:
    def place(v: float) -> float:
        return math.log10(v) if log else v

    low, high = place(min(values)), place(max(values))
    spread = (high - low) or 1.0
    return lambda v: start + (end - start) * (0.04 + 0.92 * (place(v) - low) / spread)
