"""Eight small problems in a common dialect of CUDA C++ and OpenCL C, and honest ways to do the same work.

Words in capitals are the dialect's. The honest kernels are the evaluator's positive controls: whatever they change
(block, order of addition, staging, precision upwards) they must pass, every time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from genome.program import Launch, Program
from genome.workload import Argument, Exactness, Size, Workload

WORDS = {
    "opencl": {"KERNEL": "__kernel void", "GLOBAL": "__global", "LOCAL": "__local", "BARRIER": "barrier(1)",
               "GX": "(int)get_global_id(0)", "GY": "(int)get_global_id(1)", "LX": "(int)get_local_id(0)",
               "LY": "(int)get_local_id(1)", "BX": "(int)get_group_id(0)", "BY": "(int)get_group_id(1)",
               "DX": "(int)get_local_size(0)", "TOTALX": "(int)get_global_size(0)", "EXPF": "exp", "FMAF": "fma",
               "FMAXF": "fmax", "ADD": "atomic_add", "BITS": "as_int", "FROMBITS": "as_float"},
    "cuda": {"KERNEL": 'extern "C" __global__ void', "GLOBAL": "", "LOCAL": "__shared__", "BARRIER": "__syncthreads()",
             "GX": "(int)(blockIdx.x * blockDim.x + threadIdx.x)",
             "GY": "(int)(blockIdx.y * blockDim.y + threadIdx.y)", "LX": "(int)threadIdx.x", "LY": "(int)threadIdx.y",
             "BX": "(int)blockIdx.x", "BY": "(int)blockIdx.y", "DX": "(int)blockDim.x",
             "TOTALX": "(int)(gridDim.x * blockDim.x)", "EXPF": "expf", "FMAF": "fmaf", "FMAXF": "fmaxf",
             "ADD": "atomicAdd", "BITS": "__float_as_int", "FROMBITS": "__int_as_float"},
}
ONE_D = ("ceil_div(N, block_x)", "1", "1")
ROWS = ("ceil_div(R, block_x)", "1", "1")
TWO_D = ("ceil_div(N, block_x)", "ceil_div(M, block_y)", "1")


@dataclass(frozen=True)
class Way:
    """One kernel for a problem: the body, and how it is launched."""

    body: str
    block: tuple[int, int, int]
    grid: tuple[str, str, str]


@dataclass(frozen=True)
class Problem:
    params: str
    workload: Workload
    baseline: Way
    honest: dict[str, Way] = field(default_factory=dict)

    def program(self, language: str, way: Way, double: bool = False) -> Program:
        """``double``: in double precision, as an independent reference."""
        text = f"KERNEL k({self.params}) {{\n{way.body}\n}}\n"
        words = WORDS[language]
        if double:
            text = re.sub(r"(?<=\d)f\b", "", re.sub(r"\bfloat\b", "double", text))
            words = words | {"EXPF": "exp", "FMAF": "fma", "FMAXF": "fmax"}
        text = re.sub(r"\b[A-Z]+\b", lambda m: words.get(m[0], m[0]), text)
        return Program(text, (Launch("k", way.grid, way.block),), language)


def size(**values: int) -> Size:
    return Size(tuple(values.items()))


def scalars(*names: str) -> tuple[Argument, ...]:
    return tuple(Argument(n, "int32", value=n) for n in names)


def floats(name: str, shape: str, role: str = "in", init: str = "normal") -> Argument:
    return Argument(name, "float32", shape, role, init)


# ------------------------------------------------------------------------------------------------ matrix product
def product(inner: str, columns: int = 1) -> str:
    """One output a thread: ``inner`` leaves it in ``s``."""
    return f"int x = GX * {columns}, y = GY; if (x < N && y < M) {{ float s = 0.0f; {inner} C[y*N+x] = s; }}"


NAIVE = "for (int k = 0; k < K; ++k) s += A[y*K+k] * B[k*N+x];"
TILED = """LOCAL float a[16][17]; LOCAL float b[16][17];
int x = GX, y = GY; float s = 0.0f;
for (int t = 0; t < K; t += 16) {
  a[LY][LX] = y < M && t + LX < K ? A[y*K+t+LX] : 0.0f;
  b[LY][LX] = x < N && t + LY < K ? B[(t+LY)*N+x] : 0.0f;
  BARRIER;
  for (int k = 0; k < 16; ++k) s += a[LY][k] * b[k][LX];
  BARRIER;
}
if (x < N && y < M) C[y*N+x] = s;"""
GEMM = Problem(
    "GLOBAL const float* A, GLOBAL const float* B, GLOBAL float* C, int M, int N, int K",
    Workload((floats("A", "M*K"), floats("B", "K*N"), floats("C", "M*N", "out"), *scalars("M", "N", "K")),
             (size(M=64, N=80, K=48),), (size(M=33, N=50, K=29),)),
    Way(product(NAIVE), (16, 16, 1), TWO_D), {
        "block 32x8": Way(product(NAIVE), (32, 8, 1), TWO_D),
        "reversed": Way(product("for (int k = K - 1; k >= 0; --k) s += A[y*K+k] * B[k*N+x];"), (16, 8, 1), TWO_D),
        "two accumulators": Way(product("float t = 0.0f; int k = 0; for (; k + 1 < K; k += 2) { s += A[y*K+k]*B[k*N+x];"
                                        " t += A[y*K+k+1]*B[(k+1)*N+x]; } if (k < K) s += A[y*K+k]*B[k*N+x]; s += t;"),
                                (16, 16, 1), TWO_D),
        "fused": Way(product("for (int k = 0; k < K; ++k) s = FMAF(A[y*K+k], B[k*N+x], s);"), (8, 8, 1), TWO_D),
        "double inside": Way(product("double d = 0.0; for (int k = 0; k < K; ++k) d += (double)A[y*K+k] * B[k*N+x];"
                                     " s = (float)d;"), (16, 16, 1), TWO_D),
        "two columns": Way("int x = 2 * GX, y = GY; for (int j = 0; j < 2; ++j) if (x + j < N && y < M) {"
                           " float s = 0.0f; for (int k = 0; k < K; ++k) s += A[y*K+k] * B[k*N+x+j]; C[y*N+x+j] = s; }",
                           (16, 8, 1), ("ceil_div(N, 2 * block_x)", "ceil_div(M, block_y)", "1")),
        "tiles": Way(TILED, (16, 16, 1), TWO_D),
        "split sum": Way(product("for (int p = 0; p < 4; ++p) { float t = 0.0f; for (int k = p*K/4; k < (p+1)*K/4; ++k)"
                                 " t += A[y*K+k] * B[k*N+x]; s += t; }"), (16, 16, 1), TWO_D),
    })

# -------------------------------------------------------------------------------------------------- row reduction
TREE = """LOCAL float part[64];
int r = BX; float s = 0.0f;
for (int k = LX; k < K; k += 64) s += x[r*K+k] * x[r*K+k];
part[LX] = s; BARRIER;
for (int d = 32; d > 0; d /= 2) { if (LX < d) part[LX] += part[LX + d]; BARRIER; }
if (LX == 0) out[r] = part[0];"""
NORMS = Problem(
    "GLOBAL const float* x, GLOBAL float* out, int R, int K",
    Workload((floats("x", "R*K"), floats("out", "R", "out"), *scalars("R", "K")), (size(R=200, K=300),),
             (size(R=37, K=130),)),
    Way("int r = GX; if (r < R) { float s = 0.0f; for (int k = 0; k < K; ++k) s += x[r*K+k]*x[r*K+k]; out[r] = s; }",
        (64, 1, 1), ROWS), {
        "block 32": Way("int r = GX; if (r < R) { float s = 0.0f; for (int k = 0; k < K; ++k) s += x[r*K+k]*x[r*K+k];"
                        " out[r] = s; }", (32, 1, 1), ROWS),
        "tree": Way(TREE, (64, 1, 1), ("R", "1", "1")),
        "four accumulators": Way("int r = GX; if (r < R) { float s[4] = {0,0,0,0}; for (int k = 0; k < K; ++k)"
                                 " s[k % 4] += x[r*K+k]*x[r*K+k]; out[r] = (s[0]+s[1])+(s[2]+s[3]); }", (64, 1, 1),
                                 ROWS),
        "compensated": Way("int r = GX; if (r < R) { float s = 0, c = 0; for (int k = 0; k < K; ++k) { float v ="
                           " x[r*K+k]*x[r*K+k] - c; float t = s + v; c = (t - s) - v; s = t; } out[r] = s; }",
                           (64, 1, 1), ROWS),
        "backwards": Way("int r = R - 1 - GX; if (r >= 0) { float s = 0.0f; for (int k = K - 1; k >= 0; --k)"
                         " s += x[r*K+k]*x[r*K+k]; out[r] = s; }", (64, 1, 1), ROWS),
    })

# -------------------------------------------------------------------------------------------------------- softmax
SOFT = ("int r = GX; if (r < R) { float m = x[r*K]; for (int k = 1; k < K; ++k) m = FMAXF(m, x[r*K+k]); float s = 0.0f;"
        " for (int k = 0; k < K; ++k) s += EXPF(x[r*K+k] - m); STORE }")
DIVIDE = "for (int k = 0; k < K; ++k) out[r*K+k] = EXPF(x[r*K+k] - m) / s;"
SOFTMAX = Problem(
    "GLOBAL const float* x, GLOBAL float* out, int R, int K",
    Workload((floats("x", "R*K"), floats("out", "R*K", "out"), *scalars("R", "K")), (size(R=100, K=150),),
             (size(R=37, K=29),)),
    Way(SOFT.replace("STORE", DIVIDE), (32, 1, 1), ROWS), {
        "block 8": Way(SOFT.replace("STORE", DIVIDE), (8, 1, 1), ROWS),
        "reciprocal": Way(SOFT.replace("STORE", "float q = 1.0f / s; for (int k = 0; k < K; ++k)"
                                                " out[r*K+k] = EXPF(x[r*K+k] - m) * q;"), (32, 1, 1), ROWS),
        "kept": Way(SOFT.replace("s += EXPF(x[r*K+k] - m);", "{ float e = EXPF(x[r*K+k] - m); out[r*K+k] = e;"
                            " s += e; }").replace("STORE", "for (int k = 0; k < K; ++k) out[r*K+k] /= s;"), (32, 1, 1),
                    ROWS),
        "one pass": Way("int r = GX; if (r < R) { float m = x[r*K], s = 1.0f; for (int k = 1; k < K; ++k) { float v ="
                        " x[r*K+k]; if (v > m) { s = s * EXPF(m - v) + 1.0f; m = v; } else s += EXPF(v - m); }"
                        f" {DIVIDE} }}", (32, 1, 1), ROWS),
    })

# ---------------------------------------------------------------------------------- five-point stencil, border kept
POINT = "out[y*N+x] = 0.5f*in[y*N+x] + 0.125f*(in[y*N+x-1] + in[y*N+x+1] + in[(y-1)*N+x] + in[(y+1)*N+x]);"
INSIDE = "x > 0 && x < N - 1 && y > 0 && y < M - 1"
HALO = """LOCAL float t[10][18];
for (int i = LY * 16 + LX; i < 180; i += 128) { int u = BX*16 + i % 18 - 1, v = BY*8 + i / 18 - 1;
  t[i / 18][i % 18] = u >= 0 && u < N && v >= 0 && v < M ? in[v*N+u] : 0.0f; }
