"""The Typer application: one small module per group of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from evo.cli import catalogue, check, doctor, init, inspect, read, run
from evo.version import VERSION

app = typer.Typer(no_args_is_help=False, add_completion=False, pretty_exceptions_enable=False,
                  help="Searches for a faster version of a CUDA kernel by semantics-preserving source transforms.")


def _version(value: bool) -> None:
    if value:
        typer.echo(f"evo {VERSION}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def root(context: typer.Context,
         version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True,
                                               help="Show the version and exit.")] = False) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


run.add_to(app)
check.add_to(app)
read.add_to(app)
catalogue.add_to(app)
inspect.add_to(app)
init.add_to(app)
doctor.add_to(app)
