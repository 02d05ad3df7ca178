"""Commands that read a run: ``evo show``, ``evo pareto``, ``evo export``. Without a folder they take the latest run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from genome.errors import InputError
from results import pareto as front_of
from results.export import export as export_candidate
from results.folders import latest_run
from results.store import BASELINE, Store
from results.summary import aligned
from results.summary import show as summary

RunArgument = Annotated[Path | None, typer.Argument(help="The folder of a run.", show_default="the latest in runs/")]


def add_to(app: typer.Typer) -> None:
    @app.command("show")
    def show(run: RunArgument = None) -> None:
        """Show a run: verdicts, agents, champion, front, refusals."""
        with Store.open(find(run)) as store:
            _write("\n".join(summary(store)))

    @app.command("pareto")
    def pareto(
        run: RunArgument = None,
        as_csv: Annotated[bool, typer.Option("--csv", help="As CSV.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
        png: Annotated[Path | None, typer.Option("--png", help="Write a plot to this file (needs Matplotlib).",
                                                 show_default=False)] = None,
    ) -> None:
        """Show the Pareto front of a run."""
        if as_csv and as_json:
            raise InputError("--csv and --json exclude each other", remedy="give one of them")
        with Store.open(find(run)) as store:
            objectives, constraints = front_of.asked(store)
            rows = store.rows()
            if png is not None:
                front_of.write_png(png, rows, objectives)
            best = front_of.front(rows, objectives, constraints)
            if as_csv:
                sys.stdout.write(front_of.to_csv(best, objectives))
            elif as_json:
                sys.stdout.write(front_of.to_json(best, objectives))
            elif png is None:
                _write("\n".join(aligned(front_of.table(best, objectives))) if best else "nothing verified yet")
            else:
                _write(f"wrote {png}")

    @app.command("export")
    def export(
        run: RunArgument = None,
        to: Annotated[Path | None, typer.Option("--to", help="The folder to write into.",
                                                show_default="the run's folder")] = None,
        candidate: Annotated[str | None, typer.Option("--candidate", help="A candidate's key, as in evo pareto.",
                                                      show_default="the champion")] = None,
    ) -> None:
        """Write a kernel's source with its launcher, genome and the Pareto front."""
        with Store.open(find(run)) as store:
            for file in export_candidate(store, candidate or _champion(store), to or store.folder):
                _write(str(file))


def find(run: Path | None) -> Path:
    """The run meant: the given folder, or the latest under ``runs/``."""
    return latest_run(Path(".")) if run is None else run


def _champion(store: Store) -> str:
    best = store.champion()
    if best is None:
        raise InputError(f"{store.folder} has no champion: nothing beat the baseline",
                         remedy=f"name one: evo export {store.folder} --candidate {BASELINE}")
    return best.key


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")
