"""How a command ends that is not left alone: signals, a reader that goes away, kill -9 and resume."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evo.cli import entry
from results.store import Store

ROOT = Path(__file__).resolve().parents[2]


def start(folder: Path, *args: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen([sys.executable, "-m", "evo", *args], cwd=folder, env=env, stdout=stdout,
                            stderr=subprocess.PIPE, text=True, start_new_session=True)


def read_until(process: subprocess.Popen[str], words: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            return
    raise AssertionError(f"'{words}' was not said: {process.communicate()}")


def group_is_gone(pid: int) -> bool:
    for _ in range(50):
        try:
            os.killpg(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples" / "sgemm", tmp_path / "sgemm")
    return tmp_path


RUN = ("run", "sgemm", "--backend", "opencl", "--agents", "2")


@pytest.mark.parametrize(("words", "number"), [("checking the baseline", signal.SIGTERM), ("[search]", signal.SIGINT)])
def test_a_signal_ends_a_run_cleanly(folder: Path, words: str, number: signal.Signals) -> None:
    process = start(folder, *RUN, "--budget", "60s")
    read_until(process, words)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and err == ""
    assert "Interrupted; go on with: evo resume runs/sgemm-" in out
    (run,) = (folder / "runs").iterdir()
    with Store.open(run) as store:
        assert store.status() == "interrupted"
    assert group_is_gone(process.pid), "no child outlives the run"


def test_a_killed_run_goes_on(folder: Path) -> None:
    process = start(folder, *RUN, "--budget", "3")
    read_until(process, "[search]")
    process.kill()
    process.communicate()
    assert group_is_gone(process.pid), "no child outlives the run"
    (run,) = (folder / "runs").iterdir()
    with Store.open(run) as store:
        assert store.status() == "interrupted" and store.baseline() is not None
    resumed = start(folder, "resume", str(run), "--budget", "1")
    out, err = resumed.communicate(timeout=120)
    assert resumed.returncode == 0 and err == "", (out, err)
    with Store.open(run) as store:
        assert store.status() == "finished"


def test_nobody_reads_what_a_run_says(folder: Path) -> None:
    process = start(folder, *RUN, "--budget", "60s")
    read_until(process, "Run folder")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.wait(timeout=60) == entry.INTERRUPTED
    assert process.stderr.read() == ""
    (run,) = (folder / "runs").iterdir()
    with Store.open(run) as store:
        assert store.status() == "interrupted"


@pytest.mark.parametrize("args", [("mutators",), ("inspect", "sgemm"), ("--help",)])
def test_nobody_reads_what_a_command_says(folder: Path, args: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    process = start(folder, *args, stdout=write)
    os.close(write)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")


def test_an_interrupt_while_the_packages_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(entry, "_call", interrupted)
    assert entry.call(["show"]) == entry.INTERRUPTED
