"""Sums that cannot be split over layers of blocks."""

from __future__ import annotations

from genome.workload import Exactness
from tests.helpers.kernels import coarsen, split, tile
from tests.mutators.refusal_base import Refused, one
from tests.mutators.refusal_loops import DOWN, NEST, NEST_SHAPES, SUM, loop

PARAMS = "const float* a, float* b, int N, int M"
SIZES = {"sizes": ({"N": 100, "M": 50},), "shapes": {"a": "N*M", "b": "N*M"}}
TILED = (tile("k", 8), split("k"))
FIVE = ("float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f, s4 = 0.0f;\nfor (int k = 0; k < M; ++k) { // here\n"
        + "".join(f"    s{i} += {i}.0f * a[k];\n" for i in range(5)) + "}\nb[x] = s0 + s1 + s2 + s3 + s4;")
CUBE = """\
__global__ void k(const float* a, float* b, int N, int M)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < N && y < N && z < N) {
        float s = 0.0f;
        for (int k = 0; k < M; ++k) { // here
            s += a[x * M + k];
        }
        b[(z * N + y) * N + x] = s;
    }
}
"""

CASES = (
    loop("no-such-loop", SUM, (split("q"),), "no canonical loop 'q'", at=""),
    loop("bad-parameter", SUM, (split("k", 1),), "parts = 1 is not an integer from 2 to 256", at=""),
    loop("split-loop-not-unit-step", DOWN, (split("k"),), "loop k does not count up by one"),
    loop("split-not-tiled", SUM, (split("k"),), "loop k is not tiled by itself"),
    loop("split-already", SUM, (*TILED, split("k", 8)), "loop k is split already"),
    loop("needs-reassociation", SUM, TILED, "splitting the sum over k", "asks for exact results", at="",
         exactness=Exactness.EXACT),
    loop("split-inside-loop", NEST, (tile("j", 8), split("j")), "loop j runs inside another loop", at="// inner",
         shapes=NEST_SHAPES),
    loop("split-not-a-sum", SUM.replace("s += a[k];", "s = fmaxf(s, a[k]); // set"), TILED,
         "sets s to something other than itself plus a term", at="// set"),
    loop("split-not-a-sum", SUM.replace("s += a[k];", "s += s * a[k]; // set"), TILED,
         "a term that loop k adds to s depends on it", at="// set"),
    loop("split-not-a-sum", SUM.replace("s += a[k];", "s += a[k];\n    t += s;").replace(
        "float s", "float t = 0.0f, s"), TILED, "uses its sums while they grow"),
    loop("split-not-a-sum", SUM.replace("s += a[k];", "b[x * M + k] = a[k]; // store").replace("b[x] =", "b[x * M] ="),
         TILED, "sets b to something other than itself plus a term", at="// store"),
    loop("split-accumulator", SUM.replace("float s = 0.0f;", "short s = 0;"), TILED,
         "sums into s, which is no plain scalar"),
    loop("split-too-many-sums", FIVE, TILED, "makes 5 sums, 4 are the most"),
    loop("split-not-repeatable", "b[x * M] = 1.0f; // write\n" + SUM.replace("b[x] =", "b[x * M] ="), TILED,
         "code before the loop writes b", "cannot run once more", at="// write"),
    loop("split-loop-effects", "int j = 0;\n" + SUM.replace("s += a[k];", "s += a[j++];"), TILED,
         "loop k writes j inside an expression"),
    loop("split-loop-differs", SUM.replace("k < M", "k < x"), (*TILED, coarsen("x", 2)),
         "loop k would run once per point of a thread"),
    Refused("split-wide-coordinates", one(SUM, PARAMS).replace("int x = blockIdx", "unsigned int x = blockIdx"), TILED,
            ("counts its points in more than an int",), "// here", SIZES),
    Refused("split-no-free-axis", CUBE, TILED, ("the grid's z axis is needed for the parts", "3 axes"), "// here",
            {"block": (8, 8, 4), "grid": ("ceil_div(N, block_x)", "ceil_div(N, block_y)", "ceil_div(N, block_z)"),
             **SIZES, "shapes": {"a": "N*M", "b": "N*N*N"}}),
)
