"""All transforms, by name, in the order in which users read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mutators.base import Mutator
from mutators.block_size import AdjustBlockSize
from mutators.coalesce import CoalesceMemoryAccess
from mutators.coarsen import CoarsenThreads
from mutators.limit_registers import LimitRegisters
from mutators.pipeline import PipelineStages
from mutators.reorder import ReorderInstructions
from mutators.shared_memory import UseSharedMemory
from mutators.split_reduction import SplitReduction
from mutators.swizzle import SwizzleBlocks
from mutators.tile_loops import TileLoops
from mutators.unroll import UnrollLoop
from mutators.vectorize import VectorizeLoads
from mutators.warp_tile import WarpTile

_ALL: tuple[Mutator, ...] = (
    TileLoops(), CoalesceMemoryAccess(), AdjustBlockSize(), UseSharedMemory(), UnrollLoop(), ReorderInstructions(),
    CoarsenThreads(), VectorizeLoads(), PipelineStages(), SwizzleBlocks(), WarpTile(),
    SplitReduction(), LimitRegisters(),
)
CATALOGUE: Mapping[str, Mutator] = {m.name: m for m in _ALL}


def names() -> tuple[str, ...]:
    return tuple(CATALOGUE)


def without(veto: Iterable[str]) -> dict[str, Mutator]:
    """The catalogue less the vetoed names (which must exist: the problem file has checked them)."""
    banned = set(veto)
    return {n: m for n, m in CATALOGUE.items() if n not in banned}
