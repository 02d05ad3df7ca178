"""Kernels whose points cannot be redistributed over threads, and launches that no device allows."""

from __future__ import annotations

from genome.scheduled import Limits
from tests.helpers.kernels import block, coarsen, gene, loads_first, order, registers, stage, swizzle, warp_tile
from tests.mutators.refusal_base import TWO, Refused, blocked, one, two

IN_PLACE = one("b[x] = 0.5f * b[x - 1] + 0.5f * b[x + 1]; // here", "float* b, int N")

OBJECTS = """\
struct View { float* data; int n; };
struct Cells { float* p; __device__ float& operator[](int i) { return p[i]; } };
__device__ float* spare;
__global__ void k(View v, Cells cells, float** rows, const float* a, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        STATEMENT; // here
    }
}
"""


def hidden(code: str, statement: str, *words: str) -> Refused:
    """An element whose memory is not known."""
    return blocked(code, OBJECTS.replace("STATEMENT", statement), *words,
                   values={"v": "0", "cells": "0", "n": "N"})


BLOCKED = (
    blocked("thread-group", one("b[x] = __shfl_xor_sync(0xffffffffu, a[x], 1); // here"),
            "__shfl_xor_sync works on a group of threads"),
    hidden("pointer-in-object", "out[i] = v.data[i + 1]", "v holds the pointer or array that is subscripted"),
    hidden("pointer-to-pointer", "rows[i / 2][0] = a[i]", "rows leads to further pointers"),
    hidden("file-pointer", "out[i] = spare[i + 1]", "spare is a pointer of the file"),
    hidden("indexed-object", "cells[0] = a[i]", "cells of type Cells is subscripted"),
    blocked("geometry-is-semantic", one("b[x] = a[x];\nif (threadIdx.x == 0) b[0] = 1.0f; // here"),
            "threadIdx.x is used outside a logical coordinate", "launch geometry is part of this kernel's meaning"),
    blocked("geometry-is-semantic", one("b[blockIdx.x] = a[x]; // here"), "blockIdx.x",
            genes=(coarsen("x", 2),)),
    blocked("own-barrier", one("b[x] = a[x];\n__syncthreads(); // here"), "barriers of its own"),
    blocked("own-shared-memory", one("__shared__ float s[256]; // here\ns[x % 256] = a[x];\nb[x] = s[x % 256];"),
            "shared memory of its own (s)"),
    blocked("own-shared-memory", one("extern __shared__ float s[]; // here\ns[x % 256] = a[x];\nb[x] = s[x % 256];"),
            "shared memory of its own (s)", genes=(stage("a", order="0"),)),
    blocked("static-variable", one("static const float s = 2.0f; // here\nb[x] = s * a[x];"), "s outlives a thread"),
    blocked("global-written", "__device__ float total;\n" + one("total = a[x]; // here\nb[x] = a[x];"),
            "total is a variable of the file"),
    blocked("array-initialiser", one("float w[2][2] = {1.0f, 2.0f, 3.0f, 4.0f}; // here\nb[x] = a[x] * w[x % 2][1];"),
            "the initialiser of w is not understood"),
    blocked("opaque", one('b[x] = a[x];\nasm volatile("membar.gl;"); // here'), "not understood"),
    blocked("early-return", one("for (int i = 0; i < 4; ++i) {\n    if (a[i] > 0.0f) return; // here\n}\nb[x] = 1.0f;"),
            "a return inside the body could not be turned into a guard"),
    blocked("call-with-effects", one("__nanosleep(100); // here\nb[x] = a[x];"),
            "__nanosleep may read or write memory"),
    blocked("volatile", one("b[x] = a[x];", "const float* a, volatile float* b, int N"), "b is volatile",
            at="__global__"),
    blocked("pointer-escapes", one("const float* p = a[x] > 0.0f ? a : b; // here\nb[x] = p[x];"),
            "is used as a pointer value, not subscripted"),
    blocked("address-taken", one("atomicAdd(&b[x], a[x]); // here"), "the address of an element is taken"),
    blocked("no-logical-axis", "__global__ void k(const float* a, float* b)\n{\n    b[0] = a[0];\n}\n",
            "does not use blockIdx * blockDim + threadIdx", at="__global__", genes=(stage("a", order="0"),),
            block=(1, 1, 1), grid=("1",), shapes={"a": "1", "b": "1"}),
    blocked("axis-unused", one("b[x] = a[x];"), "more than one thread along y", "blockIdx.y * blockDim.y + threadIdx.y",
            at="", block=(32, 4, 1)),
    blocked("extent-unknown", "__global__ void k(const float* a, float* b)\n{\n"
            "    int x = blockIdx.x * blockDim.x + threadIdx.x;\n    b[x] = a[x];\n}\n",
            "no guard bounds the x coordinate", "'N / block_x'", "cannot be masked", at="", grid=("N / block_x",),
            sizes=({"N": 1024},)),
    blocked("points-depend-on-each-other", IN_PLACE, "point (x=", "writes an element of b that point (x=",
            "reads (line 5)", at="// here"),
    blocked("points-depend-on-each-other", IN_PLACE, "point (x=", "reads (line 5)", at="// here",
            genes=(coarsen("x", 4),)),
    blocked("points-depend-on-each-other", one("b[0] = a[x]; // here"), "point (x=", "writes (line 5)", at="// here"),
    blocked("points-not-proved-independent", one("b[(int)a[x]] = 1.0f; // here"),
            "the subscript is not a polynomial of coordinates and loop variables"),
    blocked("points-not-proved-independent", one("b[x * S] = a[x]; // here", "const float* a, float* b, int N, int S"),
            "not proved that no other thread writes the element of b", sizes=({"N": 100, "S": 3, "Q": 300},),
            shapes={"a": "N", "b": "Q"}),
)

