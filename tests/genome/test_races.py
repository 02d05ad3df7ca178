"""Races between barriers: planted ones are found with two threads as witnesses, race-free kernels are not accused, and
Oclgrind, which runs the kernels and watches every access, says the same of each."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from genome.build import PURE_FUNCTIONS
from genome.normal import normalise
from genome.program import Launch, Program
from genome.purity import pure_functions, silent_functions
from genome.races import Race, Races, find_races
from genome.unit import SourceUnit, list_kernels, load_unit
from genome.workload import Argument, Size, Workload
from gpu import oclgrind
from tests.corpus.tools import load as corpus

FILE = Path(__file__).with_name("races.cu")
KERNELS = [k.name for k in list_kernels(FILE)]
RACY = [k for k in KERNELS if k.endswith("_race")]
FREE = [k for k in KERNELS if k.endswith("_free")]
N = 128
# a race that needs the values of a loop's counter in single iterations to be known, not only its bounds
DOUBTFUL = {"after_race"}
TRUE_RACES = [k for k in RACY if k not in DOUBTFUL]


def block(name: str) -> tuple[int, int, int]:
    return (8, 8, 1) if name.startswith("transpose") else (64, 1, 1)


def analysed(unit: SourceUnit, shape: tuple[int, int, int], **scalars: int) -> Races:
    return find_races(normalise(unit.kernel), shape, [scalars] if scalars else [],
                      PURE_FUNCTIONS | pure_functions(unit), silent_functions(unit))


@cache
def found(name: str) -> Races:
    return analysed(load_unit(FILE, name), block(name), n=N)


@cache
def observed(names: tuple[str, ...]) -> list[oclgrind.Finding]:
    """Oclgrind's findings in kernels that are run one after another. It stops at 500 errors, so racy ones run alone."""
    if not oclgrind.available():
        pytest.skip("Oclgrind is not installed")
    source = "\n".join(load_unit(FILE, name).opencl() for name in names)
    array = [Argument("in", "int32", "128", "in", "integers:1:100"), Argument("out", "int32", "128", "inout", "zeros")]
    launches = tuple(Launch(k, ("2", "1", "1"), block(k)) for k in names)
    workload = Workload((*array, Argument("n", "int32", value="n")), (Size((("n", N),)),))
    return oclgrind.check(Program(source, launches, "opencl"), workload, workload.tune[0])


def linear(thread: tuple[int, int, int], shape: tuple[int, int, int]) -> int:
    return thread[0] + shape[0] * (thread[1] + shape[1] * thread[2])


@pytest.mark.parametrize("name", RACY)
def test_planted_races_are_found(name: str) -> None:
    result = found(name)
    assert "race" in {f.kind for f in observed((name,))}, "Oclgrind sees no race here: the plant is none"
    if name in DOUBTFUL:
        assert result.unproved and "s" not in result.proved
        return
    (race,) = result.races
    first, second = race.threads
    shape = block(name)
    for thread in (first, second):
        assert all(0 <= t < extent for t, extent in zip(thread, shape, strict=True))
    assert linear(first, shape) != linear(second, shape)
    assert {race.first.kind, race.second.kind} & {"write", "atomic"}


@pytest.mark.parametrize("name", FREE)
def test_race_free_kernels_are_proved(name: str) -> None:
    result = found(name)
    assert not observed(tuple(FREE)), "Oclgrind sees a race"
    assert not result.races and not result.unproved
    assert set(result.proved) >= {"out"} and len(result.proved) >= 2


@pytest.mark.parametrize("name", TRUE_RACES)
def test_the_lines_are_oclgrinds(name: str) -> None:
    """Both name a pair of accesses of the same array in the same lines of the kernel (of several racing pairs, one)."""
    (race,) = found(name).races
    text = FILE.read_text().splitlines()
    for line in (race.first.loc.line, race.second.loc.line):
        assert race.array in text[line - 1]
        assert name in next(t for t in reversed(text[:line]) if "__global__" in t)


def value(text: str, thread: tuple[int, int, int]) -> int:
    """A subscript of the planted kernels at a thread, evaluated by hand."""
    names = {"t": thread[0], "x": thread[0], "y": thread[1]}
    return int(eval(text, {}, names))  # noqa: S307 - literal expressions of the test


