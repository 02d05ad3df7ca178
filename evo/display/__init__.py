"""How a run is shown while it runs: live on a terminal, plain lines elsewhere."""

from __future__ import annotations

from rich.console import Console

from evo.display.bridge import SearchView
from evo.display.live import RichDisplay
from evo.display.plain import PlainDisplay
from evo.display.snapshot import AgentRow, Display, FrontRow, RefusalRow, ScreenState, Snapshot

__all__ = ["AgentRow", "Display", "FrontRow", "PlainDisplay", "RefusalRow", "RichDisplay", "ScreenState",
           "SearchView", "Snapshot", "open_display"]


def open_display(console: Console, plain: bool = False) -> Display:
    """The live view when ``console`` is a terminal that can move its cursor and ``plain`` was not asked for."""
    if plain or not console.is_terminal or console.is_dumb_terminal:
        return PlainDisplay(console.file)  # type: ignore[arg-type]
    return RichDisplay(console)
