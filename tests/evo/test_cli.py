"""The command line: exit codes, one line for each mistake, reading commands on a stored run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evo.cli.entry import call
from evo.version import VERSION
from genome.gene import Gene
from gpu.records import Evaluation, Resources, Timing, Verdict
from results.records import Candidate
from results.store import BASELINE, Store

ROOT = Path(__file__).resolve().parents[2]
SGEMM = ROOT / "examples" / "sgemm"


@pytest.fixture
def evo(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
        ) -> Callable[..., tuple[int, str, str]]:
    """Runs a command in an empty folder: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*args: object) -> tuple[int, str, str]:
        code = call([str(a) for a in args])
        said = capfd.readouterr()
        return code, said.out, said.err

    return run


def wrong(said: tuple[int, str, str], words: str) -> None:
    """Exit code 2 and one line on standard error that contains ``words``."""
    code, _, err = said
    assert code == 2, said
    assert err.startswith("error: ") and err.count("\n") == 1 and err.endswith("\n"), err
    assert words in err


def kernel_folder(tmp_path: Path, *changes: tuple[str, str, str]) -> Path:
    """A copy of examples/sgemm with (file, old, new) changes."""
    folder = tmp_path / "problem"
    shutil.copytree(SGEMM, folder)
    for file, old, new in changes:
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new))
    return folder


# ------------------------------------------------------------------------------------------------ wrong use
def test_version_and_help(evo: Callable[..., tuple[int, str, str]]) -> None:
    assert evo("--version") == (0, f"evo {VERSION}\n", "")
    for args in ([], ["--help"]):
        code, out, _ = evo(*args)
        assert code == 0
        for command in ("run", "resume", "show", "pareto", "export", "mutators", "inspect", "doctor", "check"):
            assert command in out


@pytest.mark.parametrize(("args", "words"), [
    (["nosuch"], "No such command 'nosuch'"),
    (["run"], "Missing argument"),
    (["run", "x", "--nosuch"], "No such option"),
    (["run", "x", "--agents", "0"], "--agents"),
    (["run", "x", "--policy", "greedy"], "greedy"),
    (["run", "x", "--backend", "metal"], "metal"),
    (["run", "nowhere", "--backend", "opencl"], "no such file or folder: nowhere"),
    (["check", "nowhere.toml", "--backend", "opencl"], "no such file or folder: nowhere.toml"),
    (["run", str(SGEMM), "--backend", "opencl", "--budget", "soon"], "--budget: budget 'soon' is not understood"),
    (["show"], "no runs in"), (["pareto"], "no runs in"), (["export"], "no runs in"),
    (["show", "nowhere"], "nowhere"), (["resume", "nowhere"], "nowhere"), (["export", "nowhere"], "nowhere"),
    (["inspect", "nowhere.cu"], "no such file: nowhere.cu"), (["inspect", "nowhere"], "no such file or folder"),
])
def test_wrong_use(evo: Callable[..., tuple[int, str, str]], args: list[str], words: str) -> None:
    wrong(evo(*args), words)


# ------------------------------------------------------------------------------------------- bad input of a run
BAD: list[tuple[str, list[tuple[str, str, str]], str]] = [
    ("missing source", [("evo.toml", '"sgemm.cu"', '"gone.cu"')], "evo.toml:2: there is no source file"),
    ("unknown kernel", [("evo.toml", 'name = "sgemm"', 'name = "dgemm"')], "dgemm"),
    ("block over limits", [("evo.toml", "[16, 16, 1]", "[64, 64, 1]")], "evo.toml:4: a block of 64 x 64 x 1 has 4096"),
    ("grid over limits", [("evo.toml", '"ceil_div(M, block_y)"', '"M*N*K"')], "evo.toml:5: grid.y is 16777216"),
    ("shape mismatch", [("evo.toml", '"M*K"', '"M*L"')], "gives no value to 'L', which argument 'A' needs"),
    ("argument count", [("evo.toml", 'K = { value = "K" }\n', "")], "describes 5 of the 6 parameters"),
    ("unknown mutator", [("evo.toml", "[objectives]", '[search]\nveto = ["Tile"]\n\n[objectives]')],
     "unknown mutator 'Tile' in veto"),
    ("does not compile", [("sgemm.cu", "acc += A", "acc += missing + A")], "sgemm.cu:11"),
    ("does not parse", [("sgemm.cu", "acc += A", "acc += ) A")], "sgemm.cu:11"),
    ("output independent", [("sgemm.cu", "row < M && col < N", "row < M && col < N && K < 0")],
     "does not depend on the kernel"),
    ("shape too small", [("evo.toml", 'C = { shape = "M*N"', 'C = { shape = "M*N - 40"')], "wrote outside of"),
]