LIMITS = (
    Refused("too-many-threads", "sgemm", (block(x=64, y=32),), ("2048 threads a block", "allows 1024")),
    Refused("block-shape-over-limit", "stencil7", (block(x=1, y=1, z=128),), ("128 threads along z", "allows 64")),
    Refused("too-many-items", "sgemm", (coarsen("x", 32), coarsen("y", 16)),
            ("512 points a thread", "256 are the most")),
    Refused("grid-over-limit", two("b[y * W + x] = a[y * W + x];"), (block(x=256, y=1),),
            ("70000 blocks along y at size", "allows 65535"), "", {**TWO, "sizes": ({"H": 70000, "W": 200},)}),
    Refused("axis-over-int", "__global__ void k(const float* a, float* b, size_t N)\n{\n"
            "    size_t x = (size_t)blockIdx.x * blockDim.x + threadIdx.x;\n    if (x < N) b[x] = a[x];\n}\n",
            (block(x=64),), ("3000000000", "more than an int counts"), "", {"sizes": ({"N": 3_000_000_000},)}),
    Refused("grid-not-computable", "__global__ void k(float* b, int N, int S)\n{\n"
            "    int x = blockIdx.x * blockDim.x + threadIdx.x;\n    b[x] = 1.0f;\n}\n", (block(x=64),),
            ("divides by zero",), "", {"grid": ("N / S",), "sizes": ({"N": 100, "S": 0},)}),
    Refused("shared-memory-over-limit", "conv2d", (stage("in"),), ("1600 bytes of shared memory a block",
            "1024 are allowed"), "", {"limits": Limits(shared_bytes=1024)}),
)

MAPPING = (
    Refused("no-change", "sgemm", (block(x=16, y=16),), ("the block has this shape already",)),
    Refused("block-under-a-warp", "sgemm", (block(x=8, y=2),), ("16 threads leave most of a warp idle",)),
    Refused("bad-parameter", "sgemm", (block(x=0, y=16),), ("x = 0 is not an integer from 1 to 1024",)),
    Refused("bad-parameter", "sgemm", (block(x=16),), ("y = None is not an integer",)),
    Refused("bad-parameter", "sgemm", (block(x=True, y=16),), ("x = True is not an integer",)),
    Refused("coalesce-not-a-permutation", "sgemm", (order("xz"),),
            ("order 'xz' does not name the kernel's axes x, y",)),
    Refused("coalesce-not-a-permutation", "stencil7", (order("xy"),), ("x, y, z once each",)),
    Refused("no-change", "sgemm", (order("xy"),), ("in the order xy already",)),
    Refused("no-such-axis", "sgemm", (coarsen("z", 2),), ("has no axis 'z' (axes: x, y)",)),
    Refused("bad-parameter", "sgemm", (coarsen("x", 2, "zigzag"),), ("mode = 'zigzag' is none of 'blocked'",)),
    Refused("bad-parameter", "sgemm", (coarsen("x", 65),), ("items = 65 is not an integer from 1 to 64",)),
    Refused("coarsen-fragment", "sgemm", (coarsen("x", 6, "fragments", 4),), ("6 points are no whole number", "of 4")),
    Refused("no-change", "sgemm", (coarsen("x", 2), coarsen("x", 2)), ("axis x is mapped like this already",)),
    Refused("reorder-one-point", "transpose", (loads_first("out"),), ("one point", "coarsen first"),
            "out[x * H + y]"),
    Refused("reorder-no-store", "transpose", (coarsen("y", 2), loads_first("in")), ("no store to in",)),
    Refused("reorder-no-loads", "sgemm", (coarsen("y", 2), loads_first("C")), ("stores to C use no loads",),
            "C[row * N + col]"),
    Refused("no-change", "transpose", (coarsen("y", 2), loads_first("out"), loads_first("out")),
            ("loads of out come first already",)),
    Refused("reorder-may-alias", one("b[x] = b[x + N] + a[x]; // here"), (coarsen("x", 2), loads_first("b")),
            ("b is loaded and stored here", "stay in order"), "// here", {"shapes": {"a": "N", "b": "2*N"}}),
    Refused("bad-parameter", "sgemm", (swizzle(1),), ("rows = 1 is not an integer from 2 to 256",)),
    Refused("swizzle-one-axis", "softmax", (swizzle(4),), ("the grid has one axis",)),
    Refused("no-such-site", "sgemm", (gene("SwizzleBlocks", "blocks", rows=4),), ("the one site 'grid'",)),
    Refused("warp-tile-one-axis", "softmax", (warp_tile(8),), ("the kernel has one axis",)),
    Refused("warp-tile-shape", "sgemm", (block(x=64, y=2), warp_tile(8)), ("does not divide into warps of 8 by 4",)),
    Refused("no-change", "sgemm", (warp_tile(8), warp_tile(8)), ("8 threads along the first axis already",)),
    Refused("no-change", "sgemm", (swizzle(4), swizzle(4)), ("groups of 4 rows already",)),
    Refused("no-change", "sgemm", (registers(2), registers(2)), ("room is kept for 2 blocks already",)),
    Refused("too-many-blocks", "sgemm", (registers(9),), ("9 blocks of 256 threads are more than the 2048",)),
    Refused("too-few-registers", "sgemm", (registers(8),), ("8 blocks of 256 threads leave 20 registers",), "",
            {"limits": Limits(registers=40960)}),
    Refused("no-registers", "sgemm", (registers(2),), ("no registers that could be limited",), "",
            {"limits": Limits(registers=0)}),
)

CASES = (*BLOCKED, *LIMITS, *MAPPING)
