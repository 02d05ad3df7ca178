"""Sectors and bank conflicts, worked out by hand: a warp of 32 lanes, sectors of 32 bytes, 32 banks of 4 bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from genome.memory_cost import (
    item_stride,
    lane_coordinates,
    lane_elements,
    passes_of,
    sectors,
    sectors_of,
    wavefronts,
)
from genome.normal import normalise
from genome.races import all_touches
from genome.schedule import AxisMap, Schedule
from genome.scheduled import Scheduled
from genome.touches import collect
from genome.uniform import uniformity
from genome.unit import load_unit
from tests.helpers.kernels import applied, block, coarsen, example, order, scheduled, stage, tile


def kernel(subscript: str, element: str = "float") -> Scheduled:
    source = (f"__global__ void k(const {element}* a, float* b, const int* c, int H, int W)\n{{\n"
              "    int x = blockIdx.x * blockDim.x + threadIdx.x;\n    int y = blockIdx.y * blockDim.y + threadIdx.y;\n"
              f"    if (x < W && y < H) {{\n        b[y * W + x] = (float)a[{subscript}];\n    }}\n}}\n")
    return scheduled(source, block=(32, 8, 1), grid=("ceil_div(W, block_x)", "ceil_div(H, block_y)"),
                     sizes=({"H": 1024, "W": 1024},), shapes={"a": "H*W", "b": "H*W", "c": "W"})


# subscript, element, bytes, block (x, y), sectors of one warp's request
SECTORS = [
    ("y * W + x", "float", 4, (32, 8), 4),          # 32 neighbours of 4 bytes: 128 bytes
    ("y * W + x", "double", 8, (32, 8), 8),         # 256 bytes
    ("y * W + x", "unsigned char", 1, (32, 8), 1),  # 32 bytes
    ("y * W + x", "float", 4, (16, 16), 4),         # two rows of 64 bytes
    ("y * W + x", "float", 4, (8, 32), 4),          # four rows of 32 bytes
    ("y * W + x", "float", 4, (4, 64), 8),          # eight rows of 16 bytes: half of each sector
    ("y * W + x", "float", 4, (1, 256), 32),        # a column
    ("x * H + y", "float", 4, (32, 8), 32),         # transposed: a row apart
    ("x * H + y", "float", 4, (8, 32), 8),          # 8 columns of 4 neighbours
    ("y * W + 2 * x", "float", 4, (32, 8), 8),      # every other element: 256 bytes
    ("y * W + 8 * x", "float", 4, (32, 8), 32),     # one element a sector
    ("y * W + x + 1", "float", 4, (32, 8), 5),      # off by one element: one more sector
    ("y * W + x + 8", "float", 4, (32, 8), 4),      # off by one sector
    ("y", "float", 4, (32, 8), 1),                  # one element for all
    ("y", "float", 4, (1, 256), 4),
    ("x", "float", 4, (16, 16), 2),                 # 16 neighbours, twice the same
    ("c[x]", "float", 4, (32, 8), 32),              # not understood: the worst
]


@pytest.mark.parametrize(("subscript", "element", "width", "shape", "want"), SECTORS)
def test_sectors(subscript: str, element: str, width: int, shape: tuple[int, int], want: int) -> None:
    state = kernel(subscript, element)
    x, y = shape
    if shape != (32, 8):
        state = applied(state, block(x=x, y=y))
    (access,) = [a for a in state.logical.accesses if a.array == "a"]
    assert sectors(access, state.schedule, {"H": 1024, "W": 1024}, width) == want


@pytest.mark.parametrize(("items", "mode", "fragment", "stride", "want"), [
    (4, "blocked", 4, 4, 16),       # lanes 16 bytes apart: 512 bytes touched, one element in four used
    (4, "strided", 4, 1, 4),
    (4, "fragments", 2, 2, 8),
    (1, "blocked", 4, 1, 4),
])
def test_sectors_of_coarsened_threads(items: int, mode: str, fragment: int, stride: int, want: int) -> None:
    state = kernel("y * W + x")
    state = applied(state, coarsen("x", items, mode, fragment)) if items > 1 else state
    assert item_stride(state.schedule.axis("x")) == stride
    (access,) = [a for a in state.logical.accesses if a.array == "a"]
    assert sectors(access, state.schedule, {"H": 1024, "W": 1024}, 4) == want


def test_fast_axis_decides() -> None:
    """The wrong axes of sgemm: A's rows are read down a column, until the axes are exchanged."""
    state = example("sgemm_wrong_axes")
    a = next(a for a in state.logical.accesses if a.array == "A")
    b = next(a for a in state.logical.accesses if a.array == "B")
    scalars = {"M": 4096, "N": 4096, "K": 4096}
    assert (sectors(a, state.schedule, scalars, 4), sectors(b, state.schedule, scalars, 4)) == (16, 1)
    state = applied(state, order("yx"))
    assert (sectors(a, state.schedule, scalars, 4), sectors(b, state.schedule, scalars, 4)) == (2, 2)


