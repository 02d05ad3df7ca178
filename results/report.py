"""The last words of a run, as plain text: what was found, where it loses, what it cost, what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpu.interface import Confirmation
from gpu.records import Timing
from results import beside, units
from results.explain import Ladder
from results.records import Candidate
from results.store import BASELINE, RefusalCount, Store


@dataclass(frozen=True)
class Roofline:
    """What the baseline has to do at one tune size, and what the device can do: bytes and FLOP per launch, bytes/s and
    FLOP/s (0: not known)."""

    bytes: float = 0.0
    flops: float = 0.0
    bandwidth: float = 0.0
    rate: float = 0.0

    @property
    def floor(self) -> tuple[float, str] | None:
        """Shortest possible time in seconds, and by what it is bound; None when nothing is known."""
        bounds = []
        if self.bytes > 0 and self.bandwidth > 0:
            bounds.append((self.bytes / self.bandwidth, "memory bandwidth"))
        if self.flops > 0 and self.rate > 0:
            bounds.append((self.flops / self.rate, "arithmetic"))
        return max(bounds, default=None)


@dataclass(frozen=True)
class SizeLine:
    """One size: times in seconds, speed-up with its interval (NaN where it was not measured)."""

    size: str
    kind: str  # "tune" or "check"
    baseline: float
    champion: float
    speedup: float
    low: float
    high: float

    @property
    def loses(self) -> bool:
        """Slower than the baseline, and not by chance."""
        return self.high < 1.0 or (math.isnan(self.high) and self.speedup < 1.0)


def final_lines(store: Store, *, ladder: Ladder | None = None, files: Sequence[Path | str] = (),
                next_command: str = "", roofline: Roofline | None = None) -> list[str]:
    """The closing lines of ``evo run``. ``ladder`` defaults to the run's last "ladder" event. Without an improvement:
    how near the baseline is to the roofline, and which refusals block most."""
    champion = store.champion()
    if champion is None:
        return [*no_gain(store, roofline), *written(files, next_command)]
    final = store.confirmation(champion.key)
    sizes = size_lines(store, champion.key)
    lines = [headline(champion, sizes, final)]
    lines += genes(champion, ladder or stored_ladder(store, champion))
    lines += speedups(sizes)
    lines += beside.all_lines(store, champion, sizes)
    if champion.preconditions:
        lines += ["Holds when:", *(f"  {p}" for p in champion.preconditions)]
    lines += payback(store.elapsed(), sizes)
    return [*lines, *written(files, next_command)]


def headline(champion: Candidate, sizes: Sequence[SizeLine], final: Confirmation | None) -> str:
    state = "confirmed on fresh data" if final is not None and final.accepted else "provisional: not confirmed"
    tuned = [s.speedup for s in sizes if s.kind == "tune" and s.speedup > 0]
    mean = math.exp(sum(map(math.log, tuned)) / len(tuned)) if tuned else None
    return f"Champion {champion.key} ({champion.agent}): speed-up {units.factor(mean)} over the baseline, {state}."


def size_lines(store: Store, key: str) -> list[SizeLine]:
    """Baseline against candidate on every size: from its confirmation, else from the evaluations of the run."""
    final = store.confirmation(key)
    if final is None:
        base, mine = store.baseline(), store.evaluation(key)
        before = () if base is None else (*base.timings, *base.check_timings)
        after: tuple[Timing, ...] = (*mine.timings, *mine.check_timings)
        check = {t.size for t in mine.check_timings}
        intervals: dict[str, tuple[float, float, float]] = {}
    else:
        before, after = final.baseline, final.candidate
        check = {t.size for t in final.evaluation.check_timings} - {t.size for t in final.evaluation.timings}
        intervals = {s: (r, low, high) for s, r, low, high in final.speedups}
    times = {t.size: t.median for t in before}
    lines = []
    for t in after:
        b = times.get(t.size, math.nan)
        nothing = (b / t.median if t.median > 0 else math.nan, math.nan, math.nan)
        ratio, low, high = intervals.get(t.size, nothing)
        lines.append(SizeLine(t.size, "check" if t.size in check else "tune", b, t.median, ratio, low, high))
    return lines


def stored_ladder(store: Store, champion: Candidate) -> Ladder | None:
    """The run's last "ladder" event when it is the champion's: all its genes are the champion's own."""
    for event in reversed(store.events("ladder")):
        found = Ladder.from_dict(event.data)
        if set(found.genome) | set(found.dropped) == set(champion.genome):
            return found
    return None


