"""Kernels for tests, from text or from the examples, analysed and with the baseline's schedule beside them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from genome.errors import Refusal
from genome.express import express
from genome.gene import Gene, Genome, ParamValue
from genome.program import Launch
from genome.scheduled import Limits, Scheduled, schedule_kernel
from genome.unit import load_unit
from genome.workload import Argument, Exactness, Size, Workload
from mutators.catalogue import CATALOGUE

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ("conv2d", "sgemm", "sgemm_wrong_axes", "softmax", "stencil7", "transpose")
DTYPES = {"float": "float32", "double": "float64", "int": "int32", "unsigned int": "uint32", "long long": "int64",
          "size_t": "uint64", "unsigned char": "uint8", "char": "int8", "short": "int16"}


@cache
def example(name: str, backend: str = "cuda") -> Scheduled:
    """An example's baseline. Nothing that a test may do changes it: every part is frozen."""
    from evo.problem import load_problem

    problem = load_problem(ROOT / "examples" / name, backend)
    return schedule_kernel(problem.unit, problem.workload, problem.launch)


def scheduled(
    source: str, *, shapes: Mapping[str, str] | None = None, sizes: tuple[Mapping[str, int], ...] = ({"N": 1000},),
    block: tuple[int, int, int] = (256, 1, 1), grid: tuple[str, ...] = ("ceil_div(N, block_x)",),
    values: Mapping[str, str] | None = None, exactness: Exactness = Exactness.REASSOCIATES,
    check: tuple[Mapping[str, int], ...] = (), limits: Limits | None = None, tolerant: bool = False,
) -> Scheduled:
    """A kernel from text. Arrays have the shape "N" unless ``shapes`` says otherwise, scalars the value of their own
    name unless ``values`` does; arrays that are not pointers to const are in-out. ``sizes`` are the tune sizes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cu"
        path.write_text(source, encoding="utf-8")
        unit = load_unit(path, block=block)
    arguments = []
    for p in unit.kernel.params:
        if p.type.pointer:
            shape = (shapes or {}).get(p.name, "N")
            arguments.append(Argument(p.name, DTYPES.get(p.type.base, "float32"), shape,
                                      "in" if p.type.const else "inout"))
        else:
            arguments.append(Argument(p.name, DTYPES.get(p.type.base, "float32"),
                                      value=(values or {}).get(p.name, p.name)))
    workload = Workload(tuple(arguments), tuple(_size(s) for s in sizes), tuple(_size(s) for s in check),
                        exactness=exactness)
    x, y, z = (*grid, "1", "1")[:3]
    return schedule_kernel(unit, workload, Launch(unit.kernel.name, (x, y, z), block), limits)


def _size(values: Mapping[str, int]) -> Size:
    return Size(tuple(values.items()))


def line_of(source: str, marker: str) -> int:
    """The line (from 1) of the only line of ``source`` that contains ``marker``."""
    lines = [i for i, text in enumerate(source.split("\n"), 1) if marker in text]
    assert len(lines) == 1, f"{marker!r} is on {len(lines)} lines"
    return lines[0]


def gene(mutator: str, site: str, **params: ParamValue) -> Gene:
    return Gene.make(mutator, site, **params)


def applied(state: Scheduled, *genes: Gene) -> Scheduled:
    """The state after the genes; a refused gene raises."""
    return express(state, genes, CATALOGUE, strict=True).state


def refusal(state: Scheduled, *genes: Gene) -> Refusal:
    """Why the last of the genes is refused; those before it must be legal."""
    before = applied(state, *genes[:-1])
    try:
        express(before, genes[-1:], CATALOGUE, strict=True)
    except Refusal as r:
        return r
    raise AssertionError(f"{genes[-1]} is accepted")


# ------------------------------------------------------------------------------------- genes that tests share
def block(**threads: int) -> Gene:
    return gene("AdjustBlockSize", "block", **threads)


def order(text: str) -> Gene:
    return gene("CoalesceMemoryAccess", "threads", order=text)


def coarsen(axis: str, items: int, mode: str = "blocked", fragment: int = 4) -> Gene:
    return gene("CoarsenThreads", axis, items=items, mode=mode, fragment=fragment)


def tile(site: str, *sizes: int) -> Gene:
    names = ("size", "size2", "size3")
    return Gene.make("TileLoops", site, **dict(zip(names, sizes, strict=False)))


def stage(array: str, scope: str = "block", order: str = "01", pad: int = 0) -> Gene:
    return gene("UseSharedMemory", array, scope=scope, order=order, pad=pad)


def unroll(label: str, mode: str = "pragma", factor: int = 4) -> Gene:
    return gene("UnrollLoop", label, mode=mode, factor=factor)


def loads_first(site: str) -> Gene:
    return gene("ReorderInstructions", site, order="loads-first")


def vectorize(array: str, width: int = 4) -> Gene:
    return gene("VectorizeLoads", array, width=width)


def pipeline(scope: str, depth: int = 2) -> Gene:
    return gene("PipelineStages", scope, depth=depth)


def swizzle(rows: int) -> Gene:
    return gene("SwizzleBlocks", "grid", rows=rows)


def warp_tile(lanes: int) -> Gene:
    return gene("WarpTile", "threads", lanes=lanes)


def split(label: str, parts: int = 4) -> Gene:
    return gene("SplitReduction", label, parts=parts)


def registers(blocks: int = 2) -> Gene:
    return gene("LimitRegisters", "registers", blocks=blocks)


def composite() -> Genome:
    """Ten genes that turn the examples' sgemm_wrong_axes into a register-tiled product through shared memory."""
    return (order("yx"), block(x=8, y=32), coarsen("x", 4), coarsen("y", 4, "fragments"), tile("k", 8),
            stage("A", "k.o", "10", 4), stage("B", "k.o"), unroll("k", "pragma", 8), unroll("k.o", "pragma", 1),
            coarsen("x", 8, "fragments"))
