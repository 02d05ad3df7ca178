"""Reading and analysis are quick: the median over the corpus, in processor time."""

from __future__ import annotations

import statistics
import time

from benchmarks._frontend_worker import analysed
from tests.corpus.tools import CASES, load

READ, ANALYSE = 25.0, 150.0  # milliseconds a kernel


def test_reading_and_all_analyses() -> None:
    reading, analysing = [], []
    for name in CASES[::3]:
        begin = time.process_time()
        unit = load(name)
        reading.append((time.process_time() - begin) * 1e3)
        analysing.append(analysed(unit, None)[1])
    assert statistics.median(reading) < READ, reading
    assert statistics.median(analysing) < ANALYSE, analysing
