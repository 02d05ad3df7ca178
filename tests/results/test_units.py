from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results import units


@pytest.mark.parametrize(("value", "text"), [
    (0.0123, "12.3 ms"), (1.0, "1.00 s"), (2.7e-6, "2.70 us"), (0.0009999, "1.00 ms"), (0.0009995, "1.00 ms"),
    (999.4e-6, "999 us"), (5e-10, "0.50 ns"), (0, "0 s"), (None, "–"), (math.nan, "–"), (math.inf, "–"),
    (250, "250 s")])
def test_seconds(value: float | None, text: str) -> None:
    assert units.seconds(value) == text


@given(st.floats(1e-9, 999))
def test_seconds_keep_three_digits(value: float) -> None:
    number, unit = units.seconds(value).split(" ")
    factor = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]
    assert float(number) * factor == pytest.approx(value, rel=0.0051)
    assert float(number) < 1000 and len(number.replace(".", "")) <= 4


@pytest.mark.parametrize(("call", "text"), [
    (lambda: units.size(49152), "48 KiB"), (lambda: units.size(512), "512 B"),
    (lambda: units.size(1.5 * 2**30), "1.50 GiB"),
    (lambda: units.rate(5.3e12, "FLOP/s"), "5.30 TFLOP/s"), (lambda: units.factor(4.849), "4.85x"),
    (lambda: units.duration(59.6), "1m 00s"), (lambda: units.duration(272), "4m 32s"),
    (lambda: units.duration(7500), "2h 05m"), (lambda: units.count(12345), "12,345"),
    (lambda: units.count(2.5e6), "2.50 million"), (lambda: units.size(None), "–"), (lambda: units.factor(None), "–")])
def test_others(call, text: str) -> None:
    assert call() == text
