"""Sectors and bank conflicts, worked out by hand: a warp of 32 lanes, sectors of 32 bytes, 32 banks of 4 bytes."""

from __future__ import annotations

import pytest

from genome.memory_cost import item_stride, lane_coordinates, sectors, wavefronts
from genome.schedule import AxisMap, Schedule
from genome.scheduled import Scheduled
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
