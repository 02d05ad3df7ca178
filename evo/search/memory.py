"""What the running search knows of every candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evo.search import gains
from evo.search.policy import Trace
from evo.search.reward import Outcome
from genome.gene import Genome
from gpu.records import Evaluation, Verdict
from surrogate.features import Row
from surrogate.screen import Choice

BASELINE = "baseline"


@dataclass
class Record:
    """One candidate from proposal to verdict. ``gain`` and ``low`` are ln(baseline / time) and its lower bound,
    meaningful when ``timed``."""

    key: str
    agent: str
    parents: tuple[str, ...]
    operation: str
    genome: Genome
    genome_key: str
    features: Mapping[str, float]
    trace: Trace = field(default_factory=Trace)
    row: Row = field(default_factory=dict)
    choice: Choice | None = None
    program_key: str = ""
    against: str = ""  # what the reward compares with; differs from the parent where a sketch starts anew
    evaluation: Evaluation | None = None
    timed: bool = False
    gain: float = 0.0
    low: float = 0.0
    outcome: Outcome = field(default_factory=Outcome)


class Memory:
    """All records by key, and the genomes and programs that need no second measurement."""

    def __init__(self, weights: Sequence[float]) -> None:
        self.weights = tuple(weights)
        self.records: dict[str, Record] = {}
        self.genomes: set[str] = set()
        self.programs: dict[str, str] = {}  # program key -> candidate key
        self.binaries: dict[str, str] = {}  # binary hash -> key of the first timed candidate
        self.counts: dict[Verdict, int] = {}

    @property
    def baseline(self) -> Record:
        return self.records[BASELINE]

    def add(self, record: Record) -> None:
        self.records[record.key] = record
        self.genomes.add(record.genome_key)
        if record.program_key:
            self.programs.setdefault(record.program_key, record.key)

    def twin(self, e: Evaluation) -> Record | None:
        """The measured candidate with the same binary."""
        key = self.binaries.get(e.resources.binary) if e.resources.binary else None
        return self.records[key] if key is not None and key != e.key else None

    def judge(self, record: Record, e: Evaluation, potential: float, overrun: float = 0.0) -> None:
        """Files the verdict. A duplicate without samples takes its twin's."""
        timings = e.timings
        if e.verdict is Verdict.DUPLICATE and not timings and (twin := self.twin(e)) is not None:
            assert twin.evaluation is not None
            timings = twin.evaluation.timings
        seen = Evaluation(e.key, e.verdict, e.reason, e.resources, timings, device_seconds=e.device_seconds)
        record.evaluation = seen
        record.timed = gains.timed(seen)
        if record.key != BASELINE:
            self.counts[e.verdict] = self.counts.get(e.verdict, 0) + 1
        if record.timed:
            base = seen if record.key == BASELINE else self.baseline.evaluation
            assert base is not None
            record.gain = gains.gain(base.timings, timings, self.weights)
            record.low = gains.gain_low(base.timings, timings, self.weights)
            if e.resources.binary and e.verdict is not Verdict.DUPLICATE:
                self.binaries.setdefault(e.resources.binary, record.key)
        record.outcome = Outcome(e.verdict, gains.medians(seen), gains.spread(seen), e.resources.spill_bytes, overrun,
                                 potential)

    def lineage(self, key: str, steps: int) -> list[Record]:
        """The candidate and its first parents, at most ``steps`` records, the baseline left out."""
        out: list[Record] = []
        while key in self.records and key != BASELINE and len(out) < steps:
            out.append(self.records[key])
            if not out[-1].parents:
                break
            key = out[-1].parents[0]
        return out
