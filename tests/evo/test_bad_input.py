"""Wrong input: one line on standard error with file, line and remedy, exit code 2, no traceback, nothing started.

Everything here is found before a device is asked, so the device is not looked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from evo import backend, probes
from evo.cli.entry import call
from evo.problem import load_problem

SOURCE = """\
// twice
#ifndef SCALE
#define SCALE 2.0f
#endif
__global__ void scale(const float* in, float* out, int n, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = SCALE * factor * in[i];
    }
}
"""

GOOD = """\
[kernel]
source = "scale.cu"
name = "scale"
block = [64, 1, 1]
grid = ["ceil_div(n, block_x)", 1, 1]

[args]
in = { shape = "n" }
out = { shape = "n", role = "out" }
n = { value = "n" }
factor = { value = 1.5 }

[sizes]
tune = [{ n = 4096 }]
check = [{ n = 1001 }]
"""

BLOCK, GRID, IN = "[64, 1, 1]", '["ceil_div(n, block_x)", 1, 1]', 'in = { shape = "n" }'
OUT, N, FACTOR, TUNE = 'out = { shape = "n", role = "out" }', 'n = { value = "n" }', "{ value = 1.5 }", "[{ n = 4096 }]"
NAME = 'name = "scale"'
END = "check = [{ n = 1001 }]\n"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def evo(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(backend, "probe", lambda _: probes.Answer(True, "a CPU"))

    def run(*args: object) -> tuple[int, str, str]:
        code = call([str(a) for a in args])
        said = capfd.readouterr()
        return code, said.out, said.err

    return run


def one_line(said: tuple[int, str, str], *words: str) -> None:
    code, out, err = said
    assert code == 2, said
    assert out == "" and err.startswith("error: ") and err.endswith("\n") and err.count("\n") == 1, said
    assert len(err) < 1000, err
    for w in words:
        assert w in err, err


def problem(folder: Path, *changes: tuple[str, str], more: str = "") -> None:
    text = GOOD
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    (folder / "scale.cu").write_text(SOURCE)
    (folder / "evo.toml").write_text(text + more)


def test_the_problem_that_the_cases_spoil_is_good(tmp_path: Path) -> None:
    problem(tmp_path)
    assert load_problem(tmp_path, "opencl").name == "scale"


# ------------------------------------------------------------------------------------------ values in their places
CHANGED: list[tuple[str, str, str]] = [  # what is replaced, by what, words of the message
    ("[args]", "[argz]", "evo.toml:7: unknown section 'argz' (did you mean 'args'?)"),
    (NAME, 'nam = "scale"', "evo.toml:3: unknown key 'nam' in [kernel] (did you mean 'name'?)"),
    (NAME, "name = 3", "evo.toml:3: 'kernel.name' must be a non-empty string, not the number 3"),
    (NAME, 'name = ""', "evo.toml:3:"), (NAME, 'name = ["scale"]', "evo.toml:3:"),
    (NAME, 'name = "scales"', "'scales'"), (NAME, 'name = "scale<float>"', "is no template"),
    ('"scale.cu"', '"gone.cu"', "evo.toml:2: there is no source file"),
    ('"scale.cu"', '"."', "evo.toml:2: there is no source file"),
    ('"scale.cu"', '""', "evo.toml:2: 'kernel.source'"),
    ('"scale.cu"', '"a\\u0000b"', "evo.toml:2: there is no source file"),
    ('"scale.cu"', f'"{"a" * 300}.cu"', "name too long"),
    (BLOCK, "[-64, 1, 1]", "evo.toml:4: block.x is -64"), (BLOCK, "[0, 1, 1]", "evo.toml:4: block.x is 0"),
    (BLOCK, "[64.0, 1, 1]", "evo.toml:4: 'kernel.block' must be one to three integers"),
    (BLOCK, '"64"', "evo.toml:4:"), (BLOCK, "[1, 1, 1, 1]", "evo.toml:4:"), (BLOCK, "[]", "evo.toml:4:"),
    (BLOCK, "{ x = 1 }", "evo.toml:4:"), (BLOCK, "[true]", "evo.toml:4:"),
    (BLOCK, "[99999999999999999999]", "evo.toml:4: block.x is 99999999999999999999"),
    (BLOCK, "[1, 1, 128]", "evo.toml:4: block.z is 128"), (BLOCK, "[64, 64, 1]", "has 4096 threads"),
    (GRID, "[1.5]", "evo.toml:5: 'kernel.grid' must be one to three expressions"),
    (GRID, "[0]", "evo.toml:5: grid.x is 0 at size 4096"), (GRID, "[-4]", "evo.toml:5: grid.x is -4"),
    (GRID, '["ceil_div(m, block_x)"]', "evo.toml:14: size 4096 gives no value to 'm', which the grid needs"),
    (GRID, '["ceil_div(n, "]', "evo.toml:5: 'ceil_div(n, ' is not an arithmetic expression"),
    (GRID, '["__import__(\'os\')"]', "calls something other than"), (GRID, '["\\"a\\""]', "is no number"),
    (GRID, '["ceil_div(n)"]', "evo.toml:5: at size 4096: 'ceil_div(n)' cannot be evaluated"),
    (GRID, '["min()"]', "evo.toml:5: at size 4096: 'min()' cannot be evaluated"),
    (GRID, '["n**20"]', "over the limit of 2147483647"), (GRID, '["n//0"]', "divides by zero"),
    (GRID, '["1 << -1"]', "evo.toml:5: at size 4096:"), (GRID, '["n/3.0"]', "a grid is a whole number of blocks"),
    (GRID, '["1e400"]', "is inf, which is no finite number"), (GRID, '["(0-1)**0.5"]', "evo.toml:5: at size 4096:"),
    (GRID, '["n in n"]', "evo.toml:5:"), (GRID, '["n & 3"]', "evo.toml:5:"), (GRID, '["n\\u0000"]', "evo.toml:5:"),
    (GRID, '["n*1000000"]', "grid.x is 4096000000 at size 4096, over the limit"),
    (IN, 'in = { shape = "-n" }', "evo.toml:8: shape '-n' of 'in' is -4096 elements"),
    (IN, 'in = { shape = "n*0.3" }', "evo.toml:8: shape 'n*0.3' of 'in' is 1228.8 elements"),
    (IN, "in = { shape = 0 }", "evo.toml:8: shape '0' of 'in' is 0 elements"),
    (IN, "in = { shape = inf }", "inf"), (IN, "in = { shape = nan }", "nan"),
    (IN, 'in = { shape = "1e400" }', "evo.toml:8: at size 4096: '1e400' is inf"),
    (IN, 'in = { shape = "1e400-1e400" }', "which is no finite number"),
    (IN, 'in = { shape = "n*1000000000000" }', "evo.toml:14: the arrays take"),
    (IN, 'in = { shape = ["n"] }', "evo.toml:8: 'args.in.shape' must be an expression, not a list"),
    (IN, "in = { shape = true }", "not the boolean true"), (IN, 'in = { shape = "" }', "not an empty string"),
    (IN, "in = { shape = 2020-01-01 }", "evo.toml:8:"), (IN, 'in = { shape = "?" }', "still to be filled in"),
    (IN, 'in = "n"', "evo.toml:8: 'args.in' must be a table"), (IN, "in = 4", "evo.toml:8: 'args.in' must be a table"),
    (IN, f'{IN}\nfoo = {{ shape = "n" }}', "evo.toml:9: kernel 'scale' has no parameter 'foo'"),
    (IN + "\n", "", "[args] describes 3 of the 4 parameters of 'scale': in missing"),
    (IN, 'in = { shape = "n", role = "out" }', "evo.toml:8: 'in' is declared role = \"out\", but the kernel takes"),
    (OUT, 'out = { shape = "n" }', "evo.toml:9: the kernel writes 'out', which has no role"),
    (OUT, 'out = { shape = "n", role = "in" }', "evo.toml:9: the kernel writes 'out'"),
    (OUT, 'out = { shape = "n", role = "output" }', "unknown role 'output' of 'out' (did you mean 'out'?)"),
    (OUT, 'out = { shape = "n", role = 1 }', "evo.toml:9:"),
    (IN, 'in = { shape = "n", init = "gauss" }', "is not understood"),
    (IN, 'in = { shape = "n", init = "gone.npy" }', "there is no file"),
    (IN, 'in = { shape = "n", init = "permutation" }', "needs an integer array"),
    (IN, 'in = { shape = "n", init = "constant:1e400" }', "does not hold that number"),
    (IN, 'in = { shape = "n", init = "constant:1e39" }', "'in' is float32"),
    (IN, 'in = { shape = "n", init = "integers:5:5" }', "is an empty range"),
    (IN, 'in = { shape = "n", init = "integers:0:9999999999999999" }', "'in' is float32"),
    (IN, 'in = { shape = "n", init = "integers:0:99999999999999999999" }', "is not understood"),
    (IN, 'in = { shape = "n", dtype = "float64" }', "which is float32, not float64"),
    (IN, 'in = { shape = "n", dtype = "f4" }', "unknown dtype 'f4'"),
    (IN, 'in = { value = "n" }', "so it has a shape, not a value"), (N, 'n = { shape = "n" }', "so it has a value"),
    (N, "n = { value = true }", "evo.toml:10:"), (N, "n = { value = 1.5 }", "the int32 argument 'n' would be 1.5"),
    (N, "n = { value = 3000000000 }", "it holds whole numbers from"), (N, "n = { value = nan }", "nan"),
    (FACTOR, "{ value = 1e39 }", "the float32 argument 'factor' would be 1e+39"),
    (FACTOR, '{ value = "10**60" }', "the float32 argument 'factor' would be about 2^"),
    (TUNE, "[]", "evo.toml:14: the list of tune sizes is empty"), (TUNE, "[4096]", "evo.toml:14: 'sizes.tune[0]'"),
    (TUNE, "{ n = 4096 }", "must be a list of tables"), (TUNE, '"4096"', "must be a list of tables"),
    (TUNE, '[{ n = "4096" }]', "must be a number, not \"4096\""), (TUNE, "[{ n = -1 }]", "-1 elements at size -1"),
    (TUNE, "[{ n = 0 }]", "0 elements"), (TUNE, "[{ n = nan }]", "evo.toml:14: 'sizes.tune[0].n' is nan"),
    (TUNE, "[{ n = inf }]", "evo.toml:14: 'sizes.tune[0].n' is inf"), (TUNE, "[{}]", "no scalar has a value"),
    (TUNE, "[{ n = 100000000000000 }]", "the int32 argument 'n' would be 100000000000000"),
    (TUNE, "[{ n = 4096, m = 3 }]", "the size sets 'm', which no argument, grid or assumption uses"),
    (TUNE, "[{ n = 4096, weight = -1 }]", "is -1; the least is 0"), (TUNE, "[{ n = 1, weight = 0 }]", "weight 0"),
    (TUNE, "[{ n = 4096, weight = inf }]", "must be finite"), (TUNE, "[{ n = 4096, weight = nan }]", "nan"),
    (TUNE, '[{ "n m" = 4096 }]', "'n m' is no name of a scalar"), ("tune = [{ n = 4096 }]\n", "", "no tune sizes"),
]


@pytest.mark.parametrize(("old", "new", "words"), CHANGED, ids=[f"{new[:40]!r}" for _, new, _ in CHANGED])
def test_a_wrong_value(evo: Run, tmp_path: Path, old: str, new: str, words: str) -> None:
    problem(tmp_path, (old, new))
    one_line(evo("check", ".", "--backend", "opencl"), words)


ADDED: list[tuple[str, str]] = [  # below the good file; words of the message
    ("[extra]\nx = 1\n", "evo.toml:16: unknown section 'extra'"), ("x =", "evo.toml:16: not valid TOML"),
    ("[kernel]\n", "evo.toml:16: not valid TOML"), ("[[args]]\n", "not valid TOML"),
    ("[sizes.metal]\ntune = [{ n = 3 }]\n", "evo.toml:16: unknown key 'metal'"),
    ("[sizes.opencl]\nchk = [{ n = 3 }]\n", "evo.toml:17: unknown key 'chk'"),
    ('[accept]\nassume = "n > 3"\n', "evo.toml:17: 'accept.assume' must be a list"),
    ('[accept]\nassume = ["n >"]\n', "evo.toml:17: 'n >' is not an arithmetic expression"),
    ('[accept]\nassume = ["zz > 3"]\n', "evo.toml:17: at size 4096: 'zz > 3' uses zz"),
    ('[accept]\nassume = ["n > 5000"]\n', "evo.toml:14: size 4096 breaks the assumption 'n > 5000'"),
    ('[accept]\nassume = ["n % 2 == 0"]\n', "evo.toml:15: size 1001 breaks the assumption"),
    ('[accept]\nassume = ["disjoint(in, zz)"]\n', "names 'zz', which is no array argument"),
    ('[accept]\nassume = ["disjoint(in, in)"]\n', "an array is not disjoint from itself"),
    ('[accept]\nassume = ["disjoint(in, out, n)"]\n', "evo.toml:17:"), ('[accept]\nassume = [3]\n', "evo.toml:17:"),
    ('[accept]\nexactness = "fast"\n', "unknown exactness 'fast'"), ("[accept]\nexactness = 3\n", "evo.toml:17:"),
    ("[accept]\ntolerance = 1e-3\n", "must be a table"), ("[accept]\ntolerance = { rtol = -1 }\n", "the least is 0"),
    ("[accept]\ntolerance = { rtol = inf }\n", "must be finite"), ("[accept]\ntolerance = { rtol = nan }\n", "nan"),
    ("[accept]\ntolerance = { atol = 1 }\n", "unknown key 'atol'"), ('[accept]\nassumes = ["x"]\n', "'assumes'"),
    ('[accept]\nreference = "x.py"\n', "is not understood"), ('[accept]\nreference = "x.py:f"\n', "there is no file"),
    ("[objectives]\nminimise = []\n", "'latency' must be among"), ('[objectives]\nminimise = "latency"\n', "list"),
    ('[objectives]\nminimise = ["latency", "speed"]\n', "unknown objective 'speed'"),
    ('[objectives]\nminimize = ["latency"]\n', "did you mean 'minimise'?"),
    ('[objectives]\nminimise = ["registers"]\n', "'latency' must be among"),
    ('[objectives]\nminimise = ["latency", "latency"]\n', "is named twice"),
    ('[objectives]\nconstraints = ["regs <= 3"]\n', "did you mean 'registers'?"),
    ('[objectives]\nconstraints = ["registers"]\n', "compares nothing"),
    ('[objectives]\nconstraints = ["registers <= "]\n', "is not an arithmetic expression"),
    ('[search]\nbudget = "soon"\n', "evo.toml:17: budget 'soon' is not understood"),
    ("[search]\nbudget = 0\n", "budget '0' is zero"), ("[search]\nbudget = [1]\n", "evo.toml:17:"),
    ("[search]\nbudget = 1.5\n", "evo.toml:17:"), ("[search]\nbudget = true\n", "evo.toml:17:"),
    ('[search]\nveto = ["TileLoop"]\n', "evo.toml:17: unknown mutator 'TileLoop' in veto (did you mean 'TileLoops'?)"),
    ('[search]\nveto = ["tileloops"]\n', "did you mean 'TileLoops'?"), ('[search]\nveto = "TileLoops"\n', "list"),
    ("[search]\nveto = [1]\n", "evo.toml:17:"), ("[search]\nseed = 3\n", "unknown key 'seed' in [search]"),
]


@pytest.mark.parametrize(("more", "words"), ADDED, ids=[repr(more[:40]) for more, _ in ADDED])
def test_a_wrong_section(evo: Run, tmp_path: Path, more: str, words: str) -> None:
    problem(tmp_path, more=more)
    one_line(evo("check", ".", "--backend", "opencl"), words)


BUILD: list[tuple[str, str]] = [  # a line of [kernel]; words
    ('defines = { "a b" = 1 }', "'a b' is no macro name"), ("defines = { A = [1] }", "must be a string or a number"),
    ('defines = "A=1"', "must be a table"), ('defines = { SCALE = "1\\n2" }', "macro 'SCALE' has several lines"),
    ('defines = { SCALE = ")" }', "scale.cu:9:"), ('include = ["gone"]', "there is no include folder"),
    ('include = "gone"', "must be a list"), ('flags = "-O3"', "must be a list"), ("flags = [3]", "evo.toml:4:"),
    ("shared_bytes = -1", "the least is 0"), ('shared_bytes = "1"', "must be an integer"),
]


@pytest.mark.parametrize(("line", "words"), BUILD, ids=[line[:40] for line, _ in BUILD])
def test_a_wrong_build(evo: Run, tmp_path: Path, line: str, words: str) -> None:
    problem(tmp_path, (NAME, f"{NAME}\n{line}"))
    one_line(evo("check", ".", "--backend", "opencl"), words)


# ------------------------------------------------------------------------------------------------- whole files
@pytest.mark.parametrize(("content", "words"), [
    (b"", "section [kernel] is missing"), (b" \n\n", "section [kernel] is missing"), (b"kernel = 3\n", "is missing"),
    (b"\0\1\2", "evo.toml:1: not valid TOML"), (b"\xff\xfe\0\x80", "not UTF-8 text"),
    (GOOD.encode("utf-16"), "not UTF-8 text"), (GOOD.replace("\n", "\r").encode(), "evo.toml:1: not valid TOML"),
    (GOOD.replace("tune", "tüne").encode("latin-1"), "not UTF-8 text"),
])
def test_a_problem_file_that_is_none(evo: Run, tmp_path: Path, content: bytes, words: str) -> None:
    problem(tmp_path)
    (tmp_path / "evo.toml").write_bytes(content)
    one_line(evo("check", ".", "--backend", "opencl"), words)


@pytest.mark.parametrize("change", [lambda t: "\ufeff" + t, lambda t: t.replace("\n", "\r\n")], ids=["bom", "crlf"])
def test_files_of_another_system_are_read(tmp_path: Path, change: Callable[[str], str]) -> None:
    (tmp_path / "evo.toml").write_bytes(change(GOOD).encode())
    (tmp_path / "scale.cu").write_bytes(change(SOURCE).encode())
    assert load_problem(tmp_path, "opencl").unit.kernel.loc.line == 5


def test_lines_are_right_in_a_file_with_carriage_returns(evo: Run, tmp_path: Path) -> None:
    problem(tmp_path)
    (tmp_path / "evo.toml").write_bytes(GOOD.replace(IN, 'in = { shape = "-n" }').replace("\n", "\r\n").encode())
    one_line(evo("check", ".", "--backend", "opencl"), "evo.toml:8: shape '-n'")
    (tmp_path / "evo.toml").write_text(GOOD)
    (tmp_path / "scale.cu").write_bytes(SOURCE.replace("out[i] =", "out[i] = =").replace("\n", "\r\n").encode())
    one_line(evo("check", ".", "--backend", "opencl"), "scale.cu:9:")


@pytest.mark.parametrize(("old", "new", "words"), [
    ("out[i] = ", "out[i] = = ", "scale.cu:9: kernel 'scale' cannot be parsed"), ("in[i];", "in[i]", "scale.cu:9:"),
    ("    }\n}\n", "    }\n", "'}' is missing"), ("#endif\n", "", "scale.cu:2: "),
    ("__global__", "__device__", "no __global__ function"), ("// twice", "// \0", "binary file"),
    (SOURCE, "", "no __global__ function"), (SOURCE, "\1\2\0\3" * 500, "binary file"),
])
def test_a_source_that_is_none(evo: Run, tmp_path: Path, old: str, new: str, words: str) -> None:
    problem(tmp_path)
    assert old in SOURCE
    (tmp_path / "scale.cu").write_text(SOURCE.replace(old, new, 1))
    one_line(evo("check", ".", "--backend", "opencl"), words)


# ------------------------------------------------------------------------------------------------------- paths
def test_paths(evo: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "toml" / "evo.toml").mkdir(parents=True)
    (tmp_path / "k.cu").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    os.symlink("loop.toml", tmp_path / "loop.toml")
    os.symlink("loop.cu", tmp_path / "loop.cu")
    os.symlink("gone", tmp_path / "dangling.toml")
    (tmp_path / "two.cu").write_text(SOURCE + SOURCE.replace("scale(", "other("))
    (tmp_path / "none.cu").write_text("int f() { return 1; }\n")
    (tmp_path / "void.cu").write_text("")
    (tmp_path / "wrong.cu").write_text(SOURCE.replace("out[i] = ", "out[i] = = "))
    for path, words in (
            ("gone", "no such file or folder: gone"), ("gone.cu", "gone.cu"), ("", "no"), ("a\0b", "null byte"),
            ("empty", "no problem file in empty"), ("toml", "no problem file in toml"), ("k.cu", "k.cu"),
            ("notes.txt", "is neither a folder, a .toml problem file nor a .cu source"), ("/dev/null", "neither"),
            ("loop.toml", "loop.toml"), ("loop.cu", "loop.cu"), ("dangling.toml", "no such file"),
            ("two.cu", "has 2 kernels (scale, other)"), ("none.cu", "has no __global__ kernel"), ("void.cu", "void.cu"),
            ("wrong.cu", "wrong.cu:9:")):
        one_line(evo("run", path, "--backend", "opencl"), words)
    assert not list(tmp_path.glob("*.toml/*")) and not (tmp_path / "evo.toml").exists(), "nothing is written"
    assert not (tmp_path / "runs").exists()


def test_a_problem_file_that_names_another_kernel_is_kept(evo: Run, tmp_path: Path) -> None:
    problem(tmp_path, ('"scale.cu"', '"b.cu"'))
    (tmp_path / "scale.toml").write_text("[kernel]\n")
    one_line(evo("run", "scale.cu", "--backend", "opencl"), "neither names scale.cu")
    assert (tmp_path / "scale.toml").read_text() == "[kernel]\n"
    assert '"b.cu"' in (tmp_path / "evo.toml").read_text()


# --------------------------------------------------------------------------------------------------- arguments
@pytest.mark.parametrize("text", ["0", "0s", "-5", "1.5", "5x", "", "5m,300,2", "10m,10m", "1e5", "10 m", "m", "inf",
                                  "nan", "٣", "5m,", ","])
def test_budgets(evo: Run, tmp_path: Path, text: str) -> None:
    problem(tmp_path)
    one_line(evo("run", ".", "--backend", "opencl", "--budget", text), "budget", 'write "10m"')


@pytest.mark.parametrize(("option", "value"), [
    ("--seed", "-1"), ("--seed", "1.5"), ("--seed", "x"), ("--agents", "0"), ("--agents", "-1"),
    ("--agents", "1000000"), ("--policy", "best"), ("--backend", "gpu"), ("--nosuch", "1")])
def test_options(evo: Run, tmp_path: Path, option: str, value: str) -> None:
    problem(tmp_path)
    one_line(evo("run", ".", option, value), option, "see: evo --help")
