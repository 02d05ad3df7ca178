"""A reduction cut into parts: the kernel that sums the parts, and the one that adds them up and finishes.

``s = init; for k { s += f(k); } rest(s)`` becomes a kernel in which block layer ``p`` of the grid sums every
``parts``-th tile of the loop from zero into a workspace, and a second one that adds the parts to ``init`` and runs
``rest``. Both are built from the loaded kernel's IR, so whatever the schedule does to the first applies as before.
The model is split-K of CUTLASS (NVIDIA, "Efficient GEMM in CUDA", parallelised reductions).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from genome import ir
from genome.build import build_logical
from genome.errors import Refusal
from genome.logical import Axis, LogicalKernel
from genome.lower.names import Names
from genome.poly import from_expr
from genome.program import WORKSPACE_TYPES, Launch, Workspace
from genome.schedule import AxisMap, Schedule
from genome.walk import root, variables, walk
from genome.workload import Argument, Workload

FLOATING = ("float", "double")
SUM_BLOCK = (32, 8)  # threads of the second kernel along its two axes: 256 in a row when there is one
MOST_ACCUMULATORS = 4


@dataclass(frozen=True)
class Accumulator:
    name: str
    type: ir.CType


@dataclass(frozen=True)
class SplitKernels:
    """``parts`` and ``sums`` are the logical kernels of the two launches; ``layer`` names the variable of the first
    that holds the number of its part."""

    parts: LogicalKernel
    sums: LogicalKernel
    layer: str
    accumulators: tuple[Accumulator, ...]
    workspaces: tuple[Workspace, ...]  # one for each accumulator


# ------------------------------------------------------------------------------------------------------ legality
def accumulators(logical: LogicalKernel, label: str) -> tuple[Accumulator, ...]:
    """The scalars that the loop sums into. Raises one named :class:`Refusal` per cause when it does anything else, or
    when what comes before it could not be run twice."""
    loop = logical.loops[label].node
    path = _path(logical.kernel.body, label)
    if path is None:
        raise Refusal("split-inside-loop", f"loop {label} runs inside another loop or under a condition with an else, "
                      "so its result is not one sum per point", loop.loc)
    declared: dict[str, ir.Decl] = {}
    for before, _ in path:
        for s in before:
            _check_repeatable(logical, s)
            declared.update({n.name: n for n in walk(s) if isinstance(n, ir.Decl)})
    found = _summed(logical, loop)
    out = []
    for name in found:
        d = declared.get(name)
        if d is None or d.dims or d.space or d.type.pointer or d.type.volatile or d.type.base not in WORKSPACE_TYPES:
            raise Refusal("split-accumulator", f"loop {label} sums into {name}, which is no plain scalar of the kernel "
                          "of a type that parts could be kept in", loop.loc)
        out.append(Accumulator(name, replace(d.type, const=False)))
    if len(out) > MOST_ACCUMULATORS:
        raise Refusal("split-too-many-sums", f"loop {label} makes {len(out)} sums, {MOST_ACCUMULATORS} are the most "
                      "that is tried", loop.loc)
    return tuple(out)


def _check_repeatable(logical: LogicalKernel, s: ir.Stmt) -> None:
    """What precedes the loop runs in both kernels: it must have no effect but on private variables."""
    for n in walk(s):
        bad = ""
        if isinstance(n, (ir.Opaque, ir.OpaqueExpr)):
            bad = "is not understood"
        elif isinstance(n, (ir.Barrier, ir.Return, ir.AsyncCopy)) or (isinstance(n, ir.Un) and n.op in ("*", "&")):
            bad = "may do more than set private variables"
        elif isinstance(n, ir.Call) and n.func not in logical.pure:
            bad = f"calls {n.func}, which may have effects"
        elif isinstance(n, ir.Decl) and n.space:
            bad = "declares shared memory"
        elif isinstance(n, (ir.Assign, ir.AssignExpr, ir.IncDec)) and not _private(logical, n.target):
            bad = f"writes {root(n.target)}"
        if bad:
            raise Refusal("split-not-repeatable", f"code before the loop {bad}, so it cannot run once more in a second "
                          "kernel", getattr(n, "loc", s.loc))


def _private(logical: LogicalKernel, target: ir.Expr) -> bool:
    name = root(target)
    declared = logical.types.get(name or "")
    return name is not None and name not in logical.arrays and declared is not None and (
        isinstance(target, ir.Var) or not declared.pointer or name in _local_arrays(logical))


def _local_arrays(logical: LogicalKernel) -> frozenset[str]:
    return frozenset(n.name for n in walk(logical.kernel.body) if isinstance(n, ir.Decl) and n.dims and not n.space)


def _summed(logical: LogicalKernel, loop: ir.For) -> tuple[str, ...]:
    """Names that the loop adds to and never reads otherwise."""
    own = {n.name for n in walk(loop.body) if isinstance(n, ir.Decl)} | {
        n.var for n in walk(loop.body) if isinstance(n, ir.For) and n.type is not None}
    names: dict[str, None] = {}
    reads = 0
    for n in walk(loop.body):
        if isinstance(n, (ir.Opaque, ir.OpaqueExpr, ir.Barrier, ir.Return, ir.AsyncCopy)) or (
                isinstance(n, ir.Un) and n.op in ("*", "&")) or (isinstance(n, ir.For) and n.type is None):
            raise Refusal("split-loop-effects", f"loop {loop.label} does more than add to private sums", loop.loc)
        if isinstance(n, ir.Call) and n.func not in logical.pure:
            raise Refusal("split-loop-effects", f"loop {loop.label} calls {n.func}, which may have effects", loop.loc)
        if isinstance(n, (ir.AssignExpr, ir.IncDec)) and root(n.target) not in own:
            raise Refusal("split-loop-effects", f"loop {loop.label} writes {root(n.target)} inside an expression",
                          loop.loc)
        if isinstance(n, ir.Assign) and root(n.target) not in own:
            added = _added(n)
            if added is None or not isinstance(n.target, ir.Var):
                raise Refusal("split-not-a-sum", f"loop {loop.label} sets {root(n.target)} to something other than "
                              "itself plus a term", n.loc)
            names[n.target.name] = None
            reads += sum(1 for v in walk(n) if isinstance(v, ir.Var) and v.name == n.target.name)
            if n.target.name in variables(added):
                raise Refusal("split-not-a-sum", f"a term that loop {loop.label} adds to {n.target.name} depends on "
                              "it", n.loc)
    seen = sum(1 for v in walk(loop) if isinstance(v, ir.Var) and v.name in names)
    if not names or seen != reads:
        raise Refusal("split-not-a-sum", f"loop {loop.label} is no sum, or uses its sums while they grow", loop.loc)
    return tuple(names)


def _added(s: ir.Assign) -> ir.Expr | None:
    """The term that a statement adds to its target, or None."""
    t = s.target
    match s:
        case ir.Assign(op="+=" | "-=", value=v):
            return v
        case ir.Assign(op="=", value=ir.Bin(op="+" | "-", left=left, right=v)) if left == t:
            return v
        case ir.Assign(op="=", value=ir.Bin(op="+", left=v, right=right)) if right == t:
            return v
        case ir.Assign(op="=", value=ir.Call(func="fmaf" | "fma", args=(a, b, c))) if c == t:
            return ir.Bin("*", a, b)
    return None


def floating(found: tuple[Accumulator, ...]) -> bool:
    return any(a.type.base in FLOATING for a in found)


# ------------------------------------------------------------------------------------------------------ building
def _path(stmts: tuple[ir.Stmt, ...], label: str) -> list[tuple[tuple[ir.Stmt, ...], ir.Stmt]] | None:
    """For each level down to the loop: the statements before, and the one on the way; None: not reached so."""
    for i, s in enumerate(stmts):
        if isinstance(s, ir.For) and s.label == label:
            return [(stmts[:i], s)]
        inside = s.then if isinstance(s, ir.If) and not s.other else s.body if isinstance(s, ir.Block) else ()
        found = _path(inside, label) if inside else None
        if found is not None:
            return [(stmts[:i], s), *found]
    return None


def _cut(stmts: tuple[ir.Stmt, ...], label: str, instead: Callable[[ir.For], tuple[ir.Stmt, ...]],
         after: bool) -> tuple[ir.Stmt, ...]:
    """The body with the loop replaced; ``after`` keeps what follows it."""
    for i, s in enumerate(stmts):
        rest = stmts[i + 1:] if after else ()
        if isinstance(s, ir.For) and s.label == label:
            return (*stmts[:i], *instead(s), *rest)
        if isinstance(s, ir.If) and not s.other and _path(s.then, label) is not None:
            return (*stmts[:i], replace(s, then=_cut(s.then, label, instead, after)), *rest)
        if isinstance(s, ir.Block) and _path(s.body, label) is not None:
            return (*stmts[:i], replace(s, body=_cut(s.body, label, instead, after)), *rest)
    return stmts


def split_kernels(logical: LogicalKernel, workload: Workload, launch: Launch, order: tuple[str, ...], label: str,
                  parts: int, taken: frozenset[str]) -> SplitKernels:
    """Builds both kernels. ``order``: the axes as the schedule has them, the first fastest in the workspace;
    ``taken``: names of the file that kernels must not have."""
    found = accumulators(logical, label)
    names = Names(logical.kernel)
    names.used |= taken
    layer = names.fresh("part")
    spaces = tuple(names.fresh(f"{a.name}_parts") for a in found)
    point, points = _linear(logical, [logical.axis(a) for a in order])

    def element(space: str, part: ir.Expr) -> ir.Index:
        return ir.Index(ir.Var(space), (ir.Bin("+", ir.Bin("*", part, points), point),))

    def sum_part(loop: ir.For) -> Iterator[ir.Stmt]:
        for a in found:
            yield ir.Assign(ir.Var(a.name), "=", ir.IntLit(0))
        yield loop
        for a, space in zip(found, spaces, strict=True):
            yield ir.Assign(element(space, ir.Var(layer)), "=", ir.Var(a.name))

    def add_parts(loop: ir.For) -> Iterator[ir.Stmt]:
        body = tuple(ir.Assign(ir.Var(a.name), "+=", element(space, ir.Var(layer)))
                     for a, space in zip(found, spaces, strict=True))
        yield ir.For(layer, layer, ir.INT, ir.IntLit(0), "<", ir.IntLit(parts), ir.IntLit(1), body, unroll=0,
                     comment=f"SplitReduction: the sums of loop {loop.label}")

    own = logical.kernel
    number = ir.Decl(ir.CType("int", const=True), layer, init=ir.Cast(ir.INT, ir.Builtin("blockIdx.z")),
                     comment=f"SplitReduction: this layer of blocks takes every {parts}th tile of {label}")
    first = (number, *_cut(own.body, label, lambda s: tuple(sum_part(s)), False))
    second = _cut(own.body, label, lambda s: tuple(add_parts(s)), True)
    extra = tuple(ir.Param(replace(a.type, pointer=1), s) for a, s in zip(found, spaces, strict=True))
    shape = "*".join([f"({logical.axis(a).text})" for a in order] + [str(parts)])
    given = replace(workload, arguments=(*workload.arguments, *(
        Argument(s, WORKSPACE_TYPES[a.type.base], shape, "inout") for a, s in zip(found, spaces, strict=True))))
    base = names.fresh(own.name + "_parts"), names.fresh(own.name + "_sums")
    built = [build_logical(replace(own, name=n, params=(*own.params, *extra), body=b), given, launch, logical.pure)
             for n, b in zip(base, (first, second), strict=True)]
    own_space = tuple(Workspace(s, a.type.base, f"max(1, {shape})") for a, s in zip(found, spaces, strict=True))
    return SplitKernels(built[0], built[1], layer, found, own_space)


def _linear(logical: LogicalKernel, axes: list[Axis]) -> tuple[ir.Expr, ir.Expr]:
    """A point's place in the workspace, the first axis fastest, and how many points there are."""
    own = {axis: ir.Var(name) for name, (axis, t) in logical.coordinates.items() if t == ir.INT}
    place: ir.Expr | None = None
    points: ir.Expr | None = None
    for axis in reversed(axes):
        at: ir.Expr = own.get(axis.name) or ir.Cast(ir.INT, ir.Coord(axis.name))
        place = at if place is None else ir.Bin("+", ir.Bin("*", place, axis.extent), at)
        points = axis.extent if points is None else ir.Bin("*", points, axis.extent)
    assert place is not None and points is not None
    return place, points


def sums_schedule(order: tuple[str, ...]) -> Schedule:
    """The mapping of the second kernel: threads of a warp side by side in the workspace."""
    threads = SUM_BLOCK if len(order) > 1 else (SUM_BLOCK[0] * SUM_BLOCK[1],)
    return Schedule(order, tuple((a, AxisMap(t)) for a, t in zip(order, threads, strict=True)))


def preconditions(logical: LogicalKernel, order: tuple[str, ...], label: str, parts: int, tile: int
                  ) -> tuple[str, ...]:
    """What the launcher must check: subscripts of the workspace, and the loop's steps, are counted in int."""
    points = "*".join([f"({logical.axis(a).text})" for a in order] + [str(parts)])
    out = [f"{points} < 2147483648"]
    loop = logical.loops[label].node
    end = from_expr(loop.hi, logical.resolve)
    if end is None or not end.is_constant:
        out.append(f"{end if end is not None else loop.hi} <= {2**31 - 1 - 8 * parts * tile}")
    return tuple(out)
