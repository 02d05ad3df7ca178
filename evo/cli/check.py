"""``evo check``: the problem file and the baseline, without a search."""

from __future__ import annotations

from typing import Annotated

import typer

from evo.cli.run import BackEnd, BackEndOption, PathArgument

Limit = Annotated[float, typer.Option("--limit", min=1.0, metavar="SECONDS",
                                      help="What the first two runs of the baseline at a size may take.")]


def add_to(app: typer.Typer) -> None:
    @app.command("check")
    def check(path: PathArgument, backend: BackEndOption = BackEnd.auto, limit: Limit = 60.0) -> None:
        """Check a problem: verify and time the baseline, also against itself, and say whether a search is worth it."""
        from evo.backend import choose
        from evo.problem import load_problem

        chosen = choose(backend.value, lambda text: typer.echo(text, err=True))
        problem = load_problem(path, chosen)
        from evo.check import check_problem

        check_problem(problem, limit=limit)