@pytest.mark.parametrize(("name", "first", "second"), [
    ("mirror_race", "t", "63 - t"), ("halves_race", "t // 2", "t // 2"), ("transpose_race", "y * 9 + x", "x * 9 + y"),
])
def test_witnesses_touch_one_element(name: str, first: str, second: str) -> None:
    (race,) = found(name).races
    a, b = race.threads
    if race.first.kind == "read":
        a, b = b, a
    assert value(first, a) == value(second, b)


@pytest.mark.parametrize(("name", "shape", "shared"), [
    ("barriers:tree_sum", (64, 1, 1), {"s"}), ("barriers:inclusive_scan", (64, 1, 1), {"s"}),
    ("barriers:tiled_product", (8, 8, 1), {"a", "b"}), ("barriers:planes", (8, 8, 1), {"p"}),
    ("barriers:odd_even_sort", (64, 1, 1), {"s"}), ("barriers:shared_vector", (64, 1, 1), {"part"}),
    ("barriers:warp_sums", (64, 1, 1), {"s"}), ("more_shapes:halo", (256, 1, 1), {"s"}),
    ("more_shapes:pairs", (128, 1, 1), {"tile"}), ("block_work:transpose_tile", (32, 8, 1), {"tile"}),
    ("block_work:softmax_rows", (256, 1, 1), {"scratch"}),
    ("library_user:histogram", (256, 1, 1), {"local"}), ("shared_tile", (16, 16, 1), {"As", "Bs"}),
])
def test_kernels_of_the_corpus_are_proved(name: str, shape: tuple[int, int, int], shared: set[str]) -> None:
    result = analysed(corpus(name), shape)
    assert shared <= set(result.proved) and not result.races


def test_the_block_decides() -> None:
    """Sixty-four elements for a block of 64; with twice the threads two of them share one."""
    source = corpus("barriers:odd_even_sort")
    assert not analysed(source, (64, 1, 1)).races
    race = next(r for r in analysed(source, (128, 1, 1)).races if r.array == "s")
    assert isinstance(race, Race) and max(race.threads[0][0], race.threads[1][0]) >= 64


def kernel(tmp_path: Path, body: str) -> SourceUnit:
    path = tmp_path / "k.cu"
    path.write_text("__device__ float helper(float* p) { return p[0]; }\n"
                    f"__global__ void k(float* a, int n) {{ {body} }}")
    return load_unit(path)


@pytest.mark.parametrize(("body", "array", "reason"), [
    ("__shared__ float s[64]; float* p = n > 3 ? s : s + 1; p[threadIdx.x] = 1; a[0] = s[1];", "s", "pointer"),
    ("__shared__ float s[64]; s[(int)a[threadIdx.x]] = threadIdx.x; __syncthreads(); a[threadIdx.x] = s[1];", "s",
     "no polynomial"),
    ("__shared__ float s[64]; s[threadIdx.x] = 1; a[threadIdx.x] = helper(s);", "s", "used as a pointer"),
    ("__shared__ volatile float s[64]; s[threadIdx.x] = 1; a[threadIdx.x] = s[threadIdx.x ^ 1];", "s", "volatile"),
    ("__shared__ float s[64]; if (a[0] > 1) s[0] = threadIdx.x; __syncthreads(); a[threadIdx.x] = s[0];", "s",
     "not proved"),
    ("__shared__ float s[64]; s[threadIdx.x] = 1; __syncwarp(); a[threadIdx.x] = s[63 - threadIdx.x];", "s", "warp"),
    ("__shared__ float s[64]; if (threadIdx.x < 9) { s[threadIdx.x] = 1; __syncthreads(); } a[0] = s[threadIdx.x + 1];",
     "s", "differs between threads"),
    ("extern __shared__ float s[]; extern __shared__ float q[]; s[threadIdx.x] = 1; a[threadIdx.x] = q[threadIdx.x];",
     "s", "same memory"),
])
def test_what_is_not_understood_is_not_proved_and_not_accused(tmp_path: Path, body: str, array: str,
                                                              reason: str) -> None:
    result = analysed(kernel(tmp_path, body), (64, 1, 1))
    (why,) = [u.reason for u in result.unproved if u.array == array]
    assert reason in why
    assert array not in result.proved and not [r for r in result.races if r.array == array]


def test_all_threads_storing_one_value_is_no_race(tmp_path: Path) -> None:
    body = "__shared__ float s[1]; s[0] = n; __syncthreads(); a[threadIdx.x] = s[0];"
    assert analysed(kernel(tmp_path, body), (64, 1, 1)).proved == ("a", "s")
