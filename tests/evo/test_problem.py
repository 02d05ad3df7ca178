"""The problem file: what it becomes, and that each mistake is named with its line and a remedy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evo.problem import Budget, load_problem, parse_budget
from genome.errors import InputError
from genome.workload import Exactness

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ("conv2d", "sgemm", "sgemm_wrong_axes", "softmax", "stencil7", "transpose")

SOURCE = """\
#ifndef SCALE
#define SCALE 2.0f
#endif
__global__ void scale(const float* in, float* out, const int* index, int n, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = SCALE * factor * in[index[i]];
    }
}

template <typename T, int W>
__global__ void widen(const T* in, T* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * W;
}
"""

GOOD = """\
[kernel]
source = "scale.cu"
name = "scale"
block = [256, 1, 1]
grid = ["ceil_div(n, block_x)", 1, 1]

[args]
in = { shape = "n" }
out = { shape = "n", role = "out" }
index = { shape = "n", init = "permutation" }
n = { value = "n" }
factor = { value = 1.5 }

[sizes]
tune = [{ n = 65536, weight = 2.0 }, { n = 1000000 }]
check = [{ n = 4097 }]

[sizes.opencl]
tune = [{ n = 1024 }]

[accept]
assume = ["n > 16", "disjoint(in, out)"]
exactness = "exact"

[objectives]
minimise = ["latency", "shared_bytes"]
constraints = ["registers <= 64", "spill_bytes == 0"]

