"""Logical coordinates from block, thread and item digits."""

from __future__ import annotations

from dataclasses import dataclass

from genome import ir
from genome.expressions import evaluate
from genome.logical import LogicalKernel
from genome.lower.names import Names
from genome.poly import Poly
from genome.prove import implies
from genome.schedule import AXES, AxisMap, Schedule


def add(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """``a + b`` with zeros and literal sums folded."""
    if isinstance(a, ir.IntLit) and isinstance(b, ir.IntLit) and not (a.suffix or b.suffix):
        return ir.IntLit(a.value + b.value)
    if isinstance(b, ir.IntLit) and b.value == 0:
        return a
    if isinstance(a, ir.IntLit) and a.value == 0:
        return b
    if isinstance(b, ir.IntLit) and b.value < 0:
        return ir.Bin("-", a, ir.IntLit(-b.value))
    return ir.Bin("+", a, b)


def mul(a: ir.Expr, c: int) -> ir.Expr:
    if c == 1:
        return a
    if isinstance(a, ir.IntLit):
        return ir.IntLit(a.value * c)
    return ir.Bin("*", a, ir.IntLit(c)) if c != 0 else ir.IntLit(0)


@dataclass(frozen=True)
class AxisCode:
    """Names and expressions of one axis in the emitted kernel. ``index`` is the axis's place in the hardware order
    (0: threadIdx.x); ``block`` and ``thread`` are the names of the block's first point and of this thread's offset
    in the block's interval; ``item`` the item loop's variable ("" for one item)."""

    name: str
    index: int
    map: AxisMap
    block: str
    thread: str
    item: str
    number: str = ""  # variable that holds the block's number along the axis; "": the hardware's
    thread_number: ir.Expr | None = None  # the thread's number along the axis; None: the hardware's

    def offset(self, item: ir.Expr) -> ir.Expr:
        """Distance of an item from the thread's first point."""
        m = self.map
        if m.items == 1:
            return ir.IntLit(0)
        if m.mode == "blocked":
            return item
        if m.mode == "strided":
            return mul(item, m.threads)
        f = m.fragment
        return ir.Bin("+", ir.Bin("*", ir.Bin("/", item, ir.IntLit(f)), ir.IntLit(f * m.threads)),
                      ir.Bin("%", item, ir.IntLit(f)))

    def local(self, item: ir.Expr | None) -> ir.Expr:
        """The point's place in the block's interval."""
        return add(ir.Var(self.thread), self.offset(item) if item is not None else ir.IntLit(0))

    def coordinate(self, item: ir.Expr | None) -> ir.Expr:
        return add(ir.Bin("+", ir.Var(self.block), ir.Var(self.thread)),
                   self.offset(item) if item is not None else ir.IntLit(0))

    def declarations(self) -> list[ir.Stmt]:
        hw = "xyz"[self.index]
        as_int: ir.Expr = ir.Var(self.number) if self.number else ir.Cast(ir.INT, ir.Builtin(f"blockIdx.{hw}"))
        thread: ir.Expr = ir.Cast(ir.INT, ir.Builtin(f"threadIdx.{hw}"))
        if self.thread_number is not None:
            thread = self.thread_number
        m = self.map
        if m.items > 1 and m.mode != "strided":
            thread = ir.Bin("*", thread, ir.IntLit(m.items if m.mode == "blocked" else m.fragment))
        const_int = ir.CType("int", const=True)
        return [ir.Decl(const_int, self.block, init=ir.Bin("*", as_int, ir.IntLit(m.extent))),
                ir.Decl(const_int, self.thread, init=thread)]


WARP = 32


def lane_numbers(schedule: Schedule, tid: str) -> list[ir.Expr | None]:
    """Threads' numbers along the first two axes when a warp is a rectangle of them: the digits of the linear id are
    (lane along the first, lane along the second, warp along the first, warp along the second)."""
    if not schedule.lanes:
        return [None, None, None]
    across, down = schedule.lanes, WARP // schedule.lanes
    x, y, z = schedule.block
    warps = x // across
    # The layers of a third axis hold whole warps: x * y is a multiple of 32.
    layer: ir.Expr = ir.Var(tid) if z == 1 else ir.Bin("%", ir.Var(tid), ir.IntLit(x * y))
    lane, warp = ir.Bin("%", layer, ir.IntLit(WARP)), ir.Bin("/", layer, ir.IntLit(WARP))
    return [add(ir.Bin("%", lane, ir.IntLit(across)), mul(ir.Bin("%", warp, ir.IntLit(warps)), across)),
            add(ir.Bin("/", lane, ir.IntLit(across)), mul(ir.Bin("/", warp, ir.IntLit(warps)), down)), None]


def axis_codes(logical: LogicalKernel, schedule: Schedule, names: Names, tid: str) -> dict[str, AxisCode]:
    spelling = {axis: name for name, (axis, _) in reversed(list(logical.coordinates.items()))}
    out: dict[str, AxisCode] = {}
    threads = lane_numbers(schedule, tid)
    for i, a in enumerate(schedule.order):
        base = spelling.get(a, a)
        m = schedule.axis(a)
        out[a] = AxisCode(a, i, m, names.fresh(f"{base}_block"), names.fresh(f"{base}_thread"),
                          names.fresh(f"{base}_i") if m.items > 1 else "",
                          names.fresh(f"{base}_number") if schedule.swizzle > 1 and i < 2 else "", threads[i])
    return out


def keeps_launch(schedule: Schedule, baseline: Schedule) -> bool:
    """Whether grid and block stay the user's own, grid-stride loops included: these give way to a block for each part
    of the axis as soon as blocks share anything. A kernel along ``y`` alone moves to ``threadIdx.x`` as soon as code
    is written for its blocks and threads."""
    if (schedule.order, schedule.axes) != (baseline.order, baseline.axes) or schedule.split is not None:
        return False
    blockwise = bool(schedule.stages) or schedule.swizzle > 1 or schedule.lanes > 0
    return not blockwise or (schedule.order == AXES[:len(schedule.order)] and not baseline.walked)


def swizzle(schedule: Schedule, axes: dict[str, AxisCode], names: Names) -> list[ir.Stmt]:
    """Blocks walked in groups of rows of the grid, down each column of a group, so that blocks that run together share
    rows and columns in L2. A bijection of the grid: the last group may have fewer rows."""
    if schedule.swizzle < 2:
        return []
    x, y = (axes[a].number for a in schedule.order[:2])
    width, linear, first, rows, within = (names.fresh(n) for n in ("grid_width", "linear_block", "group_first",
                                                                   "group_rows", "in_group"))

    def const(name: str, value: ir.Expr) -> ir.Decl:
        return ir.Decl(ir.CType("int", const=True), name, init=value)

    def of(name: str) -> ir.Expr:
        return ir.Cast(ir.INT, ir.Builtin(name))

    group = ir.Bin("*", ir.Var(width), ir.IntLit(schedule.swizzle))
    left = ir.Bin("-", of("gridDim.y"), ir.Var(first))
    return [
        const(width, of("gridDim.x")),
        const(linear, ir.Bin("+", ir.Bin("*", of("blockIdx.y"), ir.Var(width)), of("blockIdx.x"))),
        const(first, ir.Bin("*", ir.Bin("/", ir.Var(linear), group), ir.IntLit(schedule.swizzle))),
        const(rows, ir.Ternary(ir.Bin("<", left, ir.IntLit(schedule.swizzle)), left, ir.IntLit(schedule.swizzle))),
        const(within, ir.Bin("%", ir.Var(linear), group)),
        const(x, ir.Bin("/", ir.Var(within), ir.Var(rows))),
        const(y, ir.Bin("+", ir.Var(first), ir.Bin("%", ir.Var(within), ir.Var(rows)))),
    ]


def grid(logical: LogicalKernel, schedule: Schedule, original: tuple[str, str, str],
         same_mapping: bool) -> tuple[str, str, str]:
    """Grid expressions over the problem's scalars."""
    if same_mapping:
        return original
    sizes = ["1", "1", "1"]
    for i, a in enumerate(schedule.order):
        axis = logical.axis(a)
        blocks = f"ceil_div({axis.text}, {schedule.axis(a).extent})"
        # A guard like x < N - 1 may leave no point at all; a launch needs a block all the same.
        sizes[i] = blocks if implies(logical.facts, axis.poly - Poly.const(1)) else f"max(1, {blocks})"
    if schedule.split is not None:
        sizes[2] = str(schedule.split.parts)
    return sizes[0], sizes[1], sizes[2]


def grid_size(text: str, scalars: dict[str, int | float]) -> int:
    return int(evaluate(text, scalars))
