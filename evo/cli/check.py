"""``evo check``: the problem file and the baseline, without a search."""

from __future__ import annotations

import typer

from evo.cli.run import BackEnd, BackEndOption, PathArgument


def add_to(app: typer.Typer) -> None:
    @app.command("check")
    def check(path: PathArgument, backend: BackEndOption = BackEnd.auto) -> None:
        """Check a problem: read it, compile the baseline, verify and time it at every size."""
        from evo.backend import choose
        from evo.problem import load_problem

        chosen = choose(backend.value, lambda text: typer.echo(text, err=True))
        problem = load_problem(path, chosen)
        from evo.start import check_problem

        check_problem(problem)
