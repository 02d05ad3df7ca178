"""``evo mutators``: the transforms, what they are meant to improve and how exact they are."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console

from mutators.base import Mutator


def add_to(app: typer.Typer) -> None:
    @app.command("mutators")
    def mutators(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
        """List the transforms: direction, exactness, parameters, before → after."""
        from mutators.catalogue import CATALOGUE

        found = [describe(m) for m in CATALOGUE.values()]
        if as_json:
            sys.stdout.write(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
            return
        console = Console(soft_wrap=True, highlight=False)
        for m in found:
            console.print(f"[bold]{m['name']}[/bold]  {m['direction']}, {m['exactness']}")
            console.print(f"    {m['summary']}", markup=False)
            for p in m["parameters"]:
                values = ", ".join(str(v) for v in p["values"])
                console.print(f"    {p['name']}: {p['help']} ({values})", markup=False)


def describe(m: Mutator) -> dict[str, Any]:
    """The catalogue's entry as plain data."""
    return {"name": m.name, "direction": m.direction.value, "exactness": m.exactness.name.lower(),
            "summary": m.summary, "parameters": [
                {"name": p.name, "kind": p.kind, "values": list(p.values), "help": p.help} for p in m.parameters]}
