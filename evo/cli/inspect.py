"""``evo inspect``: what evo sees in a kernel, where transforms could apply, and what refuses them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    @app.command("inspect")
    def inspect(path: Annotated[Path, typer.Argument(help="A problem (folder or file), or a .cu file.",
                                                     show_default=False)],
                kernel: Annotated[str | None, typer.Option("--kernel", help="Which kernel of a .cu file.",
                                                           show_default=False)] = None) -> None:
        """Show a kernel's structure, the sites of each transform, and refusals with their reasons."""
        from evo.structure import of_problem, of_unit
        from genome.errors import InputError
        from genome.unit import load_unit

        if path.suffix == ".cu" or kernel is not None:
            if not path.is_file():
                raise InputError(f"no such file: {path}")
            lines = [*of_unit(load_unit(path, kernel)), "",
                     "With a problem file (sizes, shapes, launch) also axes, bounds and sites are shown."]
        else:
            from evo.problem import load_problem

            lines = of_problem(load_problem(path))
        sys.stdout.write("\n".join(lines) + "\n")
