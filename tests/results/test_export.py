from __future__ import annotations

import csv
import dataclasses
import json
import math
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from genome import ir
from genome.errors import InputError
from genome.expressions import evaluate
from genome.program import Launch, Workspace
from genome.workload import Argument, Size, Workload
from results import cxx, launcher
from results.export import export, launches_of
from results.launcher import Parameter
from tests.results import build

PARAMETERS = launcher.from_dicts(build.PROBLEM["parameters"])  # type: ignore[arg-type]


def test_everything_is_written(tmp_path: Path) -> None:
    with build.finished_run(tmp_path / "r") as s:
        paths = export(s, "c1", tmp_path / "out")
    assert {p.name for p in paths} == {"best.cu", "launch.json", "launch.cuh", "genome.json", "pareto.csv"}
    assert {p.name for p in (tmp_path / "out").iterdir()} == {p.name for p in paths}
    assert (tmp_path / "out" / "best.cu").read_text() == build.SOURCE
    launch = json.loads((tmp_path / "out" / "launch.json").read_text())
    assert launch["launches"] == json.loads(build.LAUNCHES)
    assert launch["flags"] == ["-use_fast_math"] and launch["confirmed"] is True and launch["verdict"] == "ok"
    assert launch["sizes_verified"] == {"tune": ["4096"], "check": ["777"]}
    genes = json.loads((tmp_path / "out" / "genome.json").read_text())
    assert genes["genes"][0] == {"mutator": "AdjustBlockSize", "site": "x", "params": {"threads": 128}}
    assert genes["gain"] == pytest.approx(math.log(2))
    assert len(list(csv.reader((tmp_path / "out" / "pareto.csv").open()))) == 4


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    with build.finished_run(tmp_path / "r") as s:
        with pytest.raises(InputError, match="no candidate c99"):
            export(s, "c99", tmp_path / "out")
        s.add_candidate(dataclasses.replace(build.candidate("empty"), source=""))
        with pytest.raises(InputError, match="never expressed"):
            export(s, "empty", tmp_path / "out")
        (tmp_path / "file").touch()
        with pytest.raises(InputError, match="cannot write"):
            export(s, "c1", tmp_path / "file")
        assert not (tmp_path / "out").exists()


def test_opencl_runs_give_both_sources_and_no_parameters_no_launcher(tmp_path: Path) -> None:
    with build.finished_run(tmp_path / "r") as s:
        s.problem.pop("parameters")
        s.add_candidate(dataclasses.replace(build.candidate("cl"), source_opencl="__kernel void scale() {}\n"))
        names = {p.name for p in export(s, "cl", tmp_path / "out")}
    assert "best.cl" in names and "launch.cuh" not in names
    assert json.loads((tmp_path / "out" / "launch.json").read_text())["verdict"] == "not evaluated"


def test_launches_are_read_from_the_record() -> None:
    c = dataclasses.replace(build.candidate("a"), launches='[{"kernel": "k", "grid": [4], "block": [32]}]')
    assert launches_of(c) == (Launch("k", ("4", "1", "1"), (32, 1, 1), 0),)


def test_parameters_of_a_kernel() -> None:
    pointer = ir.CType("float", 1, const=True, restrict=True)
    kernel = ir.Kernel("k", (ir.Param(pointer, "A"), ir.Param(ir.CType("unsigned int"), "n")), ())
    work = Workload((Argument("A", "float32", "N*2"), Argument("n", "uint32", value="N")), (Size((("N", 4),)),))
    assert launcher.from_kernel(kernel, work) == (Parameter("const float*", "A", "N*2"),
                                                  Parameter("unsigned int", "n", None, "N"))
    assert Parameter("const float* __restrict__", "A").pointer and not Parameter("double", "x").whole


def test_scalars_that_no_parameter_carries_become_parameters() -> None:
    text = launcher.header([Parameter("float*", "A", "M*N"), Parameter("int", "m", None, "M")],
                           [Launch("f<float, 4>", ("M", "N", "1"), (32, 1, 1))])
    assert "evo_launch_f_float_4(float* A, int m, long long N, cudaStream_t evo_stream)" in text
    assert "f<float, 4><<<" in text


@pytest.mark.parametrize(("precondition", "message"), [
    ("disjoint(A, n)", "size of n is not known"), ("disjoint(A, Q)", "size of Q"), ("N +", "not an arithmetic"),
    ("A > 3", "A is a pointer"), ("aligned(A, 16)", "calls something other")])
