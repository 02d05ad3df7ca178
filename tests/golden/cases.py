"""The golden cases: a kernel, the genes that lead up to the mutator's own, and the name of the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from genome.express import emit
from genome.gene import Genome
from genome.program import Program
from genome.scheduled import Limits, Scheduled
from tests.helpers.kernels import (
    applied,
    block,
    coarsen,
    composite,
    example,
    loads_first,
    order,
    pipeline,
    registers,
    scheduled,
    split,
    stage,
    swizzle,
    tile,
    unroll,
    vectorize,
    warp_tile,
)

SCALE = """\
__global__ void scale(const float* in, float* out, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    out[x] = 2.0f * in[x];
}
"""

PLANES = """\
__global__ void planes(const float* in, float* out, int N)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < N) {
        float sum = 0.0f;
        for (int a = 0; a < 6; ++a) {
            for (int b = 0; b < 10; ++b) {
                for (int c = 0; c < 12; ++c) {
                    sum += in[((a * 10 + b) * 12 + c) * N + x];
                }
            }
        }
        out[x] = sum;
    }
}
"""

BIAS = """\
__global__ void bias(const float* in, const float* b, float* out, int H, int W)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < W && y < H) {
        out[y * W + x] = in[y * W + x] + b[x];
    }
}
"""


def unguarded() -> Scheduled:
    """A kernel without a guard: its launch fits its size."""
    return scheduled(SCALE, grid=("N / block_x",), sizes=({"N": 1024},))


def planes() -> Scheduled:
    return scheduled(PLANES, shapes={"in": "720*N", "out": "N"})


def bias() -> Scheduled:
    return scheduled(BIAS, block=(32, 8, 1), grid=("ceil_div(W, block_x)", "ceil_div(H, block_y)"),
                     sizes=({"H": 1000, "W": 777},), shapes={"in": "H*W", "b": "W", "out": "H*W"})


@dataclass(frozen=True)
class Case:
    mutator: str
    name: str
    base: Callable[[], Scheduled]
    genes: Genome

    @property
    def file(self) -> str:
        return f"{self.mutator}-{self.name}.cu"

    def program(self) -> Program:
        return emit(applied(self.base(), *self.genes))

    def text(self) -> str:
        """The golden file: what was done, the launch, and the source."""
        program = self.program()
        head = [f"// {program.launches[0].kernel} after:", *(f"//   {g}" for g in self.genes)]
        for launch in program.launches:
            name = f" {launch.kernel}" if len(program.launches) > 1 else ""
            head.append(f"// launch{name}: grid ({', '.join(launch.grid)}), block "
                        f"({', '.join(map(str, launch.block))})")
        head += [f"// workspace {w.name}: {w.elements} of {w.type}" for w in program.workspaces]
        return "\n".join(head) + "\n\n" + program.source


def large() -> Scheduled:
    """sgemm on a device that lets a block opt in to 99 KiB of shared memory."""
    return replace(example("sgemm"), limits=Limits(shared_bytes=101376))


def of(name: str) -> Callable[[], Scheduled]:
    return lambda: example(name)


CASES: tuple[Case, ...] = (
    Case("TileLoops", "loop", of("sgemm"), (tile("k", 8),)),
    Case("TileLoops", "nest-2d", of("conv2d"), (tile("dy,dx", 4, 4),)),
    Case("TileLoops", "nest-3d", planes, (tile("a,b,c", 4, 4, 4),)),
    Case("TileLoops", "from-one", of("softmax"), (tile("j", 16),)),
    Case("CoalesceMemoryAccess", "2d", of("sgemm_wrong_axes"), (order("yx"),)),
    Case("CoalesceMemoryAccess", "3d", of("stencil7"), (order("zxy"),)),
    Case("AdjustBlockSize", "2d", of("sgemm"), (block(x=64, y=4),)),
    Case("AdjustBlockSize", "1d", of("softmax"), (block(x=96),)),
    Case("AdjustBlockSize", "no-guard", unguarded, (block(x=96),)),
    Case("UseSharedMemory", "block-halo", of("conv2d"), (stage("in"),)),
    Case("UseSharedMemory", "tile", of("sgemm"), (tile("k", 16), stage("A", "k.o"), stage("B", "k.o"))),
    Case("UseSharedMemory", "transposed-padded", of("sgemm"), (tile("k", 8), stage("A", "k.o", "10", 4))),
    Case("UseSharedMemory", "transpose", of("transpose"), (order("yx"), block(x=32, y=32), stage("in", pad=1))),
    Case("UnrollLoop", "pragma", of("sgemm"), (unroll("k", "pragma", 8),)),
    Case("UnrollLoop", "factor", of("sgemm"), (unroll("k", "factor", 4),)),
    Case("UnrollLoop", "full", of("conv2d"), (unroll("dx", "full"),)),
    Case("UnrollLoop", "tiled", of("sgemm"), (tile("k", 8), unroll("k", "factor", 2), unroll("k.o", "pragma", 1))),
    Case("ReorderInstructions", "store", of("transpose"), (coarsen("y", 4, "strided"), loads_first("out"))),
    Case("ReorderInstructions", "two-arrays", bias, (coarsen("y", 4, "strided"), loads_first("out"))),
    Case("ReorderInstructions", "loop", of("softmax"), (unroll("j_3", "factor", 4), loads_first("j_3"))),
    Case("CoarsenThreads", "blocked", of("sgemm"), (coarsen("x", 4),)),
    Case("CoarsenThreads", "strided", of("stencil7"), (coarsen("z", 2, "strided"),)),
    Case("CoarsenThreads", "fragments", of("sgemm"), (coarsen("x", 4, "fragments", 2), coarsen("y", 2))),
    Case("CoarsenThreads", "1d", of("softmax"), (coarsen("x", 2, "strided"),)),
    Case("VectorizeLoads", "rows", of("sgemm"), (tile("k", 8), stage("B", "k.o"), vectorize("B"))),
    Case("VectorizeLoads", "transposed", of("sgemm"), (tile("k", 8), stage("A", "k.o", "10", 4), vectorize("A", 2))),
    Case("PipelineStages", "two-buffers", of("sgemm"),
         (tile("k", 16), stage("A", "k.o"), stage("B", "k.o"), pipeline("k.o", 2))),
    Case("PipelineStages", "vectors", of("sgemm"),
         (tile("k", 8), stage("B", "k.o"), vectorize("B"), pipeline("k.o", 3))),
    Case("SwizzleBlocks", "2d", of("transpose"), (swizzle(8),)),
    Case("SwizzleBlocks", "3d", of("stencil7"), (swizzle(4),)),
    Case("WarpTile", "eight-by-four", of("transpose"), (warp_tile(8),)),
    Case("WarpTile", "layers", of("stencil7"), (warp_tile(8),)),
    Case("SplitReduction", "tile", of("sgemm"),
         (coarsen("x", 2), tile("k", 8), stage("A", "k.o"), split("k"))),
    Case("SplitReduction", "pipeline", of("sgemm_wrong_axes"),
         (order("yx"), tile("k", 8), stage("A", "k.o", "10", 1), stage("B", "k.o"), pipeline("k.o", 3), split("k", 6))),
    Case("LimitRegisters", "own-block", of("sgemm"), (registers(4),)),
    Case("LimitRegisters", "coarsened", of("sgemm"), (coarsen("x", 8), registers(2))),
    Case("composite", "sgemm", of("sgemm_wrong_axes"), composite()),
    Case("composite", "dynamic-shared", large,
         (coarsen("x", 8, "fragments"), coarsen("y", 8, "fragments"), tile("k", 16),
          stage("A", "k.o"), stage("B", "k.o"), pipeline("k.o", 4), swizzle(8))),
)