[search]
budget = "90s,300"
"""


def problem_folder(tmp_path: Path, *changes: tuple[str, str], source: str = SOURCE) -> Path:
    """A folder with the good problem, changed."""
    text = GOOD
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    (tmp_path / "scale.cu").write_text(source)
    (tmp_path / "evo.toml").write_text(text)
    return tmp_path


@pytest.mark.parametrize("backend", ["cuda", "opencl"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str, backend: str) -> None:
    p = load_problem(ROOT / "examples" / name, backend)
    assert p.name == p.launch.kernel == p.unit.kernel.name == name
    assert [a.name for a in p.workload.arguments] == [q.name for q in p.unit.kernel.params]
    for size in (*p.workload.tune, *p.workload.check):
        grid = p.launch.grid_at(p.workload.scalars(size))
        assert all(g >= 1 for g in grid)
    odd = [v for s in p.workload.check for _, v in s.values]
    assert any(v % 2 for v in odd)


def test_everything_is_read(tmp_path: Path) -> None:
    p = load_problem(problem_folder(tmp_path), "cuda")
    w = p.workload
    assert [(a.name, a.dtype, a.role, a.init if a.is_array else a.value) for a in w.arguments] == [
        ("in", "float32", "in", "normal"), ("out", "float32", "out", "normal"),
        ("index", "int32", "in", "permutation"), ("n", "int32", "in", "n"), ("factor", "float32", "in", "1.5")]
    assert [(str(s), s.weight) for s in w.tune] == [("65536", 2.0), ("1000000", 1.0)]
    assert [str(s) for s in w.check] == ["4097"]
    assert w.assume == ("n > 16", "disjoint(in, out)") and w.exactness is Exactness.EXACT
    assert w.folder == str(tmp_path)
    assert p.objectives == ("latency", "shared_bytes") and p.constraints == ("registers <= 64", "spill_bytes == 0")
    assert (p.budget_seconds, p.budget_evaluations) == (90.0, 300)
    assert p.launch.grid_at({"n": 1000}) == (4, 1, 1) and p.launch.block == (256, 1, 1)
    assert p.path == tmp_path / "evo.toml" and p.text == GOOD
    assert any("in: filled with standard normal" in line for line in p.assumed)


def test_back_end_has_its_own_sizes(tmp_path: Path) -> None:
    p = load_problem(problem_folder(tmp_path), "opencl")
    assert [str(s) for s in p.workload.tune] == ["1024"] and p.workload.check == ()
    assert "sizes: those of [sizes.opencl]" in p.assumed
    assert any(line.startswith("no check sizes") for line in p.assumed)


def test_defaults_are_said(tmp_path: Path) -> None:
    text = GOOD[:GOOD.index("[accept]")]
    problem_folder(tmp_path)
    (tmp_path / "evo.toml").write_text(text)
    p = load_problem(tmp_path)
    assert p.budget == Budget(600.0) and p.workload.exactness is Exactness.REASSOCIATES
    for word in ("exactness", "tolerance", "objectives", "budget: 10 minutes"):
        assert any(line.startswith(word) for line in p.assumed), word


def test_command_line_budget_wins(tmp_path: Path) -> None:
    assert load_problem(problem_folder(tmp_path), budget="7").budget == Budget(None, 7)


def test_template_and_defines(tmp_path: Path) -> None:
    folder = problem_folder(tmp_path, ('name = "scale"', 'name = "widen<double, 3>"\ndefines = { SCALE = 3 }'),
                            ('index = { shape = "n", init = "permutation" }\n', ""), ("factor = { value = 1.5 }\n", ""))
    p = load_problem(folder)
    assert p.workload.arguments[0].dtype == "float64" and p.name == "widen"
    assert p.launch.kernel == p.unit.kernel.name
    assert p.workload.tolerance.rtol == 1e-10


@pytest.mark.parametrize(("text", "seconds", "evaluations"), [
    ("10m", 600, None), ("90s", 90, None), ("1h30m", 5400, None), ("1.5m", 90, None), ("500", None, 500),
    ("5m,300", 300, 300), (" 300 , 5m ", 300, 300)])
def test_budget(text: str, seconds: float | None, evaluations: int | None) -> None:
    assert parse_budget(text) == Budget(seconds, evaluations)


@pytest.mark.parametrize("text", ["", "10", "x", "10x", "-5m", "0", "0s", "5m,6m", "5,6", "5m,", "1e3s", "5 m", "nan"])
def test_bad_budget(text: str) -> None:
    if text == "10":
        assert parse_budget(text).evaluations == 10
        return
    with pytest.raises(ValueError, match="budget"):
        parse_budget(text)


# change of the good file; the line that must be named (0: none); words of the message
WRONG: list[tuple[tuple[str, str], int, str]] = [
    # structure
    (("[kernel]", "[kernel"), 1, "not valid TOML"),
    (("[objectives]", "[objective]"), 25, "unknown section 'objective'; did you mean 'objectives'?"),
    (("[args]", "[arg]"), 7, "unknown section 'arg'"),
    (("block = ", "blok = "), 4, "unknown key 'blok' in [kernel] did you mean 'block'?"),
    (('role = "out"', 'rolle = "out"'), 9, "unknown key 'rolle' in [args.out] did you mean 'role'?"),
    # kernel
    (('"scale.cu"', '"nothing.cu"'), 2, "there is no source file"),
    (('source = "scale.cu"', "source = 3"), 2, "must be a non-empty string, not the number 3"),
    (('name = "scale"', 'name = "scael"'), 0, "scael"),
    (("[256, 1, 1]", "[2048, 1, 1]"), 4, "block.x is 2048; it must be from 1 to 1024"),
    (("[256, 1, 1]", "[1, 1, 65]"), 4, "block.z is 65; it must be from 1 to 64"),
    (("[256, 1, 1]", "[64, 32, 1]"), 4, "2048 threads, over the limit of 1024"),
    (("[256, 1, 1]", '["x", 1, 1]'), 4, "one to three integers"),
    (("[256, 1, 1]", "[0]"), 4, "block.x is 0"),
    (("ceil_div(n, block_x)", "ceil_div(n, block)"), 15, "'block', which the grid needs"),
    (("ceil_div(n, block_x)", "n // (block_x - 256)"), 5, "divides by zero"),
    (("ceil_div(n, block_x)", "open('x')"), 5, "calls something other"),
    (("ceil_div(n, block_x)", "n - 65536"), 5, "grid.x is 0 at size 65536"),
    (('["ceil_div(n, block_x)", 1, 1]', '[1, "n", 1]'), 5, "grid.y is 65536 at size 65536, over the limit of 65535"),
    (("block = [256, 1, 1]", "block = [256, 1, 1]\nshared_bytes = -1"), 5, "the least is 0"),
    (("block = [256, 1, 1]", 'block = [256, 1, 1]\ninclude = ["nowhere"]'), 5, "there is no include folder"),
    # args
    (('index = { shape = "n", init = "permutation" }\n', ""), 7, "describes 4 of the 5 parameters of 'scale': index"),
    (("factor = ", "faktor = "), 12, "has no parameter 'faktor'; it has (const float* in, float* out"),
    (("factor = { value = 1.5 }", "factor = { value = 1.5 }\nmore = { value = 1 }"), 13, "no parameter 'more'"),
    (("in = { shape = \"n\" }", 'in = { value = "n" }'), 8, "is an array in the kernel (const float*)"),
    (('n = { value = "n" }', 'n = { shape = "n" }'), 11, "is a scalar in the kernel (int)"),
    (('n = { value = "n" }', 'n = { value = "n", role = "in" }'), 11, "so it has no role"),
    (('in = { shape = "n" }', 'in = { shape = "n*" }'), 8, "is not an arithmetic expression"),
    (('in = { shape = "n" }', 'in = { shape = "m" }'), 15, "gives no value to 'm', which argument 'in' needs"),
    (('in = { shape = "n" }', 'in = { shape = "n - 65536" }'), 8, "is 0 elements at size 65536"),
    (('in = { shape = "n" }', 'in = { shape = "n / 0" }'), 8, "divides by zero"),
    (('in = { shape = "n" }', "in = { }"), 8, "has no shape"),
    (('in = { shape = "n" }', 'in = "n"'), 8, "must be a table, not the string 'n'"),
    (('in = { shape = "n" }', 'in = { shape = "n", role = "out" }'), 8, "takes it as const float*"),
    (('role = "out"', 'role = "in"'), 9, "the kernel writes 'out', which is declared role = \"in\""),
    ((', role = "out"', ""), 9, "the kernel writes 'out', which has no role"),
    (('role = "out"', 'role = "output"'), 9, "unknown role 'output'"),
    (('role = "out"', 'role = "out", init = "zeros"'), 9, "is an output, so it has no init"),
    (('init = "permutation"', 'init = "normal"'), 10, "needs a floating-point array; 'index' is int32"),
    (('init = "permutation"', 'init = "integers:5:5"'), 10, "is an empty range"),
    (('init = "permutation"', 'init = "gauss"'), 10, "is not understood"),
    (('init = "permutation"', 'init = "data.npy"'), 10, "there is no file"),
    (('init = "permutation"', 'dtype = "int64"'), 10, "is int32, not int64"),
    # sizes
    (("tune = [{ n = 65536", "tune = [{ m = 65536"), 15, "gives no value to 'n'"),
    (("check = [{ n = 4097 }]", "check = [{ m = 1 }]"), 16, "gives no value to 'n'"),
    (("check = [{ n = 4097 }]", "check = [{ n = 4097, m = 1 }]"), 16, "sets 'm', which no argument"),
    (("check = [{ n = 4097 }]", 'check = [{ n = "many" }]'), 16, "must be a number"),
    (("check = [{ n = 4097 }]", "check = [{}]"), 16, "an empty size"),
    (("check = [{ n = 4097 }]", "check = { n = 4097 }"), 16, "must be a list of tables"),
    (("check = [{ n = 4097 }]", "check = [{ n = 3000000000 }]"), 16, "int32 argument 'n' would be 3000000000"),
    (("check = [{ n = 4097 }]", "check = [{ n = 40.5 }]"), 16, "int32 argument 'n' would be 40.5"),
    (("check = [{ n = 4097 }]", "check = [{ n = 7 }]"), 16, "breaks the assumption 'n > 16'"),
    (("tune = [{ n = 65536, weight = 2.0 }, { n = 1000000 }]\n", ""), 14, "tune sizes"),
    (("tune = [{ n = 65536, weight = 2.0 }, { n = 1000000 }]", "tune = []"), 15, "the list of tune sizes is empty"),
    (("weight = 2.0", "weight = -2.0"), 15, "the least is 0"),
    (("[sizes.opencl]", "[sizes.opencll]"), 18, "unknown key 'opencll' in [sizes] did you mean 'opencl'?"),
    # accept, objectives, search
    (('"n > 16"', '"n >"'), 22, "is not an arithmetic expression"),
    (('"n > 16"', '"out > 16"'), 22, "reads the array 'out'"),
    (("disjoint(in, out)", "disjoint(in, output)"), 22, "'output', which is no array argument"),
    (('"exact"', '"exactly"'), 23, "unknown exactness 'exactly' did you mean 'exact'?"),
    (('exactness = "exact"', 'reference = "check.py:f"'), 23, "there is no file"),
    (('exactness = "exact"', 'reference = "check"'), 23, "is not understood"),
    (('exactness = "exact"', "tolerance = { rtol = -1.0 }"), 23, "the least is 0"),
    (('"shared_bytes"]', '"shared"]'), 26, "unknown objective 'shared'"),
    (('["latency", "shared_bytes"]', '["registers"]'), 26, "'latency' must be among the objectives"),
    (('["latency", "shared_bytes"]', '["latency", "latency"]'), 26, "is named twice"),
    (('"registers <= 64"', '"register <= 64"'), 27, "did you mean 'registers'?"),
    (('"registers <= 64"', '"registers"'), 27, "compares nothing"),
    (('"90s,300"', '"90 minutes"'), 30, "budget '90 minutes' is not understood"),
    (('"90s,300"', "true"), 30, "is not understood"),
    (('budget = "90s,300"', 'veto = ["TileLoop"]'), 30, "unknown mutator 'TileLoop' in veto did you mean 'TileLoops'?"),
    (('budget = "90s,300"', "veto = 3"), 30, "must be a list of strings"),
]


def plain(message: str) -> str:
    return message.replace("(", "").replace(")", "").replace(";", "")


@pytest.mark.parametrize(("change", "line", "words"), WRONG, ids=lambda v: v[1][:30] if isinstance(v, tuple) else None)
def test_mistakes(tmp_path: Path, change: tuple[str, str], line: int, words: str) -> None:
    folder = problem_folder(tmp_path, change)
    with pytest.raises(InputError) as e:
        load_problem(folder)
    message = str(e.value)
    assert plain(words) in plain(message)
    assert "\n" not in message
    if line:
        assert message.startswith(f"{folder / 'evo.toml'}:{line}: ")


def test_no_output_at_all(tmp_path: Path) -> None:
    source = "__global__ void scale(const float* in, const int* index, int n, float factor) { }\n"
    folder = problem_folder(tmp_path, ('out = { shape = "n", role = "out" }\n', ""), source=source)
    with pytest.raises(InputError, match="no argument is an output"):
        load_problem(folder)


def test_an_output_that_is_never_written(tmp_path: Path) -> None:
    folder = problem_folder(tmp_path, source=SOURCE.replace("out[i] = SCALE", "float v = SCALE"))
    with pytest.raises(InputError, match=r"evo.toml:9: 'out' is declared .*, but the kernel never writes it"):
        load_problem(folder)


@pytest.mark.parametrize("body", [
    "float* p = out + 1; p[i] = factor;", "atomicAdd(&out[i], factor);", "*(out + i) = factor;",
    "float* p = out; p += i; *p = factor;", "out[i]++;"])
def test_writes_through_aliases_are_seen(tmp_path: Path, body: str) -> None:
    source = SOURCE.replace("out[i] = SCALE * factor * in[index[i]];", body)
    load_problem(problem_folder(tmp_path, source=source))
    with pytest.raises(InputError, match="the kernel writes 'out'"):
        load_problem(problem_folder(tmp_path, ('role = "out"', 'role = "in"'), source=source))


def test_reading_an_input_into_a_pointer_is_no_write(tmp_path: Path) -> None:
    source = SOURCE.replace("out[i] =", "const float* p = in + i; p += 1; out[i] = p[0] +")
    load_problem(problem_folder(tmp_path, source=source))


# ---------------------------------------------------------------------------------------------- bare .cu files
def test_bare_source_gets_a_problem_file(tmp_path: Path) -> None:
    source = tmp_path / "scale.cu"
    source.write_text(SOURCE[:SOURCE.index("template")])
    with pytest.raises(InputError) as e:
        load_problem(source)
    assert "marked \"?\" there: the shape of in, the sizes to tune for" in str(e.value)
    text = (tmp_path / "evo.toml").read_text()
    assert 'grid = ["ceil_div(n, block_x)"]' in text and 'out = { shape = "n", role = "out" }' in text
    with pytest.raises(InputError, match=r"evo.toml:8: 'args.in.shape' is still to be filled in"):
        load_problem(source)
    text = text.replace('shape = "?"', 'shape = "n"').replace('n = "?", factor = "?"', "n = 1000, factor = 2.0")
    (tmp_path / "evo.toml").write_text(text)
    assert load_problem(source).workload.argument("out").role == "out"


def test_bare_source_with_its_problem_file_uses_it(tmp_path: Path) -> None:
    assert load_problem(problem_folder(tmp_path) / "scale.cu").path == tmp_path / "evo.toml"


def test_bare_source_beside_a_foreign_problem_file(tmp_path: Path) -> None:
    problem_folder(tmp_path)
    other = tmp_path / "other.cu"
    other.write_text("__global__ void f(float* x, int n) { x[threadIdx.x + n] = 0.0f; }\n")
    with pytest.raises(InputError, match="the grid along x"):
        load_problem(other)
    assert (tmp_path / "other.toml").is_file() and (tmp_path / "evo.toml").read_text() == GOOD


def test_bare_source_without_or_with_many_kernels(tmp_path: Path) -> None:
    (tmp_path / "none.cu").write_text("// __global__ void f(int x) {}\nint main() { return 0; }\n")
    with pytest.raises(InputError, match="has no __global__ kernel"):
        load_problem(tmp_path / "none.cu")
    (tmp_path / "two.cu").write_text("__global__ void f(int* x) {}\n__global__ void g(int* x) {}\n")
    with pytest.raises(InputError, match=r"has 2 kernels \(f, g\)"):
        load_problem(tmp_path / "two.cu")
    assert not list(tmp_path.glob("*.toml"))


# ------------------------------------------------------------------------------------------------------- paths
def test_paths(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "nowhere", "no such file or folder"), (tmp_path, "no problem file")):
        with pytest.raises(InputError, match=words):
            load_problem(path)
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(InputError, match="neither a folder"):
        load_problem(tmp_path / "notes.txt")
    (tmp_path / "evo.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        load_problem(tmp_path)
    with pytest.raises(InputError, match="unknown back end 'metal'"):
        load_problem(ROOT / "examples" / "sgemm", "metal")


def test_windows_line_ends(tmp_path: Path) -> None:
    folder = problem_folder(tmp_path, ('role = "out"', 'role = "outt"'))
    (folder / "evo.toml").write_bytes((folder / "evo.toml").read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(InputError, match="evo.toml:9: unknown role 'outt'"):
        load_problem(folder)


def test_flags_of_compile_commands(tmp_path: Path) -> None:
    """The build's own folders, macros and flags count where the problem file says nothing else."""
    folder = problem_folder(tmp_path, ('name = "scale"', 'name = "scale"\nflags = ["-fmad=true"]'))
    (folder / "inc").mkdir()
    (folder / "compile_commands.json").write_text(json.dumps([{
        "directory": str(folder), "file": "scale.cu",
        "arguments": ["nvcc", "-Iinc", "-DSCALE=3.0f", "-use_fast_math", "-fmad=false", "-c", "scale.cu"]}]))
    problem = load_problem(folder)
    assert problem.include == (str(folder / "inc"),) and problem.flags == ("-fmad=true", "-use_fast_math")
    assert "3.0f" in problem.unit.cuda() and "2.0f" not in problem.unit.cuda()
    assert any("compile_commands.json" in a for a in problem.assumed)
    (folder / "evo.toml").write_text((folder / "evo.toml").read_text() + "[kernel.defines]\nSCALE = \"4.0f\"\n")
    assert "4.0f" in load_problem(folder).unit.cuda()
