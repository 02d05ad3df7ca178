"""A run over several sizes on the OpenCL device, and what is wrong to ask for."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from evo.cli.entry import call
from evo.dispatch import run_dispatch
from evo.problem import load_problem
from evo.search.options import Options
from evo.start import resume_run
from results.store import Store

ROOT = Path(__file__).resolve().parents[2]
SIZES = "tune = [{ M = 96, N = 96, K = 96 }, { M = 8, N = 16, K = 512 }]\ncheck = [{ M = 33, N = 35, K = 37 }]\n"


def shapes(folder: Path) -> Path:
    """A copy of the example at sizes that take milliseconds on a CPU."""
    target = folder / "shapes"
    shutil.copytree(ROOT / "examples" / "sgemm", folder / "sgemm")  # whose kernel it is
    shutil.copytree(ROOT / "examples" / "sgemm_shapes", target)
    text = (target / "evo.toml").read_text()
    head, _, rest = text.partition("[sizes.opencl]\n")
    search = rest.partition("[search]")[2].strip()
    (target / "evo.toml").write_text(f"{head}[sizes.opencl]\n{SIZES}\n[search]\n{search}\n")
    return target


@pytest.mark.timeout(300)
def test_a_table_is_found_confirmed_exported_and_resumed(tmp_path: Path) -> None:
    problem = load_problem(shapes(tmp_path), "opencl")
    assert problem.dispatch and len(problem.workload.tune) == 2
    said = io.StringIO()
    found = run_dispatch(problem, Options(evaluations=20), tmp_path, Console(file=said, width=200))
    (folder,) = (tmp_path / "runs").iterdir()
    text = said.getvalue()
    assert "1/2 96x96x96" in text and "2/2 8x16x512" in text
    with Store.open(folder) as store:
        assert store.status() == "finished"
        table = next(c for c in store.candidates() if c.key == "table")
        final = store.confirmation("table")
        assert final is not None and final.accepted is found
        assert table.select and table.parents and {c.key for c in store.candidates()} >= {"baseline", *table.parents}
        assert [t.size for t in final.candidate] == ["96x96x96", "8x16x512", "33x35x37"]
    if found:
        launch = json.loads((folder / "launch.json").read_text())
        assert launch["select"] == table.select and (folder / "launch.cuh").is_file()
        assert "evo_launch_sgemm(" in (folder / "launch.cuh").read_text()

    # As if it had been stopped in the second search: the first is taken as it is.
    before = (folder / "1-96x96x96" / "run.db").read_bytes()
    shutil.rmtree(folder / "2-8x16x512")
    again = tmp_path / "runs" / "stopped"
    shutil.copytree(folder, again, ignore=shutil.ignore_patterns("run.db*", "best.*", "launch.*"))
    for sub in ("1-96x96x96",):
        shutil.copy(folder / sub / "run.db", again / sub / "run.db")
    with Store.open(folder) as store, Store.create(again, store.problem, store.environment) as fresh:
        fresh.set_status("interrupted")
    said = io.StringIO()
    assert resume_run(again, None, Console(file=said, width=200)) in (True, False)
    assert "2/2 8x16x512" in said.getvalue()
    assert (again / "1-96x96x96" / "run.db").read_bytes() == before


def test_one_size_makes_no_table(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert call(["run", str(ROOT / "examples" / "sgemm"), "--backend", "opencl", "--dispatch", "--out",
                 str(tmp_path)]) == 2
    assert "several tune sizes" in capfd.readouterr().err
    target = shapes(tmp_path)
    toml = (target / "evo.toml").read_text()
    (target / "evo.toml").write_text(toml.replace("dispatch = true", 'dispatch = "yes"'))
    assert call(["check", str(target), "--backend", "opencl"]) == 2
    assert "must be true or false" in capfd.readouterr().err
    assert not (tmp_path / "runs").exists()
