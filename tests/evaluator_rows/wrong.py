"""Wrong kernels by row of the table: for each id what a candidate does, and what must be said of it.

In the dialect of :mod:`tests.evaluator_rows.problems`, so that the same rows run on OpenCL and on an NVIDIA GPU.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu.records import Verdict
from tests.evaluator_rows.problems import INSIDE, NAIVE, ONE_D, ROWS, TREE, TWO_D, Way, product

WRONG, UNSTABLE = Verdict.WRONG, Verdict.NOT_REPEATABLE


@dataclass(frozen=True)
class Row:
    """``word``: what the reason must say."""

    id: str
    what: str
    problem: str
    way: Way
    word: str = "expected"
    verdict: Verdict = WRONG

    def __str__(self) -> str:
        return f"{self.id} {self.what}"


def gemm(body: str) -> Way:
    return Way(body, (16, 16, 1), TWO_D)


def after(more: str) -> Way:
    """Right, and then something else."""
    return gemm(product(NAIVE) + more)


FIRST = "if (GX == 0 && GY == 0)"
MASKED = ("for (int k = 0; k < K; ++k) s += FROMBITS(BITS(A[y*K+k]) & ~0x1fff) * FROMBITS(BITS(B[k*N+x]) & ~0x1fff);")
# e^v as a polynomial in v/16, to the sixteenth: relative errors of some 1e-5 where the library has 1e-7
POLY = "float w = (V) / 16.0f, e = 1.0f + w*(1.0f + w*(0.5f + w*(0.16666667f + w*(0.041666668f + w*0.0083333f))));" \
       " e *= e; e *= e; e *= e; e *= e;"
ROUGH_SOFT = ("int r = GX; if (r < R) { float m = x[r*K]; for (int k = 1; k < K; ++k) m = FMAXF(m, x[r*K+k]);"
              " float s = 0.0f; for (int k = 0; k < K; ++k) { " + POLY.replace("V", "x[r*K+k] - m") + " s += e; }"
              " for (int k = 0; k < K; ++k) { " + POLY.replace("V", "x[r*K+k] - m") + " out[r*K+k] = e / s; } }")

ROWS_OF_THE_TABLE = (
    Row("C1", "does nothing", "gemm", gemm("")),
    Row("C3", "writes to an input", "gemm", after(f" {FIRST} ((GLOBAL float*)A)[0] = 0.5f;"), "changed its input A"),
    Row("C5", "first row only", "gemm", gemm(product(NAIVE).replace("y < M", "y < 1")), "elements differ"),
    Row("C5", "last tile of the sum dropped", "gemm",
        gemm(product("for (int k = 0; k < K / 16 * 16 || k < 1; ++k) s += A[y*K+k] * B[k*N+x];"))),
    Row("C5", "one element of thousands", "gemm",
        after(" if (GX == N / 2 && GY == M - 1) C[(M-1)*N + N/2] *= 1.01f;"), "1 of"),
    Row("C7", "zeros where the values are small", "large",
        Way("int i = GX; if (i < N) y[i] = x[i] < 1e-3f ? 0.0f : 1e6f * x[i];", (64, 1, 1), ONE_D)),
    Row("C7", "zeros everywhere", "large", Way("int i = GX; if (i < N) y[i] = 0.0f;", (64, 1, 1), ONE_D)),
    Row("C8", "NaN in one element", "gemm", after(" if (GX == 3 && GY == 0 && N > 3) C[3] = 0.0f * (1.0f / 0.0f);"),
        "nan"),
    Row("C8", "infinity in one element", "gemm", after(f" {FIRST} C[0] = 1.0f / 0.0f;"), "inf"),
    Row("C9", "inputs of ten bits (TF32)", "gemm", gemm(product(MASKED)), ""),
    Row("C9", "a rougher exponential within the tolerance", "softmax", Way(ROUGH_SOFT, (32, 1, 1), ROWS),
        "less precise than the baseline"),
    Row("C10", "the identity in the place of max(x, 0), data all positive", "large",
        Way("int i = GX; if (i < N) y[i] = 1e6f * x[i];", (64, 1, 1), ONE_D), ""),
    Row("C10", "clamped past what ordinary data reach", "gemm", gemm(product(NAIVE + " if (s > 1e4f) s = 1e4f;")),
        "x1000"),
    Row("C10", "flushes what is smaller than the smallest normal number", "large",
        Way("int i = GX; if (i < N) { float v = x[i]; if (v < 1.2e-38f && v > -1.2e-38f) v = 0.0f;"
            " y[i] = 1e6f * FMAXF(v, 0.0f); }", (64, 1, 1), ONE_D), "tiny"),
    Row("C11", "right for multiples of 16 only", "gemm",
        gemm(product(NAIVE).replace("x < N", "x < (N < 16 ? N : N / 16 * 16)"))),
    Row("C15", "writes behind its output", "gemm", after(f" {FIRST} C[M*N + 5] = 1.0f;"), "wrote outside of C"),
    Row("C15", "writes behind an input", "gemm", after(f" {FIRST} ((GLOBAL float*)A)[M*K] = 1.0f;"),
        "wrote outside of A"),
    Row("C15", "reads behind an input and uses it", "stencil",
        Way(f"int x = GX, y = GY; if ({INSIDE}) out[y*N+x] = 0.5f*in[y*N+x] + 0.125f*(in[y*N+x-1] + in[y*N+x+1] +"
            " in[(y-1)*N+x] + in[(y+1)*N+x]) + 1e-20f * in[M*N + 1];", (16, 8, 1), TWO_D)),
    Row("C17", "off by a millionth: no order of addition gives that", "gemm",
        gemm(product(NAIVE + " s *= 1.000001f;")), ""),
    Row("C20", "a grid that misses everything", "gemm", Way("if (GX < 0) C[0] = 1.0f;", (16, 16, 1), TWO_D)),
    Row("C24", "takes the old content for zero", "axpby",
        Way("int i = GX; if (i < N) y[i] = 1.5f * x[i];", (64, 1, 1), ONE_D)),
)

# Right by luck on a device that runs work-items in order; a tool that watches every access says so.
RACY = TREE.replace("part[LX] = s; BARRIER;", "part[LX] = s;")
UNWRITTEN = TREE.replace("part[LX] = s; BARRIER;", "if (LX < 63) part[LX] = s; BARRIER;").replace(
    "part[LX + d]; BARRIER;", "part[LX + d]; BARRIER;")
assert TREE not in (RACY, UNWRITTEN)
