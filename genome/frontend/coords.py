"""Recognition of ``blockIdx.a * blockDim.a + threadIdx.a`` as a logical coordinate."""

from __future__ import annotations

from genome import ir, walk

AXES = ("x", "y", "z")
MUL24 = ("__umul24", "__mul24", "mul24", "__imul24")


def _builtin(e: ir.Expr, base: str) -> str | None:
    if isinstance(e, ir.Builtin) and e.name.startswith(base + "."):
        return e.name[-1]
    return None


def _extent(e: ir.Expr, axis: str, block: tuple[int, int, int] | None) -> bool:
    if _builtin(e, "blockDim") == axis:
        return True
    return block is not None and isinstance(e, ir.IntLit) and e.value == block[AXES.index(axis)] \
        and e.suffix in ("", "u", "U")


def _block_origin(e: ir.Expr, block: tuple[int, int, int] | None) -> str | None:
    """The axis of ``blockIdx.a * blockDim.a`` in either order."""
    if isinstance(e, ir.Bin) and e.op == "*":
        a, b = e.left, e.right
    elif isinstance(e, ir.Call) and e.func in MUL24 and len(e.args) == 2:
        a, b = e.args
    else:
        return None
    for x, y in ((a, b), (b, a)):
        axis = _builtin(x, "blockIdx")
        if axis is not None and _extent(y, axis, block):
            return axis
    return None


def coordinate(e: ir.Expr, block: tuple[int, int, int] | None) -> str | None:
    """The axis that ``e`` is the logical coordinate of, or None."""
    if not isinstance(e, ir.Bin) or e.op != "+":
        return None
    for x, y in ((e.left, e.right), (e.right, e.left)):
        axis = _block_origin(x, block)
        if axis is not None and _builtin(y, "threadIdx") == axis:
            return axis
    return None


def recognise(kernel: ir.Kernel, block: tuple[int, int, int] | None = None) -> ir.Kernel:
    """All coordinates of a kernel as :class:`genome.ir.Coord`. A literal counts as ``blockDim`` when it equals
    ``block`` along that axis (the kernel is launched with that block only)."""

    def replace_one(node: object) -> object:
        if isinstance(node, ir.Bin):
            axis = coordinate(node, block)
            if axis is not None:
                return ir.Coord(axis, node.loc)
        return node

    return kernel.with_body(walk.rewrite(kernel.body, replace_one))


def literal_block(kernel: ir.Kernel) -> tuple[int, int, int] | None:
    """The block that a kernel is written for, where literals stand for its extents: 16 along x for
    ``blockIdx.x * 16 + threadIdx.x``. None where there are none, or where they contradict each other."""
    found: dict[str, set[int]] = {a: set() for a in AXES}
    for n in walk.walk(kernel.body):
        if not isinstance(n, ir.Bin) or n.op != "+":
            continue
        for x, y in ((n.left, n.right), (n.right, n.left)):
            axis = _builtin(y, "threadIdx")
            if axis is None or not isinstance(x, ir.Bin) or x.op != "*":
                continue
            for a, b in ((x.left, x.right), (x.right, x.left)):
                if _builtin(a, "blockIdx") == axis and isinstance(b, ir.IntLit):
                    found[axis].add(b.value)
    if not any(found.values()) or any(len(v) > 1 for v in found.values()):
        return None
    bx, by, bz = (next(iter(found[name]), 1) for name in AXES)
    return (bx, by, bz) if 0 < bx * by * bz <= 1024 and min(bx, by, bz) > 0 else None
