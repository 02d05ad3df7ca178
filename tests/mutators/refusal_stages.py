"""Arrays that cannot be held in shared memory."""

from __future__ import annotations

from typing import Any

from genome.gene import Gene
from genome.schedule import Tile
from genome.scheduled import Limits
from tests.helpers.kernels import gene, pipeline, stage, tile, vectorize
from tests.mutators.refusal_base import TWO, Refused, one, two

MATVEC = """\
float s = 0.0f;
for (int k = 0; k < M; ++k) { // loop
    s += a[x * M + k]; // here
}
b[x] = s;"""


def staged(code: str, body: str, genes: tuple[Gene, ...], *words: str, at: str = "// here", **options: Any) -> Refused:
    params = options.pop("params", "const float* a, float* b, int N, int M")
    return Refused(code, one(body, params), genes, words, at,
                   {"sizes": ({"N": 100, "M": 50},), "shapes": {"a": "N*M", "b": "N"}, **options})


TILED = (tile("k", 8), stage("a", "k.o"))

CASES = (
    staged("stage-no-such-array", MATVEC, (stage("q"),), "no reads of 'q' with subscripts that are understood", at=""),
    staged("stage-no-such-array", MATVEC, (stage("a#1"),), "no reads of 'a#1'", at=""),
    staged("bad-parameter", MATVEC, (stage("a", order="ab"),), "order 'ab' is malformed", at=""),
    staged("bad-parameter", MATVEC, (tile("k", 8), stage("a", "k.o", pad=33)),
           "pad = 33 is not an integer from 0 to 32", at=""),
    Refused("stage-array-written", two("b[y * W + x] = a[y * W + x];\nfloat t = b[y * W + x]; // here\n"
            "b[y * W + x] = 2.0f * t;"), (stage("b"),), ("b is written by this kernel", "could be stale"),
            "// here", TWO),
    Refused("stage-element-type", two("b[y * W + x] = a[y * W + x].x; // here",
            "const float2* a, float* b, int H, int W"), (stage("a"),),
            ("elements of type float2 cannot be zero-filled",), "// here", TWO),
    Refused("stage-extent-unknown", two("b[y * W + x] = a[x]; // here"), (stage("a", order="0"),),
            ("the extents of a are not among the kernel's parameters",), "// here",
            {**TWO, "shapes": {"a": "P", "b": "H*W"}, "sizes": ({"H": 100, "W": 200, "P": 200},)}),
    Refused("stage-order", two("b[y * W + x] = a[y * W + x]; // here"), (stage("a", order="00"),),
            ("order (0, 0) is no permutation of a's 2 dimensions",), "// here", TWO),
    Refused("stage-already", two("b[y * W + x] = a[y * W + x];"), (stage("a"), stage("a", pad=1)),
            ("a is in shared memory already",), "", TWO),
    staged("stage-scope-not-tiled", MATVEC, (stage("a", "k.o"),), "loop k is not tiled"),
    Refused("stage-scope-not-innermost", "conv2d", (tile("dy,dx", 4, 4), stage("in", "dy.o")),
            ("stage at the innermost outer loop dx.o",), "sum +="),
    staged("stage-nothing-read", MATVEC + "\nfor (int j = 0; j < M; ++j) {\n    b[x] += j;\n}",
           (tile("j", 8), stage("a", "j.o")), "a is not read inside loop j"),
    staged("stage-loop-continue", "float s = 0.0f;\nfor (int i = 0; i < M; ++i) { // loop\n"
           "    if (s > 9.0f) continue;\n"
           "    for (int k = 0; k < M; ++k) {\n        s += a[x * M + k];\n    }\n}\nb[x] = s;",
           TILED[1:], "loop i skips part of its iterations by 'continue'", at="// loop", tiles=(Tile(("k",), (8,)),)),
    staged("stage-loop-not-uniform", MATVEC.replace("k < M", "k < x"), TILED,
           "the bounds of loop k differ between the threads of a block",
           "a barrier inside it is illegal", at="// loop"),
    staged("stage-under-else", "float s = 0.0f;\nif (x > 5) {\n    s = 1.0f;\n} else {\n"
           "    for (int k = 0; k < M; ++k) { // loop\n        s += a[x * M + k];\n    }\n}\nb[x] = s;", TILED,
           "loop k runs in one branch of a condition that has two", at="// loop"),
    staged("stage-guard-not-sinkable", "float s = 0.0f;\nif (c[x] > 0.0f) {\n"
           "    for (int k = 0; k < M; ++k) { // loop\n        s += a[x * M + k];\n    }\n}\nb[x] = s;", TILED[1:],
           "loop k runs under a condition that depends on data", at="// loop", tiles=(Tile(("k",), (8,)),),
           params="const float* a, const float* c, float* b, int N, int M", shapes={"a": "N*M", "b": "N", "c": "N"}),
    staged("stage-inside-other-loop", "float s = 0.0f;\nint n = 0;\nwhile (n < 3) {\n"
           "    for (int k = 0; k < M; ++k) { // loop\n        s += a[x * M + k];\n    }\n"
           "    n = 2 * n + 2;\n}\nb[x] = s;", TILED[1:],
           "loop k is inside a loop whose trip count is not understood", at="// loop", tiles=(Tile(("k",), (8,)),)),
    staged("stage-loop-bounds", MATVEC.replace("k = 0; k < M; ++k", "k = M - 1; k >= 0; --k"), (stage("a"),),
           "the bounds of loop k are not understood", at="// loop"),
    staged("stage-loop-start-varies", "float s = 0.0f;\nfor (int i = 0; i < 4; ++i) {\n"
           "    for (int k = i; k < i + 3; ++k) { // loop\n        s += a[x * M + k];\n    }\n}\nb[x] = s;",
           (stage("a", order="0"),), "loop k starts where a loop around it says", "is not one box", at="// loop"),
    staged("stage-footprint-not-constant", MATVEC, (stage("a"),), "loop k has no constant trip count",
           "footprint of a has no constant size: tile k first", at="// loop"),
    staged("stage-stride-not-constant", "b[x] = a[x * S]; // here", (stage("a", order="0"),),
           "a stride along x that is not constant", params="const float* a, float* b, int N, int S",
           sizes=({"N": 100, "S": 3, "Q": 300},), shapes={"a": "Q", "b": "N"}),
    staged("not-staged", MATVEC, (vectorize("a", 4),), "a is not in shared memory", at=""),
    staged("bad-parameter", MATVEC, (*TILED, vectorize("a", 3)), "width = 3 is none of 2, 4", at=""),
    staged("no-change", MATVEC, (*TILED, vectorize("a", 4), vectorize("a", 4)), "a is loaded in vectors of 4 already",
           at=""),
    staged("stage-vector-type", MATVEC, (*TILED, vectorize("a", 4)), "no vectors of 4 elements of type double",
           params="const double* a, float* b, int N, int M"),
    staged("stage-vector-box", MATVEC, (tile("k", 6), TILED[1], vectorize("a", 4)),
           "the box of a is 6 elements wide, no multiple of 4"),
    staged("stage-vector-rows", MATVEC.replace("M", "10"), (tile("k", 4), TILED[1], vectorize("a", 4)),
           "rows of a have 10 elements, no multiple of 4", shapes={"a": "N*10", "b": "N"}),
    staged("stage-vector-start", MATVEC.replace("k = 0", "k = M / 2").replace("x * M + k", "k"),
           (tile("k", 8), stage("a", "k.o", "0"), vectorize("a", 2)), "the start of loop k is not understood",
           shapes={"a": "M", "b": "N"}),
    staged("stage-vector-misaligned", MATVEC.replace("k = 0", "k = 1"), (*TILED, vectorize("a", 2)),
           "the box of a does not start at multiples of 2 elements"),
    staged("pipeline-nothing-staged", MATVEC, (tile("k", 8), pipeline("k.o", 2)), "nothing is staged at k.o", at=""),
    staged("pipeline-no-async-copy", MATVEC, (*TILED, pipeline("k.o", 2)), "the device has no asynchronous copies",
           at="", limits=Limits(async_copy=False)),
    staged("no-change", MATVEC, (*TILED, pipeline("k.o", 2), pipeline("k.o", 2)), "k.o has 2 buffers already", at=""),
    staged("bad-parameter", MATVEC, (*TILED, pipeline("k.o", 9)), "depth = 9 is not an integer from 2 to 8", at=""),
    Refused("pipeline-nest", "conv2d", (tile("dy,dx", 4, 4), stage("in", "dx.o"), pipeline("dx.o", 2)),
            ("dx.o belongs to a tiled nest",)),
    staged("pipeline-element-size", MATVEC, (*TILED, pipeline("k.o", 2)), "elements of a have 1 bytes",
           "copies move 4, 8 or 16", params="const unsigned char* a, float* b, int N, int M"),
    staged("bad-parameter", MATVEC, (gene("UseSharedMemory", "a", scope=3, order="01", pad=0),), "scope 3", at=""),
)