def genes(champion: Candidate, ladder: Ladder | None) -> list[str]:
    """Each gene with the time after it and the factor it brought; the bare genes where nothing was measured."""
    if ladder is None:
        return ["Its genes, in order:", *(f"  {g}" for g in champion.genome)]
    rows = [(" + ".join(map(str, s.genes)) or "baseline", units.seconds(s.seconds),
             units.factor(s.factor) if s.genes else "") for s in ladder.steps]
    width = min(72, max(len(r[0]) for r in rows))
    lines = ["What each gene brought, in order:"]
    lines += [f"  {name:<{width}}  {time:>8}  {factor:>6}".rstrip() for name, time, factor in rows]
    if ladder.dropped:
        lines.append(f"  without effect: {', '.join(map(str, ladder.dropped))}")
    return lines


def speedups(sizes: Sequence[SizeLine]) -> list[str]:
    if not sizes:
        return []
    width = max(len(s.size) for s in sizes)
    lines = ["Speed-up by size (95 % interval):"]
    for s in sizes:
        interval = "" if math.isnan(s.low) else f" ({s.low:.2f} to {s.high:.2f})"
        mark = "  LOSES" if s.loses else ""
        lines.append(f"  {s.kind:<5}  {s.size:<{width}}  {units.seconds(s.baseline):>8} -> "
                     f"{units.seconds(s.champion):>8}  {units.factor(s.speedup)}{interval}{mark}")
    losing = [s.size for s in sizes if s.loses]
    if losing:
        lines.append(f"  It loses on {', '.join(losing)}: keep the baseline there.")
    return lines


def payback(search: float, sizes: Sequence[SizeLine]) -> list[str]:
    """After how many launches the search (seconds) has paid for itself, at each tune size that gains."""
    lines = []
    for s in sizes:
        saved = s.baseline - s.champion
        if s.kind == "tune" and saved > 0:
            lines.append(f"The search took {units.duration(search)}; {units.count(math.ceil(search / saved))} launches "
                         f"at {s.size} pay for it.")
    return lines


def no_gain(store: Store, roofline: Roofline | None) -> list[str]:
    counts = store.verdict_counts()
    verified = sum(n for v, n in counts.items() if v.value == "ok")
    lines = [f"No improvement over the baseline: {units.count(sum(counts.values()))} candidates evaluated, "
             f"{units.count(verified)} of them correct and timed."]
    base = store.baseline()
    best = [r for r in store.rows() if r.verdict.value == "ok" and r.latency is not None and r.key != BASELINE]
    if best:
        first = min(best, key=lambda r: r.latency or math.inf)
        if first.gain is not None:
            turned = store.confirmation(first.key)
            why = ""
            if turned is not None and turned.reason:
                why = f"; confirmation: {turned.reason}"
            elif first.gain > 0:
                why = " in the search, which was not confirmed"
            lines.append(f"Nearest: {first.key} at {units.factor(math.exp(first.gain))} of the baseline's speed{why}.")
    lines += roofline_lines(base.timings if base is not None else (), roofline)
    return lines + blocking(store.refusal_counts())


def roofline_lines(timings: Iterable[Timing], roofline: Roofline | None) -> list[str]:
    """How near the baseline is to what the device allows, at the first tune size."""
    floor = roofline.floor if roofline is not None else None
    first = next(iter(timings), None)
    if floor is None or first is None or not first.median > 0:
        return []
    seconds, bound = floor
    share = 100 * seconds / first.median
    if share > 110:
        remark = "faster than these figures allow: data stays in cache, or the figures are wrong"
    else:
        remark = "little is left to gain" if share >= 80 else f"room for up to {units.factor(first.median / seconds)}"
    return [f"The baseline takes {units.seconds(first.median)} at {first.size}; the {bound} of this device allows "
            f"{units.seconds(seconds)}: it runs at {share:.0f} % of the roofline ({remark})."]


def blocking(refusals: Sequence[RefusalCount], most: int = 5) -> list[str]:
    """The refusals that stood in the way most often, with the line of the user's file."""
    if not refusals:
        return []
    lines = ["What blocked most:"]
    for r in refusals[:most]:
        where = f" (line {r.line})" if r.line else ""
        lines.append(f"  {units.count(r.count)}x {r.mutator}: {r.reason}{where} [{r.code}]")
    return lines


def written(files: Sequence[Path | str], next_command: str) -> list[str]:
    lines = ["Written:", *(f"  {f}" for f in files)] if files else []
    return [*lines, f"Next: {next_command}"] if next_command else lines
