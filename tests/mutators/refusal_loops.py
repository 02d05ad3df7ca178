"""Loops that cannot be tiled, unrolled or reordered."""

from __future__ import annotations

from typing import Any

from genome.gene import Gene
from genome.workload import Exactness
from tests.helpers.kernels import coarsen, gene, loads_first, tile, unroll
from tests.mutators.refusal_base import TWO, Refused, one, two


def loop(code: str, body: str, genes: tuple[Gene, ...], *words: str, at: str = "// here", **options: Any) -> Refused:
    return Refused(code, one(body, options.pop("params", "const float* a, float* b, int N, int M")), genes, words, at,
                   {"sizes": ({"N": 100, "M": 50},), "shapes": {"a": "N*M", "b": "N*M"}, **options})


SUM = "float s = 0.0f;\nfor (int k = 0; k < M; ++k) { // here\n    s += a[k];\n}\nb[x] = s;"
DOWN = SUM.replace("k = 0; k < M; ++k", "k = M - 1; k >= 0; --k")
NEST = ("float s = 0.0f;\nfor (int i = 0; i < M; ++i) { // outer\n    for (int j = 0; j < M; ++j) { // inner\n"
        "        s += a[i * M + j]; // sum\n    }\n}\nb[x] = s;")
NEST_SHAPES = {"a": "M*M", "b": "N"}
# A[i][j] depends on A[i-1][j+1]: forward in i, backward in j, distance (1, -1).
WAVE = """\
for (int i = 1; i < H; ++i) {
    for (int j = 0; j < W - 1; ++j) {
        b[i * W + j] = b[(i - 1) * W + j + 1] + 1.0f; // here
    }
}"""
WAVE_KERNEL = ("__global__ void k(float* b, int H, int W)\n{\n" + WAVE + "\n}\n")
SERIAL = {"block": (1, 1, 1), "grid": ("1",), "sizes": ({"H": 20, "W": 30},), "shapes": {"a": "H*W", "b": "H*W"}}
TRIANGLE = NEST.replace("j < M", "j < i")

TILES = (
    loop("no-such-loop", SUM, (tile("q", 8),), "no canonical loop 'q' (loops: k)", at=""),
    loop("bad-parameter", SUM, (tile("k", 1),), "size = 1 is not an integer from 2 to 4096", at=""),
    loop("tile-too-deep", SUM, (tile("a,b,c,d", 8, 8, 8),), "up to three loops", at=""),
    loop("tile-already-tiled", SUM, (tile("k", 8), tile("k", 4)), "loop k is tiled already"),
    loop("tile-loop-not-unit-step", DOWN, (tile("k", 8),), "loop k does not count up by one"),
    loop("tile-loop-not-unit-step", SUM.replace("++k", "k += 2"), (tile("k", 8),), "loop k does not count up by one"),
    loop("loop-variable-outlives-loop", "float s = 0.0f;\nint k;\nfor (k = 0; k < M; ++k) { // here\n"
         "    s += a[k];\n}\nb[x] = s + k;", (tile("k", 8),), "k is declared before its loop"),
    loop("tile-bound-not-simple", SUM.replace("k < M", "k < (int)a[x]"), (tile("k", 8),),
         "a bound of loop k is more than arithmetic on scalars"),
    loop("loop-variable-in-opaque-code", SUM.replace("s += a[k];", "s += sizeof(a[k]); // use"), (tile("k", 8),),
         "k is used in code that is not understood", at="// use"),
    loop("tile-loop-type", SUM.replace("int k", "uint8_t k"), (tile("k", 8),),
         "k is of type uint8_t", "could overflow it"),
    loop("tile-loop-varies", SUM.replace("k < M", "k < x"), (coarsen("x", 2), tile("k", 8)),
         "loop k runs a different number of times for the points of one thread"),
    loop("tile-loop-varies", "float s = 0.0f;\nfor (int k = 0; k < M; ++k) { // here\n    if (a[k] < 0.0f) continue;\n"
         "    s += a[k];\n}\nb[x] = s;", (tile("k", 8),), "skips iterations"),
    loop("tile-not-perfect-nest", NEST.replace("// outer", "// outer\n    s += 1.0f;"), (tile("i,j", 4, 4),),
         "loop i holds more than loop j", at="// outer", shapes=NEST_SHAPES),
    loop("tile-bounds-depend", TRIANGLE, (tile("i,j", 4, 4),), "the bounds of loop j depend on the loops around it",
         at="// inner", shapes=NEST_SHAPES),
    loop("tile-after-unroll", NEST.replace("j < M", "j < 8"), (unroll("j", "full"), tile("i,j", 4, 4)),
         "loop j is unrolled into copies already", at="// outer", shapes=NEST_SHAPES),
    loop("tile-order-matters", NEST.replace("s += a[i * M + j];", "s += a[i * M + j]; ++i2;").replace(
        "float s", "int i2 = 0; float s"), (tile("i,j", 4, 4),), "code whose order cannot be changed", at="// sum",
        shapes=NEST_SHAPES),
    loop("tile-order-matters", NEST.replace("s += a[i * M + j];", "s += __nanosleep(1);"), (tile("i,j", 4, 4),),
         "__nanosleep may have effects whose order matters", at="// sum", shapes=NEST_SHAPES),
    loop("tile-carries-dependence", NEST.replace("s += a[i * M + j];", "s = 2.0f * s + a[i * M + j];"),
         (tile("i,j", 4, 4),), "s carries a value from one iteration to the next", at="// sum", shapes=NEST_SHAPES),
    loop("needs-reassociation", NEST, (tile("i,j", 4, 4),), "tiling the nest around the sum s",
         "asks for exact results", at="", shapes=NEST_SHAPES, exactness=Exactness.EXACT),
    Refused("tile-carries-dependence", WAVE_KERNEL, (tile("i,j", 4, 4),),
            ("b carries a dependence that is forward in loop", "i and backward in loop j (line 5)"), "// here", SERIAL),
    Refused("tile-dependence-unknown", "__global__ void k(float* b, int H, int W)\n{\n"
            + WAVE.replace("b[i * W + j] =", "b[(i * j) % W] =") + "\n}\n", (tile("i,j", 4, 4),),
            ("the subscripts of b are not understood",), "// here", SERIAL),
)

