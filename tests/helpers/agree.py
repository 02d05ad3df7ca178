"""Baseline and candidate of a small kernel, interpreted on awkward sizes and compared."""

from __future__ import annotations

from benchmarks._judge import Interpreter
from genome.express import express
from genome.gene import Gene
from genome.scheduled import Scheduled
from mutators.catalogue import CATALOGUE


def differences(state: Scheduled, *genes: Gene) -> list[str]:
    """What differs between the baseline and the genome, each size's first finding; all genes must be legal."""
    after = express(state, genes, CATALOGUE, strict=True)
    judge = Interpreter("kernel")
    found = [f"{w.size} ({w.data}): {w.reason}" for w in judge.compare(state, after.state, after.effective)]
    assert judge.ran + len(found) > 0, "nothing was compared"
    return found
