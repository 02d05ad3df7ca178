"""What a warp's accesses cost: 32-byte sectors of global memory, wavefronts of shared memory (lanes enumerated).

The first half is about scheduled kernels, the second about kernels that keep their own threads and shared memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from genome.counts import value
from genome.expressions import Number
from genome.footprint import StagePlan
from genome.logical import Access
from genome.poly import Poly, coord_symbol
from genome.schedule import AxisMap, Schedule
from genome.touches import Touches

SECTOR = 32  # bytes: the granularity of a global access
BANKS = 32  # of four bytes
WARP = 32


def lane_coordinates(schedule: Schedule, lane: int) -> dict[str, int]:
    """Local coordinate of item 0 of the thread with this linear id."""
    out: dict[str, int] = {}
    rest = lane
    if schedule.lanes:  # a rectangle of the first two axes
        x, y = schedule.order[:2]
        return {x: lane % schedule.lanes * item_stride(schedule.axis(x)),
                y: lane // schedule.lanes * item_stride(schedule.axis(y)), **dict.fromkeys(schedule.order[2:], 0)}
    for axis in schedule.order:
        m = schedule.axis(axis)
        out[axis] = (rest % m.threads) * item_stride(m)
        rest //= m.threads
    return out


def item_stride(m: AxisMap) -> int:
    """Distance in points between neighbouring threads."""
    if m.items == 1 or m.mode == "strided":
        return 1
    return m.items if m.mode == "blocked" else m.fragment


def sectors(access: Access, schedule: Schedule, scalars: Mapping[str, Number], width: int) -> float:
    """Sectors that one warp-wide request touches; 32 when the subscript is not understood."""
    if access.poly is None:
        return float(WARP)
    touched: set[int] = set()
    for lane in range(min(WARP, schedule.threads)):
        at: dict[str, Number] = dict(scalars)
        for s in access.poly.symbols:
            at.setdefault(s, 0)
        at.update({coord_symbol(a): v for a, v in lane_coordinates(schedule, lane).items()})
        v = value(access.poly, at)
        if v is None:
            return float(WARP)
        touched.add(int(v) * width // SECTOR)
    return float(len(touched))


def wavefronts(access: Access, plan: StagePlan, schedule: Schedule, width: int) -> float:
    """Passes that one warp-wide read of the staged copy takes: the most distinct words in one bank."""
    per_bank: dict[int, set[int]] = {}
    strides = [1] * len(plan.shape)
    for d in range(len(plan.shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * plan.shape[d + 1]
    for lane in range(min(WARP, schedule.threads)):
        local = lane_coordinates(schedule, lane)
        flat = 0
        for position, d in enumerate(plan.order):
            dim = plan.dims[d]
            index = access.dims[d].constant - dim.low
            for symbol, c in dim.spans:
                index += c * (local[symbol[1:]] if symbol.startswith("@") else 0)
            flat += index * strides[position]
        word = flat * width // 4
        per_bank.setdefault(word % BANKS, set()).add(word)
    return float(max(len(w) for w in per_bank.values()))


def lane_elements(poly: Poly, block: tuple[int, int, int], touches: Touches, values: Mapping[str, Number]
                  ) -> list[int] | None:
    """The flat subscripts of the lanes of a block's first warp: loops at their first iteration, what is equal for all
    threads and has no value here at 0. None where something differs between threads in a way that is not known."""
    x, y, z = block
    out: list[int] = []
    for lane in range(min(WARP, x * y * z)):
        at: dict[str, Number] = {"threadIdx.x": lane % x, "threadIdx.y": lane // x % y, "threadIdx.z": lane // (x * y),
                                 **values}
        found = _at(poly, at, touches)
        if found is None:
            return None
        out.append(found)
    return out


def _at(poly: Poly, at: dict[str, Number], touches: Touches) -> int | None:
    for s in poly.symbols:
        if s in at:
            continue
        part: int | None = None if s in touches.unknown else 0
        if s in touches.quotients:
            whole, by = touches.quotients[s]
            part = _at(whole, at, touches)
            part = None if part is None else part // by
        elif s in touches.starts:
            part = _at(touches.starts[s], at, touches)
        if part is None:
            return None
        at[s] = part
    v = value(poly, at)
    return None if v is None else int(v)


def sectors_of(elements: Sequence[int], width: int) -> int:
    """Sectors that elements of ``width`` bytes lie in."""
    return len({e * width // SECTOR for e in elements} | {(e * width + width - 1) // SECTOR for e in elements})


def passes_of(elements: Sequence[int], width: int) -> int:
    """Passes over the banks of shared memory: the most distinct words in one bank. Elements of 8 bytes go in two
    halves of a warp, of 16 in four quarters, each with its own passes."""
    groups = max(1, width // 4)
    size = -(-len(elements) // groups)
    return sum(_passes(elements[i:i + size], width) for i in range(0, len(elements), size))


def _passes(elements: Sequence[int], width: int) -> int:
    banks: dict[int, set[int]] = {}
    for e in elements:
        for word in range(e * width // 4, (e * width + max(width, 1) - 1) // 4 + 1):
            banks.setdefault(word % BANKS, set()).add(word)
    return max(len(w) for w in banks.values())