BARRIER;
int x = GX, y = GY, a = LX + 1, b = LY + 1;
if (INSIDE) out[y*N+x] = 0.5f*t[b][a] + 0.125f*(t[b][a-1] + t[b][a+1] + t[b-1][a] + t[b+1][a]);"""
STENCIL = Problem(
    "GLOBAL const float* in, GLOBAL float* out, int M, int N",
    Workload((floats("in", "M*N"), floats("out", "M*N", "inout"), *scalars("M", "N")), (size(M=90, N=110),),
             (size(M=33, N=50),)),
    Way(f"int x = GX, y = GY; if ({INSIDE}) {{ {POINT} }}", (16, 8, 1), TWO_D), {
        "block 64x2": Way(f"int x = GX, y = GY; if ({INSIDE}) {{ {POINT} }}", (64, 2, 1), TWO_D),
        "two rows": Way("int x = GX; for (int j = 0; j < 2; ++j) { int y = 2 * GY + j;"
                        f" if ({INSIDE}) {{ {POINT} }} }}",
                        (16, 8, 1), ("ceil_div(N, block_x)", "ceil_div(M, 2 * block_y)", "1")),
        "halo": Way(HALO.replace("INSIDE", INSIDE), (16, 8, 1), TWO_D),
        "other order": Way(f"int x = GX, y = GY; if ({INSIDE}) out[y*N+x] = 0.125f*(in[(y+1)*N+x] + in[(y-1)*N+x]) +"
                           " (0.125f*(in[y*N+x+1] + in[y*N+x-1]) + 0.5f*in[y*N+x]);", (16, 8, 1), TWO_D),
    })

# ------------------------------------------------------------------------------------------------ transpose, exact
TRANSPOSE = Problem(
    "GLOBAL const float* in, GLOBAL float* out, int M, int N",
    Workload((floats("in", "M*N"), floats("out", "M*N", "out"), *scalars("M", "N")), (size(M=70, N=90),),
             exactness=Exactness.EXACT),
    Way("int x = GX, y = GY; if (x < N && y < M) out[x*M+y] = in[y*N+x];", (16, 16, 1), TWO_D), {
        "block 8x32": Way("int x = GX, y = GY; if (x < N && y < M) out[x*M+y] = in[y*N+x];", (8, 32, 1), TWO_D),
        "tile": Way("LOCAL float t[16][17]; int x = GX, y = GY; if (x < N && y < M) t[LY][LX] = in[y*N+x]; BARRIER;"
                    " int u = BY*16 + LX, v = BX*16 + LY; if (u < M && v < N) out[v*M+u] = t[LX][LY];", (16, 16, 1),
                    TWO_D),
        "four rows": Way("int x = GX; for (int y = 4 * GY; y < 4 * GY + 4; ++y) if (x < N && y < M) out[x*M+y] ="
                         " in[y*N+x];", (16, 4, 1), ("ceil_div(N, block_x)", "ceil_div(M, 4 * block_y)", "1")),
    })

# ----------------------------------------------------------------------------------------------- histogram, atomics
HISTOGRAM = Problem(
    "GLOBAL const int* keys, GLOBAL int* counts, int N",
    Workload((Argument("keys", "int32", "N", init="integers:0:16"),
              Argument("counts", "int32", "16", "inout", init="zeros"), *scalars("N")), (size(N=5000),)),
    Way("int i = GX; if (i < N) ADD(counts + keys[i], 1);", (64, 1, 1), ONE_D), {
        "block 128": Way("int i = GX; if (i < N) ADD(counts + keys[i], 1);", (128, 1, 1), ONE_D),
        "walking": Way("for (int i = GX; i < N; i += TOTALX) ADD(counts + keys[i], 1);", (64, 1, 1), ("8", "1", "1")),
        "privatised": Way("LOCAL int own[16]; if (LX < 16) own[LX] = 0; BARRIER; int i = GX; if (i < N)"
                          " ADD(own + keys[i], 1); BARRIER; if (LX < 16 && own[LX]) ADD(counts + LX, own[LX]);",
                          (64, 1, 1), ONE_D),
    })

# ------------------------------------------------------------------------------------- y = a x + b y, old y counts
AXPBY = Problem(
    "GLOBAL const float* x, GLOBAL float* y, int N",
    Workload((floats("x", "N"), floats("y", "N", "inout"), *scalars("N")), (size(N=5000),)),
    Way("int i = GX; if (i < N) y[i] = 1.5f * x[i] + 3.0f * y[i];", (64, 1, 1), ONE_D), {
        "block 256": Way("int i = GX; if (i < N) y[i] = 1.5f * x[i] + 3.0f * y[i];", (256, 1, 1), ONE_D),
        "fused": Way("int i = GX; if (i < N) y[i] = FMAF(1.5f, x[i], 3.0f * y[i]);", (64, 1, 1), ONE_D),
        "walking": Way("for (int i = GX; i < N; i += TOTALX) y[i] = 1.5f * x[i] + 3.0f * y[i];", (64, 1, 1),
                       ("7", "1", "1")),
    })

# ------------------------------------------------------------------------- what wrong kernels need: special data
LARGE = Problem(
    "GLOBAL const float* x, GLOBAL float* y, int N",
    Workload((floats("x", "N", init="uniform"), floats("y", "N", "out"), *scalars("N")), (size(N=5000),)),
    Way("int i = GX; if (i < N) y[i] = 1e6f * FMAXF(x[i], 0.0f);", (64, 1, 1), ONE_D), {
        "block 32": Way("int i = GX; if (i < N) y[i] = 1e6f * FMAXF(x[i], 0.0f);", (32, 1, 1), ONE_D),
        "branch": Way("int i = GX; if (i < N) y[i] = x[i] > 0.0f ? x[i] * 1e6f : 0.0f;", (64, 1, 1), ONE_D),
    })

PROBLEMS = {"gemm": GEMM, "norms": NORMS, "softmax": SOFTMAX, "stencil": STENCIL, "transpose": TRANSPOSE,
            "histogram": HISTOGRAM, "axpby": AXPBY, "large": LARGE}
assert sum(len(p.honest) for p in PROBLEMS.values()) >= 30, "positive controls"
