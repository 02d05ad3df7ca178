"""The doctor: real answers of this machine, and what is said of each thing that is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evo import doctor, probes, shadow
from evo.doctor import Finding, examine, usable, writable
from evo.probes import Answer, probe

ROOT = Path(__file__).resolve().parents[2]


def test_packages_and_compiler_really_work_here() -> None:
    assert probe("packages").ok, probe("packages")
    answer = probe("nvrtc")
    assert answer.ok and "compiles" in answer.text, answer


def test_opencl_really_runs_here() -> None:
    answer = probe("opencl")
    assert answer.ok and "Oclgrind" not in answer.text, answer


def test_a_driver_that_crashes_or_hangs_costs_one_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pyopencl.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    (tmp_path / "deap.py").write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(probes, "root", lambda: f"{tmp_path}:{ROOT}")
    crashed = probe("opencl")
    assert not crashed.ok and "ended with code -11" in crashed.text
    assert probe("packages", timeout=1.0) == Answer(False, "no answer within 1 seconds")


def test_a_broken_package_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pyopencl.py").write_text("raise ImportError('libOpenCL.so.1: no such file')\n")
    (tmp_path / "islpy.py").write_text("raise ImportError('broken')\n")
    monkeypatch.setattr(probes, "root", lambda: f"{tmp_path}:{ROOT}")
    for name, words, fix in (("opencl", "libOpenCL.so.1", "pip install pyopencl"),
                             ("packages", "broken", "pip install islpy")):
        answer = probe(name)
        assert not answer.ok and words in answer.text and fix in answer.fix


def test_findings_follow_from_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answers = {"packages": Answer(True, "all"), "gpu": Answer(False, "no driver", "install it"),
               "nvrtc": Answer(True, "compiles"), "pycuda": Answer(False, "PyCUDA is not installed", "make cuda"),
               "opencl": Answer(True, "a CPU"), "oclgrind": Answer(False, "not installed", "pip install x")}
    monkeypatch.setattr(doctor, "probe", lambda name: answers[name])
    found = {f.name: f for f in examine(tmp_path)}
    assert found["PyCUDA"].state == "note" and "with an NVIDIA GPU only" in found["PyCUDA"].text
    assert found["Oclgrind"] == Finding("Oclgrind", "note", "not installed", "pip install x")
    assert usable(found.values())
    answers["opencl"] = Answer(False, "no OpenCL device", "pip install pyopencl")
    found = {f.name: f for f in examine(tmp_path)}
    assert found["OpenCL"].state == "missing" and not usable(found.values())
    answers["gpu"] = Answer(True, "NVIDIA H200")
    found = {f.name: f for f in examine(tmp_path)}
    assert found["PyCUDA"].state == "missing" and found["PyCUDA"].fix == "make cuda" and not usable(found.values())
    answers["pycuda"] = Answer(True, "PyCUDA")
    assert usable(list(examine(tmp_path)))


def test_tools_are_found_on_path_and_in_the_toolkit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(doctor, "TOOLKIT_FOLDERS", ())
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert doctor.tool("ncu", "profiles").state == "note"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ncu").touch(0o755)
    assert doctor.tool("ncu", "profiles") == Finding("ncu", "ok", str(tmp_path / "bin" / "ncu"))


def test_run_folder(tmp_path: Path) -> None:
    assert writable(tmp_path).state == "ok" and not list(tmp_path.iterdir())
    finding = writable(tmp_path / "nowhere")
    assert finding.state == "missing" and "--out" in finding.fix


def test_shadowing_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gpu.py").write_text("")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "__init__.py").write_text("")
    path = [str(tmp_path), str(shadow.root()), *sys.path]
    assert shadow.foreign_modules(path) == [
        ("gpu", (tmp_path / "gpu.py").resolve()), ("results", (tmp_path / "results" / "__init__.py").resolve())]
    assert shadow.foreign_modules([str(shadow.root()), str(tmp_path)]) == []
    monkeypatch.chdir(tmp_path)
    assert any(f.state == "note" and "gpu.py in this folder" in f.text for f in doctor.shadows())


def test_a_foreign_evo_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.packages_distributions",
                        lambda: {"evo": ["evo-kernels", "evo"], "gpu": ["evo_kernels"], "numpy": ["numpy"]})
    assert shadow.foreign_distributions() == [("evo", "evo")]
    finding = next(f for f in doctor.shadows() if "distribution" in f.text)
    assert finding.state == "missing" and "pip uninstall evo" in finding.fix


def test_profiling_that_only_root_may_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    params = tmp_path / "params"
    assert doctor.profiling_blocked(params) is None
    params.write_text("EnableMSI: 1\nRmProfilingAdminOnly: 1\n")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    found = doctor.profiling_blocked(params)
    assert found is not None and "NVreg_RestrictProfilingToAdminUsers=0" in found.fix
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert doctor.profiling_blocked(params) is None
