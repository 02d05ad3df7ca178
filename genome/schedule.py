"""The schedule: declarative values beside the kernel's body. A gene edits a value; ``lower`` reads them all.

Nothing here knows how code is made from it. All classes are frozen; edits return new schedules.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

AXES = ("x", "y", "z")
MODES = ("blocked", "strided", "fragments")


@dataclass(frozen=True)
class AxisMap:
    """How a block covers one logical axis: ``threads`` threads, ``items`` points a thread.

    ``mode``: "blocked" (a thread's points are neighbours: item digit inside), "strided" (item digit outside the
    thread digit), "fragments" (``fragment`` neighbours, then the threads, then the rest of the items).
    """

    threads: int
    items: int = 1
    mode: str = "blocked"
    fragment: int = 4

    @property
    def extent(self) -> int:
        """Points of the axis that one block covers."""
        return self.threads * self.items


@dataclass(frozen=True)
class Tile:
    """Strip-mined loops, outermost first. One loop: ``X`` becomes ``X.o`` and ``X``; several (a perfect nest):
    all outer parts, then all inner parts in the same order."""

    loops: tuple[str, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Stage:
    """The footprint of all reads of ``array`` inside ``scope`` lives in shared memory. ``scope`` is "" (the whole
    body) or the label of a tiled loop's outer part (``k.o``). ``order`` permutes the dimensions in storage, slowest
    first; empty keeps the array's. ``pad`` elements are added to the fastest stored dimension. ``vector`` elements are
    loaded at once where the array's rows allow it."""

    array: str
    scope: str
    order: tuple[int, ...] = ()
    pad: int = 0
    vector: int = 1


@dataclass(frozen=True)
class Pipeline:
    """The stages at ``scope`` have ``depth`` buffers, filled by asynchronous copies ``depth - 1`` tiles ahead."""

    scope: str
    depth: int


@dataclass(frozen=True)
class Unroll:
    """``mode``: "pragma" (``#pragma unroll factor``), "full" (copies, constant trip count), "factor" (``factor``
    copies in a main loop and a remainder loop)."""

    label: str
    mode: str
    factor: int = 0


@dataclass(frozen=True)
class Split:
    """The tiles of the sum ``label`` are dealt to ``parts`` layers of blocks; a second kernel adds the parts up."""

    label: str
    parts: int


@dataclass(frozen=True)
class Schedule:
    """``order``: logical axes, the one whose threads vary fastest in a warp first (it becomes ``threadIdx.x``)."""

    order: tuple[str, ...]
    axes: tuple[tuple[str, AxisMap], ...]
    tiles: tuple[Tile, ...] = ()
    stages: tuple[Stage, ...] = ()
    unrolls: tuple[Unroll, ...] = ()
    loads_first: tuple[str, ...] = ()  # statement groups whose loads are hoisted: see ReorderInstructions
    pipelines: tuple[Pipeline, ...] = ()
    lanes: int = 0  # a warp is this many threads along the first axis of the order; 0: as many as there are
    walked: tuple[str, ...] = ()  # axes whose blocks the launch walks in a grid-stride loop
    swizzle: int = 0  # blocks are walked in groups of this many rows of the grid; 0: as the device deals them
    split: Split | None = None
    min_blocks: int = 0  # blocks that a multiprocessor must have room for: caps the registers; 0: the compiler's choice

    def axis(self, name: str) -> AxisMap:
        return dict(self.axes)[name]

    def with_axis(self, name: str, value: AxisMap) -> Schedule:
        return replace(self, axes=tuple((n, value if n == name else a) for n, a in self.axes))

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads along ``threadIdx.x/y/z``."""
        sizes = [self.axis(a).threads for a in self.order] + [1, 1, 1]
        return sizes[0], sizes[1], sizes[2]

    @property
    def threads(self) -> int:
        x, y, z = self.block
        return x * y * z

    def tile_of(self, label: str) -> Tile | None:
        for t in self.tiles:
            if label in t.loops:
                return t
        return None

    def depth_of(self, scope: str) -> int:
        """Buffers of the stages at a scope."""
        return next((p.depth for p in self.pipelines if p.scope == scope), 1)

    def unroll_of(self, label: str) -> Unroll | None:
        for u in self.unrolls:
            if u.label == label:
                return u
        return None