UNROLLS = (
    loop("no-such-loop", SUM, (unroll("q"),), "no canonical loop 'q'", at=""),
    loop("bad-parameter", SUM, (unroll("k", "sideways"),), "mode = 'sideways' is none of", at=""),
    loop("bad-parameter", SUM, (unroll("k", "factor", 65),), "factor = 65 is not an integer from 1 to 64", at=""),
    loop("unroll-already", SUM, (unroll("k"), unroll("k")), "loop k is unrolled already"),
    loop("unroll-not-tiled", SUM, (unroll("k.o"),), "loop k is not tiled, so there is no k.o"),
    loop("unroll-around-barrier", SUM.replace("s += a[k];", "s += a[k];\n    __syncthreads();"),
         (tile("k", 8), unroll("k.o")), "loop k.o holds barriers"),
    loop("unroll-outer-tile", SUM, (tile("k", 8), unroll("k.o", "factor", 2)), "k.o is unrolled by pragma only"),
    loop("unroll-jumps", SUM.replace("s += a[k];", "if (a[k] < 0.0f) continue;\n    s += a[k];"),
         (unroll("k", "factor", 2),), "an iteration of k can be left early"),
    loop("loop-variable-in-opaque-code", SUM.replace("s += a[k];", "s += sizeof(a[k]); // use"),
         (unroll("k", "factor", 2),), "k is used in code that is not understood", at="// use"),
    loop("unroll-body", SUM.replace("s += a[k];", "while (s > 1.0f) s *= 0.5f;\n    s += a[k];"),
         (unroll("k", "factor", 2),), "loop k holds a loop or label that cannot be copied"),
    loop("unroll-no-constant-trip", SUM, (unroll("k", "full"),), "loop k has no constant trip count: tile it first"),
    loop("no-change", SUM, (unroll("k", "factor", 1),), "a factor of one copies nothing"),
    loop("unroll-loop-not-unit-step", DOWN, (unroll("k", "factor", 2),), "loop k does not count up by one"),
    loop("unroll-bound-not-simple", SUM.replace("k < M", "k < (int)a[x]"), (unroll("k", "factor", 2),),
         "a bound of loop k is more than arithmetic on scalars"),
    loop("unroll-unsigned", SUM.replace("int k = 0", "unsigned int k = 0"), (unroll("k", "factor", 2),),
         "loop k counts in an unsigned type"),
    loop("unroll-too-large", SUM.replace("k < M", "k < 5000"), (unroll("k", "full"),), "5000 statements",
         "4096 are the most that is tried"),
    Refused("unroll-too-large", "sgemm", (coarsen("x", 16), coarsen("y", 16), gene("UnrollLoop", "k", mode="factor",
            factor=32)), ("8192 statements",), "for (int k = 0; k < K; ++k)"),
)

REORDERS = (
    loop("reorder-not-unrolled", "for (int k = 0; k < M; ++k) { // here\n    b[x * M + k] = a[x * M + k];\n}",
         (unroll("k"), loads_first("k")), "loop k is not unrolled into copies"),
    loop("reorder-not-straight-line", "for (int k = 0; k < 8; ++k) { // here\n"
         "    if (a[k] > 0.0f) b[x * M + k] = 1.0f;\n}",
         (unroll("k", "full"), loads_first("k")), "the body of loop k is not straight-line code"),
    loop("reorder-effects", "for (int k = 0; k < 8; ++k) {\n"
         "    b[x * M + k] = a[k] + atomicAdd(&b[k], 1.0f); // here\n}",
         (unroll("k", "full"), loads_first("k")), "loop k calls functions with effects or uses pointers"),
    loop("reorder-effects", "const float* p = a[x] > 0.0f ? a : b; // here\nfor (int k = 0; k < 8; ++k) {\n"
         "    b[x * M + k] = p[k];\n}", (unroll("k", "full"), loads_first("k")), "is used as a pointer value",
         "loads must not pass what it may write"),
    loop("reorder-may-alias", "for (int k = 0; k < 8; ++k) {\n    b[x * M + k] += b[x * M + k + 1]; // here\n}",
         (unroll("k", "full"), loads_first("k")), "b is loaded and stored here"),
    loop("no-such-loop", SUM, (loads_first("q"),), "no canonical loop 'q'", at=""),
    loop("bad-parameter", SUM, (gene("ReorderInstructions", "b", order="stores-first"),), "order = 'stores-first'",
         at=""),
    Refused("unknown-mutator", two("b[y * W + x] = a[y * W + x];"), (gene("FuseKernels", "x"),),
            ("no mutator called FuseKernels",), "", TWO),
)

CASES = (*TILES, *UNROLLS, *REORDERS)
