from __future__ import annotations

import dataclasses
import io
import re
import signal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from evo.display import (
    AgentRow,
    FrontRow,
    PlainDisplay,
    RefusalRow,
    RichDisplay,
    ScreenState,
    Snapshot,
    open_display,
    wording,
)
from evo.display.live import render
from evo.display.plain import line
from gpu.records import Verdict

FULL = Snapshot(
    kernel="sgemm", phase="search", elapsed=80, budget_seconds=300, budget_evaluations=1000, evaluated=240,
    per_second=3.04, baseline=26e-3, best=5.36e-3, best_key="c000212", speedup=4.85, speedup_low=4.71,
    speedup_high=4.98,
    agents=tuple(AgentRow(n, "memory traffic: UseSharedMemory", 40 + i, 4.85 - i, i != 2)
                 for i, n in enumerate(["block-first", "tiles-first", "loads-first", "registers-first"])),
    verdicts={Verdict.OK: 200, Verdict.WRONG: 1, Verdict.NOT_REPEATABLE: 2, Verdict.COMPILE_ERROR: 4,
              Verdict.REFUSED: 30},
    front=tuple(FrontRow(f"c{i}", (5e-3 + i * 1e-3, 128 - 16 * i), 5.2 - i / 5) for i in range(5)),
    screen=ScreenState("active", 0.714, 120),
    refusals=tuple(RefusalRow(f"reason {i} " + "long " * 30, 900 - i, "TileLoops") for i in range(3)))


def shown(s: Snapshot, width: int = 80, height: int = 24) -> list[str]:
    console = Console(record=True, width=width, height=height, file=io.StringIO(), force_terminal=True)
    console.print(render(s, width, height), end="")
    return console.export_text().rstrip("\n").split("\n")


def test_everything_is_on_an_80_by_24_terminal() -> None:
    lines = shown(FULL)
    text = "\n".join(lines)
    assert len(lines) <= 23 and max(map(len, lines)) <= 80
    for part in ("evo sgemm", "1m 20s of 5m 00s, 240 of 1,000 candidates, 3.04/s", "baseline 26.0 ms", "best 5.36 ms",
                 "4.85x (4.71 to 4.98)", "c000212", "ok 200", "refused 30", "wrong 3", "crashed 0", "timed out 0",
                 "over limits 0", "not compiled 4", "active: rank correlation 0.71 on the last batch, pool of 120",
                 "block-first", "memory traffic", "eliminated", "front (5)", "refused 900x TileLoops: reason 0"):
        assert part in text, part
    assert sum("reason" in x for x in lines) == 3
    assert all(re.search(rf"^c{i} +{5 + i}\.00 ms +{128 - 16 * i} ", text, re.M) for i in range(5))


def test_an_eliminated_agent_stands_below_the_living() -> None:
    names = [x.split()[0] for x in shown(FULL) if "-first" in x and not x.startswith("c")]
    assert names == ["block-first", "tiles-first", "registers-first", "loads-first"]


names = st.text(max_size=60)
agents = st.lists(st.builds(AgentRow, names, names, st.integers(0, 10**7), st.none() | st.floats(), st.booleans()),
                  max_size=12)


@settings(max_examples=150, deadline=None)
@given(agents, st.integers(0, 30), st.integers(0, 3), names, st.sampled_from([(80, 24), (81, 25), (120, 40), (80, 12)]))
def test_it_never_outgrows_the_terminal(agents: list[AgentRow], front: int, refusals: int, name: str,
                                        size: tuple[int, int]) -> None:
    s = dataclasses.replace(FULL, kernel=name, agents=tuple(agents), front=(FULL.front * 6)[:front],
                            refusals=FULL.refusals[:refusals])
    console = Console(width=size[0], height=size[1], file=io.StringIO(), force_terminal=True)
    rendered = console.render_lines(render(s, *size), console.options, pad=False)
    assert len(rendered) <= size[1] - 1
    assert all(sum(seg.cell_length for seg in x) <= size[0] for x in rendered)


def test_a_large_terminal_shows_all() -> None:
    s = dataclasses.replace(FULL, front=FULL.front * 3, agents=FULL.agents * 3)
    lines = shown(s, 140, 60)
    assert sum("-first" in x and "ms" not in x for x in lines) == 12
    assert sum(bool(re.match(r"c\d ", x)) for x in lines) == 15


def test_markup_and_control_characters_are_text() -> None:
    s = dataclasses.replace(FULL, agents=(AgentRow("[red]x[/]", "a\nb\x1b[2J"),), kernel="[bold]k")
    text = "\n".join(shown(s))
    assert "[red]x[/]" in text and "[bold]k" in text and "a b [2J" in text


