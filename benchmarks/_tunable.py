"""A parametrised matrix product and its tuning space: every tile that fits into 48 KiB of shared memory."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random

from genome.program import Launch, Program

SOURCE = Path(__file__).with_name("_tunable.cu")
SHARED_BYTES = 49152
PARAMETERS: dict[str, tuple[int, ...]] = {
    "block_size_x": (8, 16, 32, 64), "block_size_y": (4, 8, 16, 32), "tile_x": (1, 2, 4, 8), "tile_y": (1, 2, 4, 8),
    "tile_k": (8, 16, 32, 64), "unroll_k": (1, 4, 8),
}
OPENCL = {
    'extern "C" __global__ void': "__kernel void", "const float* ": "__global const float* ",
    "float* C": "__global float* C", "__shared__": "__local", "__syncthreads()": "barrier(CLK_LOCAL_MEM_FENCE)",
    **{f"threadIdx.{a}": f"(int)get_local_id({i})" for i, a in enumerate("xy")},
    **{f"blockIdx.{a}": f"(int)get_group_id({i})" for i, a in enumerate("xy")},
}
Configuration = tuple[int, ...]  # values in the order of PARAMETERS


def fits(c: Configuration) -> bool:
    """A block of 64 to 1024 threads, a tile that fits, no more than 32 sums a thread (past that lie minutes of
    compilation and spilled registers, for either tuner)."""
    x, y, tile_x, tile_y, tile_k, _ = c
    return 64 <= x * y <= 1024 and 4 * tile_k * (x * tile_x + y * tile_y) <= SHARED_BYTES and tile_x * tile_y <= 32


def space() -> list[Configuration]:
    return [c for c in product(*PARAMETERS.values()) if fits(c)]


def draw(count: int, seed: int) -> list[Configuration]:
    """Distinct configurations in an order that the seed fixes."""
    everything = space()
    return Random(seed).sample(everything, min(count, len(everything)))


def program(c: Configuration) -> Program:
    defines = "".join(f"#define {name} {value}\n" for name, value in zip(PARAMETERS, c, strict=True))
    at = dict(zip(PARAMETERS, c, strict=True))
    grid = (f"ceil_div(N, {at['block_size_x'] * at['tile_x']})", f"ceil_div(M, {at['block_size_y'] * at['tile_y']})",
            "1")
    return Program(defines + SOURCE.read_text(), (Launch("sgemm", grid, (c[0], c[1], 1)),), "cuda")


def opencl(c: Configuration) -> Program:
    """The same kernel in OpenCL C, for machines without a GPU."""
    cuda = program(c)
    return Program(in_opencl(cuda.source), cuda.launches, "opencl")


def in_opencl(text: str) -> str:
    for word, meaning in OPENCL.items():
        text = text.replace(word, meaning)
    return text
