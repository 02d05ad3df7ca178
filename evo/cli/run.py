"""``evo run`` and ``evo resume``: from the command line to the engine."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from evo.cli import entry


class BackEnd(str, Enum):
    auto = "auto"
    cuda = "cuda"
    opencl = "opencl"


class PolicyKind(str, Enum):
    bandit = "bandit"
    uniform = "uniform"


Out = Annotated[Path, typer.Option("--out", help="The folder that runs/ is made in.", show_default="this folder")]
PathArgument = Annotated[Path, typer.Argument(help="A folder with an evo.toml, a problem file, or a .cu file.",
                                              show_default=False)]
BackEndOption = Annotated[BackEnd, typer.Option("--backend", help="What to run on; auto takes an NVIDIA GPU if there "
                                                                  "is one, else OpenCL.")]


def add_to(app: typer.Typer) -> None:
    @app.command("run")
    def run(
        path: PathArgument,
        budget: Annotated[str | None, typer.Option(help="10m, 90s, 500 (evaluations), or 5m,300 (whichever ends "
                                                        "first). Default: the problem file's, else 10m.",
                                                   show_default=False)] = None,
        seed: Annotated[int, typer.Option(min=0, help="Fixes every random draw of the search.")] = 0,
        backend: BackEndOption = BackEnd.auto,
        screen: Annotated[bool, typer.Option("--screen/--no-screen", help="Let the cost model choose what is "
                                                                          "measured.")] = True,
        policy: Annotated[PolicyKind, typer.Option(help="How agents choose what to try.")] = PolicyKind.bandit,
        agents: Annotated[int | None, typer.Option(min=1, max=64, help="Number of competing agents.",
                                                   show_default=False)] = None,
        sketches: Annotated[bool, typer.Option("--sketches/--no-sketches", help="Let agents try whole skeletons of "
                                                                                "genes.")] = True,
        dispatch: Annotated[bool, typer.Option("--dispatch", help="Search for each tune size by itself, and end in one "
                                                                  "dispatch table.")] = False,
        out: Out = Path("."),
        require: Annotated[bool, typer.Option("--require", help="Exit with code 1 when nothing faster was "
                                                                "found.")] = False,
        strict: Annotated[bool, typer.Option("--strict", help="Refuse a GPU on which another process computes; "
                                                              "without it the run is marked noisy.")] = False,
    ) -> None:
        """Search for a faster version of a kernel."""
        from evo.backend import choose
        from evo.problem import load_problem
        from evo.search.options import Options

        chosen = choose(backend.value, lambda text: typer.echo(text, err=True))
        problem = load_problem(path, chosen, budget)
        more = {} if agents is None else {"agents": agents}
        options = Options(seed=seed, seconds=problem.budget_seconds, evaluations=problem.budget_evaluations,
                          policy=policy.value, screen=screen, sketches=sketches, strict=strict, **more)
        if dispatch or problem.dispatch:
            from evo.dispatch import run_dispatch

            _leave(run_dispatch(problem, options, out), require)
            return
        from evo.start import run_problem  # after the problem is read: it loads every part of the search

        _leave(run_problem(problem, options, out), require)

    @app.command("resume")
    def resume(
        run: Annotated[Path, typer.Argument(help="The folder of an interrupted run.", show_default=False)],
        budget: Annotated[str | None, typer.Option(help="More time or evaluations than the run was given.",
                                                   show_default=False)] = None,
        require: Annotated[bool, typer.Option("--require", help="Exit with code 1 when nothing faster was "
                                                                "found.")] = False,
    ) -> None:
        """Continue an interrupted or killed run."""
        from evo.start import resume_run

        _leave(resume_run(run, budget), require)


def _leave(found: bool | None, require: bool) -> None:
    """``found``: whether something faster was confirmed; None when the run was interrupted."""
    if found is None:
        raise typer.Exit(entry.INTERRUPTED)
    if require and not found:
        raise typer.Exit(entry.NOTHING_FASTER)