def test_lanes() -> None:
    s = Schedule(("x", "y"), (("x", AxisMap(8, 2)), ("y", AxisMap(4, 4, "fragments", 2))))
    assert lane_coordinates(s, 0) == {"x": 0, "y": 0}
    assert lane_coordinates(s, 7) == {"x": 14, "y": 0}
    assert lane_coordinates(s, 8) == {"x": 0, "y": 2}
    assert lane_coordinates(s, 31) == {"x": 14, "y": 6}


def waves(state: Scheduled, array: str) -> float:
    (plan,) = [p for p in state.plans() if p.group.array == array]
    return wavefronts(plan.group.accesses[0], plan, state.schedule, 4)


@pytest.mark.parametrize(("shape", "storage", "pad", "want"), [
    ((32, 32), "01", 0, 32),    # a column of 32 rows of 32 words: all in one bank
    ((32, 32), "01", 1, 1),     # rows of 33 words: every lane its own bank
    ((32, 32), "01", 2, 2),     # rows of 34: every other bank, twice
    ((32, 32), "01", 4, 4),
    ((32, 32), "01", 8, 8),
    ((32, 32), "10", 0, 1),     # stored transposed: neighbours
    ((16, 16), "01", 0, 8),     # lane l reads word 16 * (l % 16) + l / 16: four banks of eight words
    ((16, 16), "01", 1, 2),     # 17 * (l % 16) + l / 16: words 0 and 17 * 15 + 1 = 256 share a bank
])
def test_bank_conflicts_of_transpose(shape: tuple[int, int], storage: str, pad: int, want: int) -> None:
    """Threads walk along the rows of out, which are columns of the tile of in."""
    state = applied(example("transpose"), order("yx"), block(x=shape[0], y=shape[1]),
                    stage("in", "block", storage, pad))
    assert waves(state, "in") == want


def test_bank_conflicts_of_sgemm() -> None:
    """16 x 16 threads: A_s[row][k] is read by two rows at a time, B_s[k][col] by 16 neighbours."""
    state = applied(example("sgemm"), tile("k", 16), stage("A", "k.o"), stage("B", "k.o"))
    assert waves(state, "A") == 1 and waves(state, "B") == 1
    # eight rows of 16 words, of which two share a bank
    narrow = applied(example("sgemm"), block(x=4, y=64), tile("k", 16), stage("A", "k.o"), stage("B", "k.o"))
    assert waves(narrow, "A") == 4 and waves(narrow, "B") == 1
    padded = applied(example("sgemm"), block(x=4, y=64), tile("k", 16), stage("A", "k.o", pad=1))
    assert waves(padded, "A") == 1
    # eight points a thread, blocked: lanes 8 words apart, 16 lanes on four banks
    coarse = applied(example("sgemm"), coarsen("x", 8), tile("k", 16), stage("B", "k.o"))
    assert waves(coarse, "B") == 4
    fragments = applied(example("sgemm"), coarsen("x", 8, "fragments", 4), tile("k", 16), stage("B", "k.o"))
    assert waves(fragments, "B") == 2
    strided = applied(example("sgemm"), coarsen("x", 8, "strided"), tile("k", 16), stage("B", "k.o"))
    assert waves(strided, "B") == 1


