"""Run folders that are damaged, foreign, in use, finished, or whose problem was changed: one line, exit code 2, and
the folder is left as it was."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evo.cli.entry import call
from evo.problem import load_problem
from evo.search.options import Options
from evo.start import analyse, describe, left_out
from results import owner
from results.store import Store

ROOT = Path(__file__).resolve().parents[2]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def evo(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)

    def run(*args: object) -> tuple[int, str, str]:
        code = call([str(a) for a in args])
        said = capfd.readouterr()
        return code, said.out, said.err

    return run


def one_line(said: tuple[int, str, str], *words: str) -> None:
    code, out, err = said
    assert code == 2, said
    assert out == "" and err.startswith("error: ") and err.endswith("\n") and err.count("\n") == 1, said
    for w in words:
        assert w in err, err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An interrupted run of a copy of examples/transpose, without a candidate."""
    shutil.copytree(ROOT / "examples" / "transpose", tmp_path / "transpose")
    problem = load_problem(tmp_path / "transpose", "opencl")
    made = tmp_path / "runs" / "transpose-2026-01-02-1"
    made.mkdir(parents=True)
    with Store.create(made, describe(problem, Options(seconds=5.0), analyse(problem)), {}) as store:
        store.set_status("interrupted")
    return made


def digest(folder: Path) -> dict[str, str]:
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in sorted(folder.iterdir()) if f.is_file()}


READERS = (["show"], ["pareto"], ["pareto", "--csv"], ["export"], ["resume"])


def change(folder: Path, *statements: str) -> None:
    db = sqlite3.connect(folder / "run.db")
    with db:
        for s in statements:
            db.execute(s)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


# --------------------------------------------------------------------------------------------- damaged and foreign
def garbage(folder: Path) -> None:
    (folder / "run.db").write_bytes(os.urandom(20000))


def text(folder: Path) -> None:
    (folder / "run.db").write_text("hello\n")


def empty(folder: Path) -> None:
    (folder / "run.db").write_bytes(b"")


def cut(folder: Path) -> None:
    whole = (folder / "run.db").read_bytes()
    (folder / "run.db").write_bytes(whole[:len(whole) // 2])


def overwritten(folder: Path) -> None:
    whole = bytearray((folder / "run.db").read_bytes())
    whole[4096:] = b"\x5a" * (len(whole) - 4096)
    (folder / "run.db").write_bytes(bytes(whole))


def foreign(folder: Path) -> None:
    (folder / "run.db").unlink()
    change(folder, "CREATE TABLE t (x)", "PRAGMA user_version=1")


def directory(folder: Path) -> None:
    (folder / "run.db").unlink()
    (folder / "run.db").mkdir()


def missing(folder: Path) -> None:
    (folder / "run.db").unlink()


def no_tables(folder: Path) -> None:
    change(folder, "DROP TABLE meta")


def no_evaluations(folder: Path) -> None:
    change(folder, "DROP TABLE evaluations")


def no_json(folder: Path) -> None:
    change(folder, "UPDATE meta SET value = '{' WHERE name = 'problem'")


def wrong_pointer(folder: Path) -> None:
    (folder / "live.json").write_text("{")


def newer(folder: Path) -> None:
    change(folder, "PRAGMA user_version=9999")


DAMAGE = (garbage, text, empty, cut, overwritten, foreign, directory, missing, no_tables, no_evaluations, no_json,
          wrong_pointer, newer)


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda d: d.__name__)
def test_a_damaged_run(evo: Run, folder: Path, damage: Callable[[Path], None]) -> None:
    damage(folder)
    before = digest(folder)
    for command in READERS:
        one_line(evo(*command[:1], folder, *command[1:]), "runs/transpose-2026-01-02-1")
    after = {n: d for n, d in digest(folder).items() if n in before}
    assert after == before, "what is left of it is not touched"


@pytest.mark.parametrize(("make", "words"), [
    (lambda p: None, "no such folder"), (lambda p: p.write_text(""), "not a folder"), (lambda p: p.mkdir(), "run.db"),
    (lambda p: p.symlink_to(p.name), "no such folder"),
], ids=["nothing", "file", "empty folder", "loop"])
def test_no_run_at_all(evo: Run, tmp_path: Path, make: Callable[[Path], None], words: str) -> None:
    make(tmp_path / "x")
    for command in READERS:
        one_line(evo(*command[:1], "x", *command[1:]), words)


# ------------------------------------------------------------------------------------------------- what was changed
CHANGES: list[tuple[str, Callable[[Path], object], str]] = [
    ("kernel", lambda p: (p / "transpose.cu").write_text((p / "transpose.cu").read_text().replace("=", "= 1 *")),
     "was changed since this run began (start a new run, or restore the files)"),
    ("problem", lambda p: (p / "evo.toml").write_text((p / "evo.toml").read_text() + "\n# more\n"), "was changed"),
    ("spoilt", lambda p: (p / "evo.toml").write_text("[kernel\n"), "evo.toml:1: not valid TOML"),
    ("gone", lambda p: (p / "evo.toml").unlink(), "evo.toml"),
    ("source gone", lambda p: (p / "transpose.cu").unlink(), "there is no source file"),
    ("all gone", shutil.rmtree, "transpose"),
]


@pytest.mark.parametrize(("how", "words"), [c[1:] for c in CHANGES], ids=[c[0] for c in CHANGES])
def test_a_changed_problem_is_not_resumed(evo: Run, folder: Path, tmp_path: Path, how: Callable[[Path], object],
                                          words: str) -> None:
    how(tmp_path / "transpose")
    one_line(evo("resume", folder), words)
    with Store.open(folder) as store:
        assert store.status() == "interrupted"
    assert evo("show", folder)[0] == 0, "what was found can still be read"


def test_options_of_another_version(evo: Run, folder: Path) -> None:
    change(folder, "UPDATE meta SET value = replace(value, '\"policy\"', '\"stance\"') WHERE name = 'problem'")
    one_line(evo("resume", folder), "another version of evo")


def test_a_run_that_no_problem_file_began(evo: Run, folder: Path) -> None:
    change(folder, "UPDATE meta SET value = '{\"kernel\": \"k\"}' WHERE name = 'problem'")
    one_line(evo("resume", folder), "cannot be resumed")


def test_a_finished_run(evo: Run, folder: Path) -> None:
    change(folder, "UPDATE meta SET value = 'finished' WHERE name = 'status'")
    one_line(evo("resume", folder), "is finished (give it more with --budget")
    one_line(evo("resume", folder, "--budget", "soon"), "budget 'soon' is not understood")
    one_line(evo("export", folder), "has no champion")


# ------------------------------------------------------------------------------------------------------ in use
@pytest.fixture
def other(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that the run belongs to."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"])
    boot, _, _ = owner.me().split(" ")
    start = owner._start(process.pid)
    change(folder, "UPDATE meta SET value = 'running' WHERE name = 'status'",
           f"INSERT OR REPLACE INTO meta VALUES ('owner', '{boot} {process.pid} {start}')")
    yield process
    process.kill()
    process.wait()