def test_preconditions_that_cannot_be_checked(precondition: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        launcher.header(PARAMETERS, [Launch("scale", ("1", "1", "1"), (32, 1, 1))], [precondition])


def test_workspaces_are_the_callers() -> None:
    spaces = (Workspace("s_parts", "float", "max(1, (n)*4)"), Workspace("t_parts", "double", "n"))
    text = launcher.header([Parameter("float*", "A", "n"), Parameter("int", "n")],
                           [Launch("f", ("n", "1", "4"), (32, 1, 1), 0, spaces),
                            Launch("g", ("n", "1", "1"), (64, 1, 1), 0, spaces[1:])])
    assert "size_t evo_launch_f_workspace_bytes(float* A, int n)" in text
    assert "evo_launch_f(float* A, int n, void* evo_workspace, cudaStream_t evo_stream)" in text
    assert "evo_stream>>>(A, n, s_parts, t_parts);" in text and "evo_stream>>>(A, n, t_parts);" in text
    assert text.index("float* const s_parts") < text.index("double* const t_parts") < text.index("<<<")


MAIN = r"""
#include "launch.cuh"
#include <cstdio>
int main() {
    float* p = reinterpret_cast<float*>(4096);
    std::printf("%d\n", evo_launch_scale(p, p + 1000, 1000, 2.0f, 0));     // touching, not overlapping
    std::printf("%d\n", evo_launch_scale(p, p + 999, 1000, 2.0f, 0));      // overlapping
    std::printf("%d\n", evo_launch_scale(p + 1000, p, 998, 2.0f, 0));      // 998 % 4 == 2
    std::printf("%d\n", evo_launch_scale(p, p + 1000, 0, 2.0f, 0));        // nothing to do
    return cudaErrorInvalidValue == 1 ? 0 : 1;
}
"""


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_launcher_compiles_and_checks_preconditions(tmp_path: Path) -> None:
    with build.finished_run(tmp_path / "r") as s:
        launches = json.dumps([{"kernel": "scale", "grid": ["ceil_div(N, block_x)", "1", "1"], "block": [128, 1, 1],
                                "shared_bytes": 65536}])
        s.add_candidate(dataclasses.replace(build.candidate("p"), launches=launches,
                                            preconditions=("N % 4 == 0", "disjoint(A, B)")))
        export(s, "p", tmp_path)
    (tmp_path / "main.cu").write_text(MAIN)
    built = subprocess.run(["nvcc", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra", "-o", "main", "main.cu"],
                           cwd=tmp_path, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    ran = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True)
    codes = [int(x) for x in ran.stdout.split()]
    assert ran.returncode == 0 and len(codes) == 4
    assert codes[0] != 1  # goes on to the launch: no device, or an address that is none
    assert codes[1:] == [1, 1, 0]


numbers = st.sampled_from(["0", "1", "3", "7", "M", "N", "K"])
trees = st.recursive(numbers, lambda t: st.one_of(
    st.tuples(st.sampled_from("+ - * / // %".split()), t, t).map(lambda x: f"({x[1]} {x[0]} {x[2]})"),
    st.tuples(st.sampled_from(["ceil_div", "min", "max"]), t, t).map(lambda x: f"{x[0]}({x[1]}, {x[2]})"),
    st.tuples(st.sampled_from("== != < <= > >=".split()), t, t).map(lambda x: f"({x[1]} {x[0]} {x[2]})"),
    st.tuples(t, t, t).map(lambda x: f"({x[0]} if {x[1]} else {x[2]})"),
    st.tuples(st.sampled_from(["and", "or"]), t, t).map(lambda x: f"((1 if {x[1]} else 0) {x[0]} {x[2]} > 2)"),
    t.map(lambda x: f"(-{x})"), t.map(lambda x: f"abs({x})"), t.map(lambda x: f"(1 if not {x} else 2)")), max_leaves=6)
VALUES = {"M": 37, "N": 64, "K": -5}


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@settings(max_examples=4, deadline=None)
@given(st.lists(trees, min_size=60, max_size=60))
def test_expressions_mean_the_same_in_cxx(texts: list[str]) -> None:
    """Many expressions per compilation, compared with :func:`genome.expressions.evaluate`."""
    names = {n: (n, True) for n in VALUES}
    lines, want = [], []
    for text in texts:
        try:
            value = evaluate(text, VALUES)
        except ValueError:  # divides by zero
            continue
        if abs(value) < 2**40:
            want.append(int(value))
            lines.append(f'std::printf("%lld\\n", {cxx.expression(text, names)[0]});')
    assume(want)
    source = ("#include <cmath>\n#include <cstdint>\n#include <cstdio>\n" + cxx.HELPERS + "int main() { long long "
              + ", ".join(f"{n} = {v}" for n, v in VALUES.items()) + "; (void)M; (void)N; (void)K;\n"
              + "\n".join(lines) + "\n}")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "e"
        built = subprocess.run(["g++", "-x", "c++", "-", "-o", program], input=source, capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
        ran = subprocess.run([program], capture_output=True, text=True, check=True)
    assert [int(x) for x in ran.stdout.split()] == want


def test_floats_in_cxx() -> None:
    assert cxx.expression("alpha / 2", {"alpha": ("alpha", False)}) == (
        "(alpha / static_cast<double>(2LL))", False)
    with pytest.raises(InputError, match="uses beta"):
        cxx.expression("beta", {})


def test_a_table_chooses_by_the_scalars() -> None:
    space = (Workspace("s_parts", "float", "n*4"),)
    text = launcher.header([Parameter("float*", "A", "n"), Parameter("int", "n")],
                           [Launch("f", ("n", "1", "1"), (32, 1, 1), version=0),
                            Launch("g", ("n", "1", "4"), (64, 1, 1), 0, space, version=1),
                            Launch("h", ("n", "1", "1"), (64, 1, 1), 0, space, version=1)],
                           select="0 if max(1.0*n/64, 64.0/n) <= max(1.0*n/4096, 4096.0/n) else 1", name="k")
    assert "evo_launch_k(float* A, int n, void* evo_workspace, cudaStream_t evo_stream)" in text
    first, second = text.index("if (evo_version == 0)"), text.rindex("if (evo_version == 1)")
    assert first < text.index("f<<<") < second < text.index("g<<<") < text.index("h<<<")
    assert text.index("evo_launch_k_workspace_bytes") < text.index("const long long evo_version")
