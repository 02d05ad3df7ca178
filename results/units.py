"""Numbers as people read them: three digits and an engineering unit."""

from __future__ import annotations

import math

UNKNOWN = "–"


def seconds(value: float | None) -> str:
    """A time as ``12.3 ms``; ``–`` for None and what is no finite number."""
    return scaled(value, (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)))


def size(value: float | None) -> str:
    """Bytes as ``48 KiB``."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(value) >= factor:
            return f"{three(value / factor).removesuffix('.0')} {unit}"
    return f"{value:.0f} B"


def rate(value: float | None, unit: str) -> str:
    """A quantity per second as ``5.30 TFLOP/s`` (``unit`` is ``FLOP/s``)."""
    steps = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))
    return scaled(value, tuple((prefix + unit, factor) for prefix, factor in steps))


def factor(value: float | None) -> str:
    """A ratio as ``4.85x``."""
    return UNKNOWN if value is None or not math.isfinite(value) else f"{three(value)}x"


def duration(value: float) -> str:
    """A span of wall-clock time as ``45 s``, ``4m 32s``, ``2h 05m``."""
    if not math.isfinite(value):
        return UNKNOWN
    total = int(max(0.0, value) + 0.5)
    if total < 60:
        return f"{total} s"
    if total < 3600:
        return f"{total // 60}m {total % 60:02d}s"
    return f"{total // 3600}h {total % 3600 // 60:02d}m"


def count(value: float) -> str:
    """A count with thousands separators; above a million ``1.23 million``."""
    if not math.isfinite(value):
        return UNKNOWN
    for name, factor_ in (("billion", 1e9), ("million", 1e6)):
        if abs(value) >= factor_:
            return f"{three(value / factor_)} {name}"
    return f"{value:,.0f}"


def scaled(value: float | None, steps: tuple[tuple[str, float], ...]) -> str:
    """``value`` in the largest unit of ``steps`` (descending) in which it reads at least 1."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return f"0 {steps[0][0]}"
    for unit, factor_ in steps:
        # 0.9995 ms would read "1000 us" after rounding, so the step is taken a little earlier.
        if abs(value) >= factor_ * 0.99949:
            return f"{three(value / factor_)} {unit}"
    unit, factor_ = steps[-1]
    return f"{three(value / factor_)} {unit}"


def three(value: float) -> str:
    """Three digits without an exponent; below one two decimals, three below a tenth."""
    magnitude = abs(value)
    if magnitude >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if magnitude >= 9.995 else f"{value:.2f}" if magnitude >= 0.0995 else f"{value:.3f}"
