"""``evo inspect`` and ``evo init`` on bare files, and what they share with the benchmark of the front-end."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks import frontend
from evo.cli.app import app
from evo.problem import load_problem
from evo.problem.launches import find_launch
from genome.errors import InputError

TILED = """\
#include "not/here.h"
#define BS 16
__global__ void mm(const float* a, const float* b, float* c, int m, int n, int k) {
    int row = blockIdx.y * BS + threadIdx.y, col = blockIdx.x * BS + threadIdx.x;
    if (row < m && col < n) {
        float s = 0;
        for (int i = 0; i < k; ++i) s += a[row * k + i] * b[i * n + col];
        c[row * n + col] = s;
    }
}
void run(float* A, float* B, float* C, int M, int N, int K) {
    int threads = BS;
    dim3 block(threads, BS);
    dim3 grid((N + block.x - 1) / block.x, (M + BS - 1) / BS);
    mm<<<grid, block>>>(A, B, C, M, N, K);
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "mm.cu"
    path.write_text(TILED)
    return path


def evo(*args: object) -> Any:
    return CliRunner().invoke(app, [str(a) for a in args], catch_exceptions=True)


def test_init_leaves_only_the_sizes(source: Path) -> None:
    result = evo("init", source)
    assert result.exit_code == 0 and "still to be filled in: the sizes to tune for" in result.output
    file = source.parent / "evo.toml"
    text = file.read_text()
    for line in ("block = [16, 16, 1]    # as in the launch at line 15",
                 'grid = ["ceil_div(n, block_x)", "ceil_div(m, block_y)"]    # as in the launch at line 15',
                 'a = { shape = "m*k" }    # const float*; shape guessed from the largest subscript',
                 'b = { shape = "k*n" }', 'c = { shape = "m*n", role = "out" }'):
        assert line in text, text
    with pytest.raises(InputError, match="tune"):
        load_problem(file)
    file.write_text(text.replace('m = "?", n = "?", k = "?"', "m = 50, n = 60, k = 70"))
    problem = load_problem(file)
    assert problem.workload.elements("b", problem.workload.tune[0]) == 70 * 60
    again = evo("init", source)
    assert isinstance(again.exception, InputError) and "exists" in str(again.exception)
    assert evo("init", source, "--force").exit_code == 0


def test_init_marks_what_cannot_be_guessed(tmp_path: Path) -> None:
    path = tmp_path / "g.cu"
    path.write_text("__global__ void g(const float* x, const int* at, float* y, int n) {\n"
                    "  int i = threadIdx.x; if (i < n) y[i] += x[at[i]];\n}\n")
    result = evo("init", path, "--out", tmp_path / "mine.toml")
    assert "the shape of x" in result.output and "the grid along x" in result.output
    text = (tmp_path / "mine.toml").read_text()
    assert 'x = { shape = "?" }' in text and 'y = { shape = "?", role = "inout" }' in text and "a guess" in text


@pytest.mark.parametrize(("config", "block", "grid"), [
    ("cdiv(N, 128), 128", (128, 1, 1), ("ceil_div(n, 128)",)),
    ("(N + 255) / 256, 256", (256, 1, 1), ("ceil_div(n, 256)",)),
    ("dim3(N / 8, 4), dim3(8, 4, 2), 1024, stream", (8, 4, 2), ("n/8", "4")),
    ("blocks, threads", (64, 1, 1), ("ceil_div(n, block_x)",)), ("unknown(N), T", None, ("?",)),
])
def test_launches(config: str, block: tuple[int, int, int] | None, grid: tuple[str, ...]) -> None:
    host = ("const int threads = 64;\nint blocks = (N + threads - 1) / threads;\n"
            f"k<<<{config}>>>(data, N);\n")
    seen = find_launch(host, "k", ["p", "n"])
    assert seen is not None and (seen.line, seen.block, seen.grid) == (3, block, grid)


def test_no_launch() -> None:
    assert find_launch("kk<<<1, 2>>>(a); k(3);", "k", ["a"]) is None and find_launch("k<<<1", "k", []) is None


def test_inspect_shows_access_patterns_and_refusals(source: Path) -> None:
    out = evo("inspect", source).output
    for words in ("assumed, because there is no problem file", "i: for i from 0 while < k step 1 (line 7)",
                  "read b[i * n + col], as b[i][@x], in bounds; stride 1 between threads, 2 sectors a warp (100%",
                  "read a[row * k + i], as a[@y][i], in bounds; stride 0 between threads", "TileLoops at i:",
                  'mm.cu:1: #include "not/here.h" is not found'):
        assert words in out, out
    report = json.loads(evo("inspect", source, "--json").output)
    assert {"tree", "arrays", "sites", "opaque", "mapping", "notes"} <= set(report)
    assert any(s["mutator"] == "AdjustBlockSize" and s["legal"] for s in report["sites"])
    assert all({"code", "reason", "line"} <= set(r) for s in report["sites"] for r in s["refusals"])


def test_inspect_takes_less_than_two_seconds_for_a_long_file(tmp_path: Path) -> None:
    path = tmp_path / "long.cu"
    kernel = TILED[TILED.index("__global__"):TILED.index("void run")]
    host = "void host{0}(int n) {{\n" + "    for (int i = 0; i < n; ++i) printf(\"%d\", i);\n" * 20 + "}}\n"
    path.write_text("#define BS 16\n" + "".join(kernel.replace(" mm(", f" mm{i}(") + host.format(i) for i in range(66)))
    assert path.read_text().count("\n") > 1900
    assert evo("inspect", path, "mm7").exit_code == 0  # modules are loaded
    path.write_text(path.read_text() + "// changed\n")
    start = time.process_time()
    assert evo("inspect", path, "mm65").exit_code == 0
    assert time.process_time() - start < 2.0


def test_benchmark_counts_what_it_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mm.cu").write_text(TILED)
    (tmp_path / "bad.cu").write_text("__global__ void bad(float* a) {\n  a[0] = = 1;\n}\n"
                                     "__global__ void lone(float* a) { a[0] = missing_name; }\n")
    (tmp_path / "broken.cuh").write_text("#if\n__global__ void k(float* a) {}\n")
    (tmp_path / "host.cu").write_text("int main() { return 0; }\n")
    pytest.importorskip("cuda.bindings.nvrtc")
    assert frontend.main([str(tmp_path), "--json", str(tmp_path / "out.json")]) == 0
    total = json.loads((tmp_path / "out.json").read_text())["summary"]
    assert total["files"] == 3 and total["kernels"] == 3 and total["read"] == 2
    assert total["read_share"] == pytest.approx(2 / 3) and total["round_trip_share"] == 1.0
    assert total["compared"] == 1 and total["not_compilable_alone"] == 1
    assert total["kernels_with_sites"]["TileLoops"] == 1 and total["structural_site_share"] == 0.5
    out = capsys.readouterr().out
    assert "line 2 bad: not read: kernel '...' cannot be parsed" in out and "the preprocessor stops" in out


def test_benchmark_outlives_a_kernel_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import _frontend_worker as worker

    path = tmp_path / "two.cu"
    path.write_text("__global__ void slow(int* a) { a[0] = 1; }\n__global__ void fast(int* a) { a[0] = 2; }\n")
    real = worker._kernel

    def hang(task: Any, entry: Any, *rest: Any) -> dict[str, Any]:
        if entry.name == "slow":
            time.sleep(60)
        return real(task, entry, *rest)

    monkeypatch.setattr(worker, "_kernel", hang)
    kernels, _ = worker.run_file(worker.Task(str(path), (), (), False, False), 2.0)
    assert [(k["name"], k["read"]) for k in kernels] == [("slow", False), ("fast", True)]
    assert kernels[0]["reason"] == "timed out after 2 s"