# block, declaration of s, subscripts, bytes, passes of the first warp over the 32 banks
PASSES = [
    ((32, 1), "float s[2048]", "s[x]", 4, 1),
    ((32, 1), "float s[2048]", "s[2 * x]", 4, 2),           # even banks, twice
    ((32, 1), "float s[2048]", "s[3 * x]", 4, 1),           # odd strides meet no bank twice
    ((32, 1), "float s[2048]", "s[4 * x]", 4, 4),
    ((32, 1), "float s[2048]", "s[16 * x]", 4, 16),         # banks 0 and 16
    ((32, 1), "float s[2048]", "s[32 * x]", 4, 32),
    ((32, 1), "float s[2048]", "s[33 * x]", 4, 1),
    ((32, 1), "float s[2048]", "s[0]", 4, 1),               # one word for all
    ((32, 1), "float s[2048]", "s[x / 2]", 4, 1),           # pairs read one word
    ((32, 1), "float s[2048]", "s[x % 8 * 32]", 4, 8),      # eight words of bank 0, each for four lanes
    ((32, 1), "float s[2048]", "s[31 - x]", 4, 1),
    ((32, 1), "double s[1024]", "s[x]", 8, 2),              # 256 bytes: two halves
    ((32, 1), "float4 s[512]", "s[x]", 16, 4),              # 512 bytes: four quarters
    ((32, 1), "unsigned char s[512]", "s[x]", 1, 1),        # four lanes a word
    ((8, 8), "float s[8][8]", "s[y][x]", 4, 1),             # words 0 to 31
    ((8, 8), "float s[8][9]", "s[y][x]", 4, 2),             # 9 y + x: words 0 to 2 and 32 to 34
    ((8, 8), "float s[8][8]", "s[x][y]", 4, 2),             # 8 x + y: x and x + 4 in one bank
    ((16, 16), "float s[16][16]", "s[x][y]", 4, 8),         # 16 x + y: banks 0, 1, 16, 17
    ((16, 16), "float s[16][17]", "s[x][y]", 4, 2),         # words 0 and 256
]
# block, element, subscript, bytes, sectors of the first warp of block 0
OWN_SECTORS = [
    ((32, 1), "float", "x", 4, 4), ((32, 1), "float", "x + 1", 4, 5), ((32, 1), "float", "2 * x", 4, 8),
    ((32, 1), "float", "x * n", 4, 32),                     # rows of 100 words
    ((32, 1), "float", "x / 4", 4, 1), ((32, 1), "double", "x", 8, 8), ((32, 1), "float4", "x", 16, 16),
    ((32, 1), "unsigned char", "x", 1, 1),
    ((8, 8), "float", "y * n + x", 4, 6),  # rows begin 400 bytes apart: every other one crosses a sector
    ((8, 8), "float", "y * 8 + x", 4, 4),                   # four rows in a row
    ((32, 1), "float", "x % 4 * 8 + x / 4", 4, 4),          # a permutation of 32 neighbours
]


def own_elements(tmp_path: Path, shape: tuple[int, int], declaration: str, place: str) -> tuple[list[int], str]:
    """The subscripts of the first warp, and the space of the array."""
    path = tmp_path / "k.cu"
    path.write_text(f"__global__ void k({declaration}) {{\n    int x = threadIdx.x, y = threadIdx.y;\n{place}\n}}\n")
    kernel_ = normalise(load_unit(path).kernel)
    touches = collect(kernel_, (*shape, 1), uniformity(kernel_))
    touch = next(t for t in all_touches(touches.items) if t.array in ("s", "a"))
    assert touch.poly is not None
    elements = lane_elements(touch.poly, (*shape, 1), touches, {"n": 100})
    assert elements is not None and len(elements) == 32
    return elements, touch.space


@pytest.mark.parametrize(("shape", "array", "place", "width", "want"), PASSES)
def test_passes_over_own_shared_memory(tmp_path: Path, shape: tuple[int, int], array: str, place: str, width: int,
                                       want: int) -> None:
    elements, space = own_elements(tmp_path, shape, "int n", f"    __shared__ {array};\n    {place} = {{}};"
                                   if "4 s" in array else f"    __shared__ {array};\n    {place} = 1;")
    assert (passes_of(elements, width), space) == (want, "shared")


@pytest.mark.parametrize(("shape", "element", "subscript", "width", "want"), OWN_SECTORS)
def test_sectors_of_own_threads(tmp_path: Path, shape: tuple[int, int], element: str, subscript: str, width: int,
                                want: int) -> None:
    elements, space = own_elements(tmp_path, shape, f"{element}* a, int n", f"    a[{subscript}] = {{}};")
    assert (sectors_of(elements, width), space) == (want, "global")


def test_loops_begin_where_each_thread_begins(tmp_path: Path) -> None:
    """A block-stride loop: neighbours begin at neighbours, four sectors. The same from data: not known."""
    path = tmp_path / "k.cu"
    path.write_text("__global__ void k(float* a, const int* at, int n) {\n"
                    "    for (int i = threadIdx.x; i < n; i += blockDim.x) a[i] = 1;\n"
                    "    for (int j = at[threadIdx.x]; j < n; j += 1) a[j] = 2;\n}\n")
    kernel_ = normalise(load_unit(path).kernel)
    touches = collect(kernel_, (64, 1, 1), uniformity(kernel_))
    stride, data = [t for t in all_touches(touches.items) if t.kind == "write"]
    assert stride.poly is not None and data.poly is not None
    assert lane_elements(stride.poly, (64, 1, 1), touches, {"n": 100}) == list(range(32))
    assert lane_elements(data.poly, (64, 1, 1), touches, {"n": 100}) is None
