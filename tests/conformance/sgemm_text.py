"""A small matrix product in CUDA C++ and OpenCL C from one text, and the ways in which a candidate can be bad."""

from __future__ import annotations

from dataclasses import replace

from genome.program import Launch, Program, Workspace
from genome.workload import Argument, Size, Workload

# Words in capitals are the dialect's. The baseline adds every product thrice over a volatile index, so that honest
# candidates are clearly faster.
TEXT = """#line 1 "sgemm.src"
KERNEL void sgemm(GLOBAL const float* A, GLOBAL const float* B, GLOBAL float* C, int M, int N, int K) {
  int x = GX, y = GY;
  PROLOGUE
  if (x < N && y < M) {
    float s = 0.0f;
    for (int r = 0; r < REPEATS; ++r) {
      volatile int zero = 0;
      s = 0.0f;
      for (int k = zero; k < K; ++k) s += A[y * K + k] * B[k * N + x];
    }
    RESULT
  }
  EPILOGUE
}
"""
GRID = ("ceil_div(N, block_x)", "ceil_div(M, block_y)", "1")
DIALECT = {
    "opencl": {"KERNEL": "__kernel", "GLOBAL": "__global", "GX": "get_global_id(0)", "GY": "get_global_id(1)"},
    "cuda": {"KERNEL": 'extern "C" __global__', "GLOBAL": "", "GX": "blockIdx.x * blockDim.x + threadIdx.x",
             "GY": "blockIdx.y * blockDim.y + threadIdx.y"},
}
GOOD = "C[y * N + x] = s;"


def program(language: str, result: str = GOOD, repeats: int = 1, block: tuple[int, int, int] = (16, 16, 1),
            prologue: str = "", epilogue: str = "", grid: tuple[str, str, str] = GRID, text: str = TEXT,
            preconditions: tuple[str, ...] = ()) -> Program:
    words = {"RESULT": result, "REPEATS": str(repeats), "PROLOGUE": prologue, "EPILOGUE": epilogue, **DIALECT[language]}
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    text = text.replace("GLOBAL", DIALECT[language]["GLOBAL"])  # inside what was just put in
    return Program(text, (Launch("sgemm", grid, block),), language, preconditions)


SECOND = """
KERNEL void finish(GLOBAL const float* A, GLOBAL const float* B, GLOBAL float* C, int M, int N, int K,
                   GLOBAL float* parts) {
  int x = GX, y = GY;
  if (x < N && y < M) C[y * N + x] = parts[y * N + x] + parts[M * N + y * N + x];
}
"""


def in_two_launches(language: str, stored: str = "parts[h * M * N + y * N + x] = s;", elements: str = "2*M*N",
                    read: str = "parts[M * N + y * N + x]") -> Program:
    """The sum over k in two halves, which the first launch leaves in a workspace and the second adds up."""
    text = TEXT.replace("int K)", "int K, GLOBAL float* parts)").replace("for (int k = zero;", "for (int k = zero + h;")
    text = text.replace("++k)", "k += 2)").replace("PROLOGUE", "const int h = GZ;") + SECOND.replace(
        "parts[M * N + y * N + x]", read)
    text = text.replace("GZ", {"opencl": "get_group_id(2)", "cuda": "blockIdx.z"}[language])
    space = (Workspace("parts", "float", elements),)
    first = Launch("sgemm", (*GRID[:2], "2"), (16, 16, 1), 0, space)
    second = Launch("finish", GRID, (16, 8, 1), 0, space)
    return replace(program(language, stored, text=text), launches=(first, second))


def size(m: int, n: int, k: int) -> Size:
    return Size((("M", m), ("N", n), ("K", k)))


def workload(tune: tuple[Size, ...], check: tuple[Size, ...] = ()) -> Workload:
    scalars = tuple(Argument(name, "int32", value=name) for name in "MNK")
    return Workload((Argument("A", "float32", "M*K"), Argument("B", "float32", "K*N"),
                     Argument("C", "float32", "M*N", "out"), *scalars), tune, check)


# Name → (changes to the program, expected verdict, a word of the reason). Sizes: tune 128³ (OpenCL) or larger. More in
# tests/evaluator_rows.
BAD: dict[str, tuple[dict[str, object], str, str]] = {
    "wrong constant": ({"result": "C[y * N + x] = 1.001f * s;"}, "wrong result", "expected"),
    "small values only": ({"result": "C[y * N + x] = s > 1000.0f ? 1000.0f : s;"}, "wrong result", "x1000"),
    "outside its output": ({"result": GOOD + " if (x == 0 && y == 0) C[M * N + 5] = 1.0f;"}, "wrong result",
                           "wrote outside of C"),
    "before its output": ({"result": GOOD + " if (x == 0 && y == 0) C[-3] = 1.0f;"}, "wrong result", "wrote outside"),
    "bad only at full size": ({"result": "C[y * N + x] = (M >= 128 && x == 7) ? s + 1.0f : s;"}, "wrong result",
                              "C[7]"),
}