@pytest.mark.parametrize(("changes", "words"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_bad_input(evo: Callable[..., tuple[int, str, str]], tmp_path: Path, changes: list[tuple[str, str, str]],
                   words: str) -> None:
    folder = kernel_folder(tmp_path, *changes)
    wrong(evo("run", folder, "--backend", "opencl", "--budget", "20s"), words)


def test_no_gpu(evo: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    wrong(evo("run", SGEMM, "--backend", "cuda"), "no NVIDIA GPU was found")


def test_no_device_at_all(evo: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    from evo import backend, probes

    answers = {"gpu": probes.Answer(False, "no NVIDIA driver"), "opencl": probes.Answer(False, "no OpenCL device")}
    monkeypatch.setattr(backend, "probe", answers.__getitem__)
    wrong(evo("run", SGEMM), "no device to run on: no OpenCL device")


def test_gpu_without_pycuda_runs_on_the_cpu_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from evo import backend, probes
    from genome.errors import InputError

    answers = {"gpu": probes.Answer(True, "NVIDIA H200"), "opencl": probes.Answer(True, "a CPU"),
               "pycuda": probes.Answer(False, "PyCUDA is not installed", "make cuda")}
    monkeypatch.setattr(backend, "probe", answers.__getitem__)
    said: list[str] = []
    assert backend.choose("auto", said.append) == "opencl"
    assert "NVIDIA H200" in said[0] and "make cuda" in said[0]
    with pytest.raises(InputError, match="make cuda"):
        backend.choose("cuda", said.append)
    answers["pycuda"] = probes.Answer(True, "PyCUDA")
    assert backend.choose("auto", said.append) == "cuda" and len(said) == 1


def test_run_folder_not_writable(evo: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    wrong(evo("run", SGEMM, "--backend", "opencl", "--out", tmp_path / "file", "--budget", "20s"), "file")


# ------------------------------------------------------------------------------------------------ entry point
@pytest.mark.parametrize(("error", "code", "words"), [
    (KeyboardInterrupt(), 130, ""),
    (PermissionError(13, "Permission denied", "/somewhere"), 2, "/somewhere: permission denied"),
    (OSError(28, "No space left on device", "/somewhere"), 2, "/somewhere: No space left on device"),
])
def test_what_a_command_raises(evo: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch,
                               error: BaseException, code: int, words: str) -> None:
    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr("evo.cli.read.latest_run", fail)
    got, _, err = evo("show")
    assert got == code and words in err and err.count("\n") == (1 if words else 0)


def test_a_defect_is_not_hidden(evo: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evo.cli.read.latest_run", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        evo("show")


def test_module_entry_point(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-m", "evo", "show", "nowhere"], capture_output=True, text=True, env=env,
                          cwd=tmp_path, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["gpu", "results", "genome"])
def test_a_module_of_the_user_that_hides_ours_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("x = 1\n")
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run([sys.executable, "-m", "evo", "--version"], capture_output=True, text=True, env=env,
                          cwd=tmp_path, check=False)
    assert done.returncode == 2, done
    assert f"{tmp_path / name}.py hides evo's own package '{name}'" in done.stderr
    assert "Traceback" not in done.stderr


# -------------------------------------------------------------------------------------------- reading commands
def evaluation(key: str, seconds: float, registers: int) -> Evaluation:
    timing = Timing("64", (seconds,) * 3, seconds, seconds, seconds)
    return Evaluation(key, Verdict.OK, resources=Resources(registers=registers), timings=(timing,))


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A finished run with a baseline and two candidates, one of them the champion."""
    folder = tmp_path / "runs" / "k-2026-01-02-1"
    folder.mkdir(parents=True)
    launches = json.dumps([{"kernel": "k", "grid": ["n", "1", "1"], "block": [32, 1, 1], "shared_bytes": 0}])
    with Store.create(folder, {"kernel": "k", "objectives": ["latency", "registers"]}, {}) as store:
        for key, seconds, registers in ((BASELINE, 2e-3, 20), ("c000001", 1e-3, 40), ("c000002", 3e-3, 10)):
            genome = () if key == BASELINE else (Gene.make("UnrollLoop", "k", mode="pragma", factor=4),)
            store.add_candidate(Candidate(key, "loads-first", 1, (), genome, source=f"// {key}\n", launches=launches))
            store.set_evaluation(evaluation(key, seconds, registers))
        store.event("champion", {"key": "c000001"})
        store.set_status("finished")
    return folder


def test_show(evo: Callable[..., tuple[int, str, str]], stored: Path) -> None:
    code, out, _ = evo("show")
    assert code == 0 and "finished" in out and "UnrollLoop" in out
    assert evo("show", stored)[1].partition(": ")[2] == out.partition(": ")[2]


def test_pareto(evo: Callable[..., tuple[int, str, str]], stored: Path) -> None:
    code, out, _ = evo("pareto")
    assert code == 0 and out.index("c000001") < out.index("c000002")
    data = json.loads(evo("pareto", "--json")[1])
    assert [r["candidate"] for r in data["front"]] == ["c000001", "baseline", "c000002"]
    lines = evo("pareto", stored, "--csv")[1].splitlines()
    assert lines[0].startswith("candidate,latency,registers") and len(lines) == 4
    wrong(evo("pareto", "--csv", "--json"), "exclude each other")


def test_pareto_png(evo: Callable[..., tuple[int, str, str]], stored: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert evo("pareto", "--png", tmp_path / "front.png")[0] == 0
    assert (tmp_path / "front.png").read_bytes().startswith(b"\x89PNG")
    wrong(evo("pareto", "--png", tmp_path / "no" / "front.png"), "cannot write")


def test_export(evo: Callable[..., tuple[int, str, str]], stored: Path, tmp_path: Path) -> None:
    code, out, _ = evo("export", stored, "--to", tmp_path / "out")
    assert code == 0 and (tmp_path / "out" / "best.cu").read_text() == "// c000001\n"
    assert str(tmp_path / "out" / "launch.json") in out
    assert evo("export", stored, "--candidate", "c000002", "--to", tmp_path / "two")[0] == 0
    assert (tmp_path / "two" / "best.cu").read_text() == "// c000002\n"
    wrong(evo("export", stored, "--candidate", "c9"), "no candidate c9")
    wrong(evo("export", stored, "--to", tmp_path / "out" / "best.cu"), "cannot write")


def test_mutators(evo: Callable[..., tuple[int, str, str]]) -> None:
    from mutators.catalogue import CATALOGUE

    code, out, _ = evo("mutators")
    data = json.loads(evo("mutators", "--json")[1])
    assert code == 0 and [m["name"] for m in data] == list(CATALOGUE)
    for m in data:
        assert m["name"] in out and m["summary"] in out and "→" in m["summary"]


def test_inspect(evo: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    code, out, _ = evo("inspect", SGEMM)
    assert code == 0
    for words in ("line 11: read A[row * K + k], as A[@y][k], in bounds", "TileLoops at k: ", "x: 16 threads a block",
                  "reorder-one-point"):
        assert words in out, words
    stencil = tmp_path / "s.cu"
    stencil.write_text("__global__ void f(float* a, int n) { int i = threadIdx.x; __syncthreads();\n"
                       "while (i < n) { a[i] = 1.0f; i += 32; } }\n__global__ void g(int* x) {}\n")
    wrong(evo("inspect", stencil), "f, g")
    code, out, _ = evo("inspect", stencil, "--kernel", "f")
    assert code == 0 and "other kernels in the file: g" in out


# ------------------------------------------------------------------------------------------------- a real run
def test_a_real_run_finds_verifies_and_writes(evo: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    code, out, err = evo("run", SGEMM, "--backend", "opencl", "--budget", "25s", "--agents", "2", "--seed", "3")
    assert code == 0, err
    (folder,) = (tmp_path / "runs").iterdir()
    assert str(folder.name) in out
    with Store.open(folder) as store:
        assert store.status() == "finished" and store.baseline() is not None
        assert store.verdict_counts()[Verdict.OK] > 0
    for command in ("show", "pareto"):
        assert evo(command)[0] == 0
    wrong(evo("resume", folder), "is finished")
