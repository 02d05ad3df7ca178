"""What a run remembers of each candidate. Plain data, written before it is acted on."""

from __future__ import annotations

from dataclasses import dataclass, field

from genome.gene import Genome


@dataclass(frozen=True)
class Candidate:
    """One individual, from proposal to verdict. ``key`` is unique in the run (``c000123``; the baseline is
    ``baseline``). ``genome`` is the effective one. ``predicted`` and ``gain`` are ln(baseline time / time)."""

    key: str
    agent: str
    round: int
    parents: tuple[str, ...]
    genome: Genome
    operation: str = ""  # "append", "replace", "reparameterise", "delete", "splice", "exchange", "baseline"
    features: dict[str, float] = field(default_factory=dict)
    predicted: float | None = None
    explored: bool = False  # chosen by the random share, not by the screen
    preconditions: tuple[str, ...] = ()
    source: str = ""  # always the CUDA text
    launches: str = ""  # JSON, see genome.program.launches_to_json
    seconds: float = 0.0  # since the run began, when proposed
    source_opencl: str = ""  # what ran, where the back end was OpenCL
    select: str = ""  # of a dispatch table: see genome.program.Program