def test_a_run_in_progress_is_read_and_not_resumed(evo: Run, folder: Path, other: subprocess.Popen[bytes]) -> None:
    one_line(evo("resume", folder), "is in progress in another process (wait for it or stop it first)")
    code, out, _ = evo("show", folder)
    assert code == 0 and "running" in out
    other.kill()
    other.wait()
    with Store.open(folder) as store:
        assert store.status() == "interrupted"


# ------------------------------------------------------------------------------------------- a baseline without end
@pytest.mark.parametrize("command", [("check", "--limit", "1"), ("run", "--budget", "2s")])
def test_a_baseline_that_never_ends(evo: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    shutil.copytree(ROOT / "examples" / "transpose", tmp_path / "transpose")
    source = tmp_path / "transpose" / "transpose.cu"
    source.write_text(source.read_text().replace("{\n", "{\n    volatile int go = 1;\n    while (go) { go = 1; }\n", 1))
    begin = time.monotonic()
    code, _, err = evo(command[0], "transpose", "--backend", "opencl", *command[1:])
    assert time.monotonic() - begin < 40.0
    assert code == 2 and err.count("\n") == 1 and "the baseline transpose did not end within " in err, err
    assert "at size " in err and "check its loops" in err, err


# ---------------------------------------------------------------------------------------------------- write access
def test_exports_that_cannot_be_written(evo: Run, folder: Path, tmp_path: Path) -> None:
    one_line(evo("export", folder, "--candidate", "c1"), "no candidate c1")
    one_line(evo("pareto", folder, "--png", tmp_path / "gone" / "x.png"), "")


def test_a_header_that_is_not_found_is_said(folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "transpose" / "transpose.cu"
    source.write_text('#include "own.h"\n' + source.read_text())
    (line,) = left_out(load_problem(tmp_path / "transpose", "opencl"))
    assert line.startswith("Left out: ") and 'transpose.cu:1: #include "own.h" is not found' in line


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_run_folder_that_may_only_be_read(evo: Run, folder: Path) -> None:
    os.chmod(folder / "run.db", 0o444)
    os.chmod(folder, 0o555)
    try:
        assert evo("show", folder)[0] == 0
        one_line(evo("resume", folder), "cannot be written")
    finally:
        os.chmod(folder, 0o755)


@pytest.mark.parametrize("place", ["/proc", "/dev/null"])
def test_no_place_for_runs(evo: Run, folder: Path, tmp_path: Path, place: str) -> None:
    one_line(evo("run", tmp_path / "transpose", "--backend", "opencl", "--budget", "5s", "--out", place),
             f"no run folder can be made in {place}/runs", "choose a writable folder with --out")


def test_no_opencl_device(folder: Path, tmp_path: Path) -> None:
    """The ICD loader is shown an empty folder of vendors; PoCL's wheel brings its own, which is switched off too."""
    (tmp_path / "vendors").mkdir()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OCL_ICD_VENDORS": str(tmp_path / "vendors"),
           "POCL_DEVICES": "none"}
    done = subprocess.run([sys.executable, "-m", "evo", "check", "transpose", "--backend", "opencl"], cwd=tmp_path,
                          env=env, capture_output=True, text=True, check=False)
    one_line((done.returncode, done.stdout, done.stderr), "no OpenCL device")
