"""The printer is proved by the compiler: PTX of the printed kernel is that of the user's text."""

from __future__ import annotations

from pathlib import Path

import pytest

from genome import ir, walk
from genome.normal import normalise
from genome.unit import load_unit
from tests.corpus.tools import CASES, NAMES, load, ptx

EXAMPLES = sorted(Path(__file__).parents[2].glob("examples/*/*.cu"))
# operands in another order, or 24-bit products, are one coordinate: the same value by other instructions
COORDINATES_DIFFER = {"early_return", "three_d", "unsigned_index"}
# normal forms that change the instructions: why
NORMAL_DIFFERS = {
    "comparisons": "an index scalar is evaluated where it is used",
    "early_return": "coordinates are brought into one order",
    "three_d": "coordinates are brought into one order",
    "unsigned_index": "24-bit products become coordinates",
    "flat_index": "the flag is evaluated where it is used",
    "grid_stride": "a 64-bit coordinate is widened after the sum",
    "pointer_stride": "pointer increments become 64-bit subscripts",
    "pointer_walk": "pointer increments become 64-bit subscripts",
    "shared_tile": "index scalars are evaluated where they are used",
}


GROUPS = [c for c in CASES if c.startswith(("cooperative:", "methods:"))]  # slow headers: compiled together


@pytest.mark.parametrize("name", [c for c in CASES if c not in GROUPS])
def test_printed_text_compiles_to_the_same_ptx(name: str) -> None:
    unit = load(name, coordinates=False)
    assert not any(isinstance(n, ir.Coord) for n in walk.walk(unit.kernel.body))
    assert ptx(unit.cuda()) == ptx(unit.cuda_original())


def test_cooperative_kernels_compile_to_the_same_ptx() -> None:
    units = [load(name, coordinates=False) for name in GROUPS]
    assert len(units) >= 5
    assert ptx("\n".join(u.cuda() for u in units)) == ptx("\n".join(u.cuda_original() for u in units))


@pytest.mark.parametrize("name", sorted(set(NAMES) - COORDINATES_DIFFER))
def test_coordinates_do_not_change_the_ptx(name: str) -> None:
    unit = load(name)
    assert ptx(unit.cuda()) == ptx(unit.cuda_original())


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(NORMAL_DIFFERS)))
def test_normal_forms_compile_to_the_same_ptx(name: str) -> None:
    unit = load(name)
    assert ptx(unit.cuda(normalise(unit.kernel))) == ptx(unit.cuda_original())


@pytest.mark.parametrize("name", sorted(NORMAL_DIFFERS))
def test_normal_forms_that_differ_compile(name: str) -> None:
    unit = load(name)
    assert f".entry {unit.kernel.name}" in ptx(unit.cuda(normalise(unit.kernel)))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_round_trip(path: Path) -> None:
    unit = load_unit(path)
    assert ptx(unit.cuda()) == ptx(unit.cuda_original()) == ptx(unit.cuda(normalise(unit.kernel)))


def test_the_comparison_sees_a_changed_constant() -> None:
    unit = load("saxpy")
    assert ptx(unit.cuda().replace("a * x[i]", "a * x[i + 1]")) != ptx(unit.cuda_original())


def test_compiler_messages_carry_the_users_lines(tmp_path: Path) -> None:
    path = tmp_path / "broken.cu"
    path.write_text("#define TWO \\\n  2\n\n#include <cstdio>\n__global__ void k(float* a) {\n  a[0] = TWO;\n\n"
                    "  a[1] = undeclared_name;\n}\n")
    unit = load_unit(path)
    with pytest.raises(AssertionError, match=r"broken\.cu\(8\): error: identifier \"undeclared_name\""):
        ptx(unit.cuda_original())
