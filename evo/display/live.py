"""The live view on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from evo.display import wording
from evo.display.snapshot import Snapshot
from results import pareto, units

_FRONT_LEAST, _AGENTS_LEAST = 3, 4  # rows kept before others give way


class RichDisplay:
    """Redraws in place within the terminal's size (80x24 and larger). No thread of its own, so that worker processes
    can be forked safely: it draws in ``update``, at most every ``period`` seconds."""

    def __init__(self, console: Console | None = None, period: float = 0.25,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._period, self._clock = console or Console(), period, clock
        # Rich's own answer to a broken pipe is to exit the program: a search must outlive its reader.
        setattr(self._console, "on_broken_pipe", self._silence)  # noqa: B010 (a method of a foreign instance)
        self._view = View(Snapshot())
        self._drawn = -float("inf")
        self._live: Live | None = Live(self._view, console=self._console, auto_refresh=False, vertical_overflow="crop")
        self._guarded(self._live.start)

    def update(self, snapshot: Snapshot) -> None:
        self._view.snapshot = snapshot
        live, now = self._live, self._clock()
        if live is not None and now - self._drawn >= self._period:
            self._drawn = now
            self._guarded(live.refresh)

    def message(self, text: str) -> None:
        self._guarded(lambda: self._console.print(Text(text)))

    def close(self) -> None:
        """Draws the last state and gives the terminal back; messages still print below it."""
        live, self._live = self._live, None
        if live is not None:
            self._guarded(live.stop)

    def _silence(self) -> None:
        self._live, self._console.quiet = None, True

    def _guarded(self, action: Callable[[], object]) -> None:
        try:
            action()
        except (OSError, ValueError):  # the terminal is gone or its stream closed: the run goes on unseen
            self._silence()


class View:
    """Renders the newest snapshot in whatever size the console has at that moment."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield render(self.snapshot, options.max_width, options.height or console.size.height)


def render(s: Snapshot, width: int, height: int) -> RenderableType:
    """The view, at most ``height - 1`` lines (the cursor needs one). Agents and front share what the fixed lines
    leave; the refusals go first when there is too little room."""
    fixed: list[RenderableType] = [_title(s), _bar(s, width), _best(s), *_verdicts(s, width), _screen(s)]
    room = height - 1 - len(fixed) - 2  # two table headers
    refusals = list(s.refusals[:3])
    while refusals and room - len(refusals) < min(len(s.agents), _AGENTS_LEAST) + min(len(s.front), _FRONT_LEAST):
        refusals.pop()
    room -= len(refusals)
    agents = min(len(s.agents), max(_AGENTS_LEAST, room - min(len(s.front), _FRONT_LEAST)), max(0, room))
    front = min(len(s.front), max(0, room - agents))
    parts = fixed
    if agents:
        parts.append(_agents(s, agents, width))
    if front:
        parts.append(_front(s, front))
    for r in refusals:
        what = f"{r.mutator}: {r.reason}" if r.mutator else r.reason
        parts.append(_one_line(Text.assemble((f"refused {units.count(r.count)}x ", "yellow"), what)))
    return Group(*parts)


def _one_line(text: Text) -> Text:
    text.no_wrap, text.overflow = True, "ellipsis"
    text.plain = _flat(text.plain)
    return text


def _title(s: Snapshot) -> Text:
    return _one_line(Text.assemble((f"evo {s.kernel}".rstrip(), "bold"), f"  {s.phase}"))


def _bar(s: Snapshot, width: int) -> RenderableType:
    text = wording.budget(s) + (f", {units.three(s.per_second)}/s" if s.per_second > 0 else "")
    share = s.progress
    line = Table.grid(padding=(0, 1), expand=True)
    line.add_column(ratio=1)
    line.add_column(no_wrap=True, justify="right")
    room = max(8, width - len(text) - 2)
    line.add_row(Text("") if share is None else ProgressBar(total=1.0, completed=share, width=room), Text(text))
    return line


def _best(s: Snapshot) -> Text:
    key = f"  {s.best_key}" if s.best_key else ""
    return _one_line(Text.assemble(
        f"baseline {units.seconds(s.baseline)}  best ", (units.seconds(s.best), "bold green"), "  speed-up ",
        (wording.speedup(s), "bold green"), (key, "dim")))


def _verdicts(s: Snapshot, width: int) -> list[Text]:
    """One line, or two where the rare verdicts make it too long."""
    style = {"ok": "green", "wrong": "red", "crashed": "red", "timed out": "red"}
    lines = [Text()]
    for name, n in wording.verdicts(s.verdicts):
        part = Text(f"{name} {units.count(n)}", style.get(name, "yellow") if n else "dim")
        if lines[-1] and len(lines) < 2 and len(lines[-1]) + 2 + len(part) > width:
            lines.append(Text())
        lines[-1].append("  " if lines[-1] else "").append_text(part)
    return [_one_line(x) for x in lines]


def _screen(s: Snapshot) -> Text:
    return _one_line(Text.assemble(("screen ", "dim"), wording.screen(s.screen)))


def _agents(s: Snapshot, rows: int, width: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, expand=True)
    table.add_column("agent", no_wrap=True, overflow="ellipsis", max_width=max(16, width // 4))
    table.add_column("doing", no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column("tried", justify="right", no_wrap=True)
    table.add_column("best", justify="right", no_wrap=True)
    # The living first: when there is no room for all, the eliminated are what is left out.
    for a in sorted(s.agents, key=lambda a: not a.alive)[:rows]:
        table.add_row(Text(_flat(a.name)), Text(_flat(a.status) if a.alive else "eliminated"),
                      Text(units.count(a.candidates)), Text(units.factor(a.best)), style="" if a.alive else "dim")
    return table


def _front(s: Snapshot, rows: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    titles = [pareto.OBJECTIVES[n].title if n in pareto.OBJECTIVES else n for n in s.objectives]
    for i, title in enumerate((f"front ({len(s.front)})", *titles, "speed-up")):
        table.add_column(title, justify="left" if i == 0 else "right", no_wrap=True, overflow="ellipsis")
    for r in s.front[:rows]:
        figures = (pareto.figure(n, v) for n, v in zip(s.objectives, r.values, strict=True))
        table.add_row(Text(_flat(r.key)), *figures, units.factor(r.speedup))
    return table


def _flat(text: str) -> str:
    """One line without control characters: reasons may quote anything."""
    return "".join(c if c.isprintable() else " " for c in text)
