"""Each normal form alone: where it fires in the corpus, and kernels before and after it in a form to be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from benchmarks._ptx import cubin
from genome import ir, normal
from genome.unit import SourceUnit
from gpu import elf
from tests.corpus.tools import CASES, load, ptx

Form = Callable[[ir.Kernel], ir.Kernel]
# as genome.normal.normalise applies them; reading recognises coordinates before
ORDER: tuple[tuple[str, Form], ...] = (
    ("merge_declarations", normal.merge_declarations), ("localise_loops", normal.localise_loops),
    ("plain_coordinates", normal.plain_coordinates), ("gathered_coordinates", normal.gathered_coordinates),
    ("guard_regions", normal.guard_regions), ("row_pointers", normal.row_pointers),
    ("inline_scalars", normal.inline_scalars), ("row_pointers", normal.row_pointers),
)
FORMS = ("coordinates", *dict.fromkeys(name for name, _ in ORDER))


@dataclass(frozen=True)
class Firing:
    """A form that changed the text of a kernel."""

    form: str
    case: str
    before: ir.Kernel
    after: ir.Kernel

    def __str__(self) -> str:
        return f"{self.form} in {self.case}"


def firings(case: str, unit: SourceUnit, as_written: SourceUnit) -> Iterator[Firing]:
    """The forms that fire in a kernel, each applied to what those before it left. ``as_written``: the kernel read
    without recognising coordinates."""
    steps = [("coordinates", as_written.kernel, unit.kernel)]
    kernel = normal.alpha_rename(unit.kernel)
    for name, form in ORDER:
        after = normal.alpha_rename(form(kernel))
        steps.append((name, kernel, after))
        kernel = after
    for name, before, after in steps:
        if before != after and unit.cuda(before) != unit.cuda(after):
            yield Firing(name, case, before, after)


@cache
def all_firings() -> tuple[Firing, ...]:
    return tuple(f for case in CASES for f in firings(case, load(case), load(case, coordinates=False)))


def table() -> dict[str, list[str]]:
    """form → the kernels where it fires."""
    out: dict[str, list[str]] = {name: [] for name in FORMS}
    for f in all_firings():
        if f.case not in out[f.form]:
            out[f.form].append(f.case)
    return out


def same_code(unit: SourceUnit, f: Firing) -> bool:
    """Equal PTX, or equal code sections, constants and resources for sm_90: the assembler sees one program."""
    before, after = unit.cuda(f.before), unit.cuda(f.after)
    return ptx(before) == ptx(after) or elf.behaviour_hash(cubin(before)) == elf.behaviour_hash(
        cubin(after))
