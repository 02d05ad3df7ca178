"""``evo doctor``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

MARKS = {"ok": "[green]ok[/green]     ", "missing": "[red]missing[/red]", "note": "[yellow]note[/yellow]   "}


def add_to(app: typer.Typer) -> None:
    @app.command("doctor")
    def doctor(out: Annotated[Path, typer.Option("--out", help="The folder that runs/ is to be made in.")] = Path("."),
               ) -> None:
        """Say what works on this machine and how to mend what does not."""
        from evo.doctor import examine, usable

        console = Console(soft_wrap=True, highlight=False)
        findings = []
        for f in examine(out):
            findings.append(f)
            console.print(f"{MARKS[f.state]} {f.name}: ", end="")
            console.print(f.text, markup=False)
            if f.fix:
                console.print(f"        mend it: {f.fix}", markup=False)
        if not usable(findings):
            console.print("Nothing to run kernels on: neither an NVIDIA GPU with PyCUDA nor an OpenCL device works.")
            raise typer.Exit(2)
