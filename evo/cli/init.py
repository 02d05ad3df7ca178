"""``evo init``: a problem file from what a ``.cu`` file tells."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

IncludeOption = Annotated[list[str] | None, typer.Option("-I", "--include", help="A folder of headers.",
                                                         show_default=False)]
DefineOption = Annotated[list[str] | None, typer.Option("-D", "--define", help="A macro, NAME or NAME=VALUE.",
                                                        show_default=False)]


def build_flags(path: Path, include: list[str] | None, define: list[str] | None) -> tuple[tuple[str, ...],
                                                                                          dict[str, str]]:
    """Include folders and macros: those of the command line, then those of ``compile_commands.json``."""
    from genome.frontend.compile_commands import find, flags_of, split_define

    database = find(path)
    more, macros = flags_of(path, database) if database is not None else ((), {})
    return (*(include or ()), *more), {**macros, **dict(split_define(d) for d in define or ())}


def add_to(app: typer.Typer) -> None:
    @app.command("init")
    def init(path: Annotated[Path, typer.Argument(help="A .cu file.", show_default=False)],
             kernel: Annotated[str | None, typer.Argument(help="Which kernel; name<args> for a template.",
                                                          show_default="the only one")] = None,
             out: Annotated[Path | None, typer.Option("--out", help="The file to write.",
                                                      show_default="evo.toml beside the source")] = None,
             include: IncludeOption = None, define: DefineOption = None,
             force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False) -> None:
        """Write a problem file: arguments, directions, launch and shapes as far as the source tells them."""
        from evo.problem.guess import draft
        from genome.errors import InputError
        from genome.unit import list_kernels

        if not path.is_file():
            raise InputError(f"no such file: {path}")
        folders, macros = build_flags(path, include, define)
        if kernel is None:
            entries = list_kernels(path, defines=macros, include=folders)
            if len(entries) != 1:
                names = ", ".join(e.name for e in entries)
                raise InputError(f"has {len(entries)} kernels ({names})" if entries else "has no __global__ kernel",
                                 file=str(path), remedy=f"name one: evo init {path} '{entries[0].name}'" if entries
                                 else "give it a .cu file with a kernel")
            kernel = entries[0].name
        target = out or path.parent / "evo.toml"
        if target.exists() and not force:
            raise InputError(f"{target} exists", remedy="give another name with --out, or --force to replace it")
        text, missing = draft(path, kernel, folders, macros)
        try:
            target.write_text(text, encoding="utf-8")
        except OSError as e:
            raise InputError(f"cannot write {target}: {e.strerror}", remedy="name another place with --out") from None
        sys.stdout.write(f"wrote {target}; still to be filled in: {', '.join(missing)}\n")
