"""No silent misreading: a broken file is refused with one clear line, or it is read and nothing of it is lost."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from types import FrameType

import pytest

from benchmarks._ptx import CompileFailed
from benchmarks._ptx import ptx as canonical_ptx
from genome import ir
from genome.errors import InputError
from genome.normal import normalise
from genome.unit import SourceUnit, list_kernels, load_unit
from tests.corpus.tools import CASES, FOLDER, STYLES, load
from tests.helpers.mutants import dropped, mutant

SECONDS = 5.0  # for one file; the median takes 0.01
SEED = 20261
LARGE = {f"{s}.cu" for s in STYLES}


class TooSlow(Exception):
    """Reading took longer than it may."""


@contextmanager
def limited() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@cache
def respelled() -> frozenset[str]:
    """Words of the unbroken corpus that the printer writes in another way: ``k = k - 3`` has one k more than
    ``k -= 3``."""
    return frozenset(w for name in CASES for w in dropped(load(name, coordinates=False)))


@cache
def texts() -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """The corpus: files of one kernel, and the longer ones."""
    files = sorted(FOLDER.glob("*.cu"))
    return (tuple(p.read_bytes() for p in files if p.name not in LARGE),
            tuple(p.read_bytes() for p in files if p.name in LARGE))


def draw(number: int) -> tuple[bytes, int, str]:
    rng = Random(f"{SEED}:{number}")
    small, large = texts()
    return mutant(rng.choice(large if rng.random() < 0.15 else small), rng)


def read(path: Path, at: int) -> SourceUnit | None:
    """The kernel that is nearest before the break, as written; None where the file has none."""
    entries = list_kernels(path)
    if not entries:
        return None
    line = path.read_bytes().count(b"\n", 0, at) + 1
    entry = max((e for e in entries if e.line <= line), key=lambda e: e.line, default=entries[0])
    return load_unit(path, entry.name, line=entry.line, coordinates=False)


def same_ptx(unit: SourceUnit) -> str:
    try:
        original = canonical_ptx(unit.cuda_original())
    except CompileFailed:
        return "no CUDA"
    assert canonical_ptx(unit.cuda()) == original
    return "same PTX"


def check(numbers: range, folder: Path, *, compiled: int = 0) -> Counter[str]:
    """Reads the mutants; every ``compiled``-th of those that can be read is also compiled. Outcomes are counted."""
    seen: Counter[str] = Counter()
    for n in numbers:
        text, at, kind = draw(n)
        path = folder / f"m{n}.cu"
        path.write_bytes(text)
        where = f"mutant {n} ({kind})"
        try:
            with limited():
                unit = read(path, at)
                if unit is None:
                    seen["no kernel"] += 1
                    continue
                normalise(unit.kernel)
        except InputError as e:
            assert e.file is not None and "\n" not in str(e), where
            seen["refused"] += 1
            continue
        except TooSlow:
            raise AssertionError(f"{where} takes longer than {SECONDS} s") from None
        except Exception as e:
            raise AssertionError(f"{where}: {type(e).__name__}: {e}") from e
        finally:
            path.unlink()
        seen["read"] += 1
        lost = {w: c for w, c in dropped(unit).items() if w not in respelled()}
        if lost and not any("launch_bounds" in note for note in unit.notes):
            seen["respelled: " + same_ptx(unit)] += 1  # an open comment is no CUDA; what is, must mean the same
        if n % 4 == 0:
            again = folder / "again.cu"
            again.write_text(unit.cuda(), errors="surrogateescape")
            try:
                same = load_unit(again, unit.kernel.name, coordinates=False).kernel == unit.kernel
            except InputError:
                same = False
            # "#include" inside kept text, a variable called __device__, (x) + y of an x that nobody declares
            assert same or same_ptx(unit) == "no CUDA", where
        if compiled and seen["read"] % compiled == 0:
            seen[same_ptx(unit)] += 1
    return seen


def test_a_thousand_broken_files(tmp_path: Path) -> None:
    seen = check(range(1000), tmp_path)
    assert min(seen["read"], seen["refused"]) > 200 and sum(seen.values()) == 1000


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ten_thousand_broken_files(tmp_path: Path) -> None:
    seen = check(range(1000, 11000), tmp_path, compiled=20)
    assert min(seen["read"], seen["refused"]) > 2000 and seen["same PTX"] > 50


@pytest.mark.slow
def test_every_truncation_of_a_file(tmp_path: Path) -> None:
    """A file that ends anywhere: refused, or the kernels before the end are read."""
    text = (FOLDER / "control_flow.cu").read_bytes()
    path = tmp_path / "t.cu"
    for end in range(0, len(text), 3):
        path.write_bytes(text[:end])
        try:
            with limited():
                for entry in list_kernels(path):
                    assert load_unit(path, entry.name).kernel.body
        except InputError as e:
            assert e.file == str(path)


@pytest.mark.parametrize(("body", "line"), [
    ("a[0] = 1;\n  a[1] = = 2;", 3), ("for (int i = 0; i < 4; ++i {\n a[i] = 0; }", 2), ("a[0] = (1 + 2;", 2),
    ("if (n) {\n a[0] = 1;", 4), ("unsigned real x = 3;\n a[0] = x;", None), ("a[0] = 1\n  a[1] = 2;", 2),
])
def test_a_syntax_error_is_refused_with_its_line(tmp_path: Path, body: str, line: int | None) -> None:
    path = tmp_path / "k.cu"
    path.write_text(f"__global__ void k(float* a, int n) {{\n  {body}\n}}\n")
    if line is None:  # no error of the grammar: kept as text for the compiler to say
        assert "unsigned real x = 3;" in load_unit(path).cuda()
        return
    with pytest.raises(InputError) as caught:
        load_unit(path)
    assert caught.value.file == str(path) and abs((caught.value.line or 0) - line) <= 1


def test_constants_in_pragmas_and_launch_bounds(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text("constexpr int U = 4, T = 128;\nextern int later;\n"
                    "__global__ void __launch_bounds__(2 * T, 1) k(float* a, int n) {\n#pragma unroll U\n"
                    "  for (int i = 0; i < n; ++i) a[i] = 1;\n#pragma unroll later\n"
                    "  for (int i = 0; i < n; ++i) a[i] += 1;\n}\n"
                    "__global__ void __launch_bounds__(later) m(float* a) { a[0] = 1; }\n")
    unit = load_unit(path, "k")
    first, second = unit.kernel.body
    assert unit.kernel.launch_bounds == (256, 1) and isinstance(first, ir.For) and first.unroll == 4
    assert isinstance(second, ir.Opaque) and second.text.startswith("#pragma unroll later\nfor (")
    assert any("__launch_bounds__(later) is left out" in note for note in load_unit(path, "m").notes)


def test_a_product_that_nobody_uses_is_no_declaration(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text("__global__ void k(float* a, int n) {\n    float s = 1, w[4] = {1};\n    s * w[n & 3];\n"
                    "    { s * w[1]; }\n"
                    "    a[0] = s + w[0];\n}\n")
    unit = load_unit(path)
    assert {n.name for n in unit.kernel.body if isinstance(n, ir.Decl)} == {"s", "w"}
    assert canonical_ptx(unit.cuda()) == canonical_ptx(unit.cuda_original())
