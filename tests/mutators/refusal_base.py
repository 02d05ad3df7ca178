"""How a refusal is written down: a kernel, genes of which the last is refused, code, words of the reason, line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from genome.gene import Gene
from genome.schedule import Tile
from genome.scheduled import Limits, Scheduled
from tests.helpers.kernels import block, example, line_of, scheduled

PARAMS = "const float* a, float* b, int N"


def one(body: str, params: str = PARAMS) -> str:
    """A kernel over x, guarded by ``x < N``; ``body`` is one statement a line."""
    lines = "\n".join("        " + line for line in body.strip("\n").split("\n"))
    return (f"__global__ void k({params})\n{{\n    int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
            f"    if (x < N) {{\n{lines}\n    }}\n}}\n")


def two(body: str, params: str = "const float* a, float* b, int H, int W") -> str:
    """A kernel over x and y, guarded by ``x < W && y < H``."""
    lines = "\n".join("        " + line for line in body.strip("\n").split("\n"))
    return (f"__global__ void k({params})\n{{\n    int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
            f"    int y = blockIdx.y * blockDim.y + threadIdx.y;\n    if (x < W && y < H) {{\n{lines}\n    }}\n}}\n")


TWO: Mapping[str, Any] = {
    "block": (16, 16, 1), "grid": ("ceil_div(W, block_x)", "ceil_div(H, block_y)"), "sizes": ({"H": 100, "W": 200},),
    "shapes": {"a": "H*W", "b": "H*W"}}


@dataclass(frozen=True)
class Refused:
    """``source`` is a kernel's text or an example's name. ``words`` are parts of the reason, in order; ``at`` marks
    the line that the refusal names (empty: it names none)."""

    code: str
    source: str
    genes: tuple[Gene, ...]
    words: tuple[str, ...]
    at: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def state(self) -> Scheduled:
        """The baseline; ``tiles`` among the options are set without TileLoops' own checks, ``limits`` are the
        device's."""
        options = dict(self.options)
        tiles: tuple[Tile, ...] = options.pop("tiles", ())
        limits: Limits | None = options.pop("limits", None)
        state = scheduled(self.source, **options) if "__global__" in self.source else example(self.source)
        return replace(state, schedule=replace(state.schedule, tiles=tiles), limits=limits or state.limits)

    @property
    def line(self) -> int:
        if not self.at:
            return 0
        text = self.source
        if "__global__" not in text:
            text = self.state().unit.file
            with open(text, encoding="utf-8") as f:
                text = f.read()
        return line_of(text, self.at)

    def __str__(self) -> str:
        return f"{self.code}-{self.genes[-1].mutator}" if self.genes else self.code


def blocked(code: str, source: str, *words: str, at: str = "// here", genes: tuple[Gene, ...] = (block(x=64),),
            **options: Any) -> Refused:
    """A kernel whose geometry must stay: changing the block is refused."""
    return Refused(code, source, genes, words, at, options)
