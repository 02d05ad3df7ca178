"""``evo inspect``: what evo sees in a kernel, where transforms could apply, and what refuses them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from evo.cli.init import DefineOption, IncludeOption, build_flags

SOURCES = (".cu", ".cuh", ".h", ".hpp")


def add_to(app: typer.Typer) -> None:
    @app.command("inspect")
    def inspect(path: Annotated[Path, typer.Argument(help="A problem (folder or file), or a .cu file.",
                                                     show_default=False)],
                name: Annotated[str | None, typer.Argument(help="Which kernel; name<args> for a template.",
                                                           show_default="the only one")] = None,
                kernel: Annotated[str | None, typer.Option("--kernel", help="The same as an option.",
                                                           show_default=False)] = None,
                as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
                include: IncludeOption = None, define: DefineOption = None) -> None:
        """Show a kernel's structure, access patterns, the sites of each transform, and refusals with their reasons."""
        from evo.problem.guess import block_of
        from evo.structure import lines_of, of_problem, of_source
        from genome.errors import InputError
        from genome.unit import list_kernels, load_unit

        wanted = name or kernel
        if path.suffix in SOURCES or wanted is not None:
            if not path.is_file():
                raise InputError(f"no such file: {path}")
            folders, macros = build_flags(path, include, define)
            if wanted is None:  # a template alone in its file: the instance that the file uses, or a plausible one
                entries = list_kernels(path, defines=macros, include=folders)
                wanted = entries[0].name if len(entries) == 1 else None
            unit = load_unit(path, wanted, defines=macros, include=folders)
            block = block_of(unit, path, folders, macros)
            if block is not None:
                unit = load_unit(path, wanted, defines=macros, include=folders, block=block)
            report = of_source(unit, block)
            if wanted is not None and "<" in wanted:
                report["assumed"].insert(0, f"instance {wanted}")
        else:
            from evo.problem import load_problem

            report = of_problem(load_problem(path))
        text = json.dumps(report, indent=2) if as_json else "\n".join(lines_of(report))
        sys.stdout.write(text + "\n")