def test_an_empty_snapshot_is_shown_without_invented_figures() -> None:
    text = "\n".join(shown(Snapshot()))
    assert "baseline –  best –  speed-up –" in text and "0 s, 0 candidates" in text and "screen off" in text


def test_a_spread_of_which_only_the_lower_end_is_known() -> None:
    assert wording.speedup(Snapshot(speedup=4.85, speedup_low=4.71)) == "4.85x (at least 4.71)"
    assert wording.speedup(Snapshot(speedup=4.85)) == "4.85x"


def test_progress_is_of_the_budget_that_ends_first() -> None:
    assert Snapshot(elapsed=50, budget_seconds=100, budget_evaluations=10, evaluated=8).progress == 0.8
    assert Snapshot(elapsed=500, budget_seconds=100).progress == 1.0
    assert Snapshot(elapsed=500).progress is None


def test_every_verdict_is_counted_in_exactly_one_group() -> None:
    for v in Verdict:
        assert sum(n for _, n in wording.verdicts({v: 5})) == 5


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_rich_display_draws_at_most_every_period_and_closes_twice() -> None:
    out, clock = io.StringIO(), Clock()
    console = Console(file=out, force_terminal=True, width=80, height=24)
    d = RichDisplay(console, clock=clock)
    d.update(FULL)
    first = len(out.getvalue())
    assert "5.36 ms" in out.getvalue()
    d.update(FULL)
    assert len(out.getvalue()) == first
    clock.now = 1.0
    d.update(dataclasses.replace(FULL, best=1e-3))
    assert "1.00 ms" in out.getvalue()
    d.update(dataclasses.replace(FULL, best=0.5e-3))  # too early to be drawn...
    d.message("[note] new champion")
    assert "[note] new champion" in out.getvalue()
    d.close()
    assert "500 us" in out.getvalue()  # ...but the last state is
    assert out.getvalue().count("\x1b[?25l") == out.getvalue().count("\x1b[?25h") == 1  # the cursor is back
    end = len(out.getvalue())
    d.close()
    d.update(FULL)
    assert len(out.getvalue()) == end
    d.message("after")
    assert out.getvalue().endswith("after\n")


class Gone(io.StringIO):
    """A terminal or pipe whose other end is gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


def test_a_reader_that_goes_away_does_not_end_the_run() -> None:
    d = PlainDisplay(Gone())
    d.update(FULL)
    d.message("x")
    d.close()
    rich = RichDisplay(Console(file=Gone(), force_terminal=True, width=80, height=24))
    rich.update(FULL)
    rich.close()


def test_plain_lines_come_when_the_best_changes_and_at_the_end() -> None:
    out, clock = io.StringIO(), Clock()
    d = PlainDisplay(out, quiet=3, heartbeat=30, clock=clock)

    def at(now: float, best: float | None) -> int:
        clock.now = now
        d.update(dataclasses.replace(FULL, elapsed=now, best=best))
        return out.getvalue().count("\n")

    assert at(0, 9e-3) == 1  # the first
    assert at(1, 8e-3) == 1  # better, but too soon
    assert at(4, 7e-3) == 2
    assert at(10, 7e-3) == 2  # nothing new
    assert at(35, 7e-3) == 3  # the log shows that the run lives
    assert at(36, 7e-3) == 3
    d.close()
    d.close()
    assert out.getvalue().count("\n") == 4
    assert "36 s of 5m 00s" in out.getvalue().splitlines()[-1]


def test_a_plain_line_says_it_all() -> None:
    assert line(FULL) == (
        "[search] 1m 20s of 5m 00s, 240 of 1,000 candidates; 3.04/s; best 5.36 ms, speed-up 4.85x (4.71 to 4.98); "
        "200 ok, 30 refused, 3 wrong, 4 not compiled")
    assert line(Snapshot(baseline=26e-3, phase="baseline")) == "[baseline] 0 s, 0 candidates; baseline 26.0 ms"


@pytest.mark.parametrize(("terminal", "plain", "kind"), [
    (True, False, RichDisplay), (True, True, PlainDisplay), (False, False, PlainDisplay)])
def test_the_display_fits_the_output(terminal: bool, plain: bool, kind: type) -> None:
    d = open_display(Console(file=io.StringIO(), force_terminal=terminal), plain)
    assert type(d) is kind
    d.close()


def test_a_run_whose_reader_is_gone_is_told_to_end() -> None:
    """Only where somebody listens: by default the signal would kill the process."""
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    heard: list[int] = []
    outside = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        PlainDisplay(Gone()).message("nobody listens")
        signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
        display = PlainDisplay(Gone())
        display.message("the first one")
        display.message("and once only")
        assert heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, outside)
