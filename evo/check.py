"""``evo check``: is the problem well posed, how well can it be measured here, and is a search worth its time?"""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console

from evo.problem import Problem
from evo.space import KernelSpace
from evo.start import LIMIT, analyse, evaluator_for, language, left_out, roofline
from genome import ir
from genome.express import emit
from genome.scheduled import Scheduled
from genome.walk import walk
from gpu import statistics
from gpu.interface import Confirmation, GateReport
from gpu.records import DeviceInfo, Timing, Verdict
from gpu.timing import SHORT
from mutators.catalogue import without
from results import report, units

NEAR = 0.8  # of the roofline: little is left to gain
ROUNDED = 0.005
NOISY = 0.02  # an interval of A against A that is wider than this hides small gains

Ratio = tuple[float, float, float]  # with its 95 % interval


@dataclass(frozen=True)
class Same:
    """The baseline against itself: where the first was timed first, where it was timed second, and both."""

    first: Ratio
    second: Ratio
    both: Ratio

    @property
    def fair(self) -> bool:
        """1.00, to two digits, within its interval in both orders."""
        return all(low <= 1.0 + ROUNDED and high >= 1.0 - ROUNDED for _, low, high in (self.first, self.second))

    @property
    def width(self) -> float:
        return self.both[2] - self.both[1]


def same(a: Timing, b: Timing) -> Same:
    """From samples taken in the order A B B A: the even ones of both are neighbours with A first, the odd ones with
    A second."""
    return Same(statistics.ratio(a.samples[0::2], b.samples[0::2], 0),
                statistics.ratio(a.samples[1::2], b.samples[1::2], 0), statistics.ratio(a.samples, b.samples, 0))


def check_problem(problem: Problem, console: Console | None = None, limit: float = LIMIT) -> GateReport:
    """Prints what was found. ``limit``: seconds for the baseline's first two runs at a size. Raises InputError for a
    problem that cannot be used."""
    console = console or Console(soft_wrap=True, highlight=False)

    def say(lines: list[str]) -> None:
        for line in lines:
            console.print(line, markup=False)

    base = analyse(problem)
    with evaluator_for(problem, base, 0, limit) as evaluator:
        gate = evaluator.gate()
        say([f"{problem.name} on {evaluator.device.name}: the baseline is usable.", *times(gate)])
        say([f"  {note}" for note in (*gate.notes, *left_out(problem))])
        trial = evaluator.confirm("baseline", emit(base, language(problem)))
        say(alike(trial))
        device = evaluator.device
    roof = roofline(base, device)
    say(peaks(roof, device))
    first = gate.evaluation.timings[0]
    say(report.roofline_lines([first], roof))
    say(suits(problem, base, device, first, roof))
    return gate


def times(gate: GateReport) -> list[str]:
    lines = [f"  size {t.size}: {units.seconds(t.median)} ({units.seconds(t.low)} to {units.seconds(t.high)}), spread "
             f"{100 * t.cv:.1f} % over {len(t.samples)} samples"
             for t in (*gate.evaluation.timings, *gate.evaluation.check_timings)]
    repeats = "agree bit for bit" if gate.deterministic else f"differ by {gate.spread:.2g} tolerances"
    return [*lines, f"  repeats {repeats}"]


def alike(trial: Confirmation) -> list[str]:
    """The A/A test, and what the sanitizers say of the baseline."""
    lines = [f"  {note}" for note in trial.notes]
    if trial.evaluation.verdict is not Verdict.OK:
        return [*lines, f"  the baseline does not pass its own trial: {trial.evaluation.verdict.value}: "
                        f"{trial.evaluation.reason}"]
    found = same(trial.baseline[0], trial.candidate[0])
    text = "  A against A: {:.3f} ({:.3f} to {:.3f}) with A first, {:.3f} ({:.3f} to {:.3f}) with A second"
    lines.append(text.format(*found.first, *found.second))
    if not found.fair:
        lines.append("  the same code does not time as the same: something else is busy here, or the device's clocks "
                     "change; wait, or close it, before a search")
    elif found.width > NOISY:
        lines.append(f"  times are noisy: gains below {100 * found.width:.0f} % will hardly be seen")
    return lines


def peaks(roof: report.Roofline, device: DeviceInfo) -> list[str]:
    """What a launch must do at the first tune size, and what the device was measured to do."""
    rate = f" and does {units.rate(device.flops, 'FLOP/s')}" if device.flops > 0 else ""
    lines = [f"A launch must move {units.size(roof.bytes)} and do {units.count(round(roof.flops))} floating-point "
             f"operations; this device copies {units.rate(device.bandwidth, 'B/s')}{rate}."]
    if 0 < roof.bytes <= device.l2_bytes:
        lines.append(f"  that fits into the second-level cache ({units.size(device.l2_bytes)}): the roofline of the "
                     "memory holds for cold launches alone")
    return lines


def branches(base: Scheduled) -> int:
    """Places where control flow depends on what is read from memory."""
    count = 0
    for node in walk(base.logical.body):
        match node:
            case ir.Loop():
                count += 1
            case ir.If(cond=c) if any(isinstance(n, ir.Index) for n in walk(c)):
                count += 1
    return count


def suits(problem: Problem, base: Scheduled, device: DeviceInfo, first: Timing, roof: report.Roofline) -> list[str]:
    """Whether this kernel is one for a search, and why not."""
    space = KernelSpace(base, without(problem.veto), language(problem))
    places = space.places(space.express(()))
    against = []
    if device.backend == "cuda" and first.median < SHORT:
        against.append(f"it is bound by the launch: {units.seconds(first.median)} is hardly more than an empty kernel "
                       "takes; give it larger sizes, or more work per launch")
    floor = roof.floor
    if floor is not None and floor[0] >= NEAR * first.median:
        against.append(f"it is near the roofline: at most {units.factor(first.median / floor[0])} is left")
    if not places:
        against.append("no transform applies; evo inspect says why not")
    remarks = []
    if base.logical.blockers:
        remarks.append(f"its launch geometry cannot be changed: {base.logical.blockers[0].reason}")
    if (count := branches(base)) > 0:
        remarks.append(f"its control flow depends on data at {count} place{'s' * (count != 1)}: transforms stop there, "
                       "and times depend on the data")
    blocks = 2 ** space.express(()).features["log2_blocks"]
    if device.backend == "cuda" and blocks < device.multiprocessors:
        remarks.append(f"{blocks:.0f} blocks do not fill {device.multiprocessors} multiprocessors")
    if against:
        return ["A search has little to gain here:", *(f"  {a}" for a in (*against, *remarks))]
    names = sorted({p.mutator for p in places})
    return [f"Suits a search: {len(names)} transforms apply at {len(places)} places ({', '.join(names)}).",
            *(f"  {r}" for r in remarks)]


__all__ = ["Same", "check_problem", "same"]
