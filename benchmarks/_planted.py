"""A small matrix product with planted faults, in CUDA C++ and OpenCL C from one text."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from genome.program import Launch, Program
from genome.workload import Argument, Size, Workload
from gpu.records import Verdict

# Words in capitals are the dialect's, or filled in per candidate. CLONE keeps honest candidates apart.
TEXT = """KERNEL void product(GLOBAL const float* A, GLOBAL const float* B, GLOBAL float* C, int M, int N, int K) {
  int x = GX, y = GY;
  if (M < 0) C[0] = CLONE.5f;
  BEFORE
  if (x < N && y < M) {
    float s = 0.0f;
    for (int k = 0; k < K; ++k) s += A[y * K + k] * B[k * N + x];
    STORE
  }
}
"""
DIALECT = {
    "opencl": {"KERNEL": "__kernel", "GLOBAL": "__global", "GX": "get_global_id(0)", "GY": "get_global_id(1)"},
    "cuda": {"KERNEL": 'extern "C" __global__', "GLOBAL": "", "GX": "blockIdx.x * blockDim.x + threadIdx.x",
             "GY": "blockIdx.y * blockDim.y + threadIdx.y"},
}
EDGE = {"opencl": 96, "cuda": 512}  # of the size that is timed; the small checks stay below it
GOOD = "C[y * N + x] = s;"
BLOCKS = ((8, 8, 1), (16, 8, 1), (16, 16, 1), (32, 4, 1), (32, 8, 1), (64, 2, 1), (64, 4, 1), (8, 16, 1))
CRASH = "if (WHEN && x == 0 && y == 0) *((volatile GLOBAL int*)0) = 1;"
HANG = "if (WHEN && x == 0 && y == 0) { volatile int go = 1; while (go) { go = 1; } }"
# kind → what it plants: (word of the text, its filling); WHEN is everywhere, or at the timed size alone
FAULTS: dict[str, tuple[tuple[str, str], ...]] = {
    "crash": (("BEFORE", CRASH),),
    "hang": (("BEFORE", HANG),),
    "wrong": (("STORE", "C[y * N + x] = WHEN && x == 7 % N ? s + 1.0f : s;"),
              ("STORE", "if (!(WHEN && y == M - 1)) C[y * N + x] = s;"),
              ("STORE", "C[y * N + x] = WHEN ? 1.002f * s : s;")),
    "out of bounds": (("STORE", GOOD + " if (WHEN && x == 0 && y == 0) C[M * N + 3] = 1.0f;"),
                      ("STORE", GOOD + " if (WHEN && x == 0 && y == 0) C[-5] = 1.0f;")),
}
RIGHT: dict[str, tuple[Verdict, ...]] = {
    "good": (Verdict.OK, Verdict.ABORTED_SLOW), "crash": (Verdict.CRASHED,), "hang": (Verdict.TIMED_OUT,),
    "wrong": (Verdict.WRONG,), "out of bounds": (Verdict.WRONG,),
}
SHARES = {"crash": 0.10, "hang": 0.05, "wrong": 0.05, "out of bounds": 0.05}


@dataclass(frozen=True)
class Planted:
    key: str
    kind: str
    program: Program


def product(language: str, number: int, block: tuple[int, int, int] = (16, 16, 1), **filled: str) -> Program:
    text = TEXT
    words = {"BEFORE": "", "STORE": GOOD, **filled, "CLONE": str(number)}
    for word, meaning in (*words.items(), *DIALECT[language].items()):
        text = text.replace(word, meaning)
    grid = ("ceil_div(N, block_x)", "ceil_div(M, block_y)", "1")
    return Program(text, (Launch("product", grid, block),), language)


def workload(language: str) -> Workload:
    edge = EDGE[language]
    scalars = tuple(Argument(name, "int32", value=name) for name in "MNK")
    arrays = Argument("A", "float32", "M*K"), Argument("B", "float32", "K*N"), Argument("C", "float32", "M*N", "out")
    return Workload((*arrays, *scalars), (Size((("M", edge), ("N", edge), ("K", edge))),))


def draw(language: str, count: int, seed: int) -> list[Planted]:
    """``count`` candidates in an order that the seed fixes, each share rounded; half of each kind of fault shows at the
    timed size alone, past the small checks."""
    random = Random(seed)
    kinds = [kind for kind, share in SHARES.items() for _ in range(round(share * count))]
    kinds += ["good"] * (count - len(kinds))
    random.shuffle(kinds)
    planted: list[Planted] = []
    seen: dict[str, int] = {}
    for number, kind in enumerate(kinds, start=1):
        nth = seen[kind] = seen.get(kind, -1) + 1
        filled: dict[str, str] = {}
        if kind != "good":
            word, text = FAULTS[kind][nth // 2 % len(FAULTS[kind])]
            filled[word] = text.replace("WHEN", f"M == {EDGE[language]}" if nth % 2 else "M > 0")
        planted.append(Planted(f"{kind} {number}", kind, product(language, number, random.choice(BLOCKS), **filled)))
    return planted
