"""Footprints: which box of an array a block reads inside a scope, and the plan for holding it in shared memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from genome import ir
from genome.errors import Refusal
from genome.facts import conjuncts
from genome.logical import Access, LogicalKernel
from genome.poly import Poly, coord_symbol, from_expr
from genome.schedule import Schedule, Stage
from genome.walk import variables, walk

ELEMENT_BYTES = {
    "float": 4, "int": 4, "unsigned int": 4, "double": 8, "long long": 8, "unsigned long long": 8, "size_t": 8,
    "short": 2, "unsigned short": 2, "char": 1, "unsigned char": 1, "signed char": 1,
    "int32_t": 4, "uint32_t": 4, "int64_t": 8, "uint64_t": 8, "uint8_t": 1, "int8_t": 1, "uint16_t": 2, "int16_t": 2,
}


VECTOR_BASES = {"float": "float", "int": "int", "unsigned int": "uint", "double": "double"}


@dataclass(frozen=True)
class Group:
    """Reads of one array whose subscripts differ by constants only. ``name`` is the site: ``A``, then ``A#1``."""

    name: str
    array: str
    accesses: tuple[Access, ...]


@dataclass(frozen=True)
class Span:
    """A symbol inside the scope: it takes ``start + local`` for ``0 <= local < count``; ``start`` is uniform over
    the block and is the lowering's to name."""

    symbol: str
    count: int


@dataclass(frozen=True)
class StageDim:
    """One dimension of the box: elements ``base + [0, size)``. ``spans`` are (symbol, coefficient); ``outer`` is the
    part of the subscript that is fixed inside the scope; ``low`` the least constant, reversed spans included."""

    size: int
    spans: tuple[tuple[str, int], ...]
    outer: Poly
    low: int
    extent: Poly


@dataclass(frozen=True)
class StagePlan:
    """All that lowering needs; ``shape`` is the storage's, padding included."""

    stage: Stage
    group: Group
    dims: tuple[StageDim, ...]
    counts: Mapping[str, int]
    element: ir.CType
    order: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def contiguous(self) -> bool:
        """Whether a vector of neighbours in the array is one in storage, and aligned."""
        return self.order[-1] == len(self.dims) - 1 and self.shape[-1] % self.stage.vector == 0

    @property
    def bytes(self) -> int:
        n = ELEMENT_BYTES[self.element.base]
        for s in self.shape:
            n *= s
        return n

    @property
    def elements(self) -> int:
        n = 1
        for d in self.dims:
            n *= d.size
        return n


def signature(access: Access) -> tuple[Poly, ...]:
    """The subscripts without their constants."""
    return tuple(d - Poly.const(d.constant) for d in access.dims)


def groups(logical: LogicalKernel) -> tuple[Group, ...]:
    """The read groups of every array, in order of first appearance."""
    found: dict[tuple[str, tuple[Poly, ...], tuple[Poly, ...]], list[Access]] = {}
    for a in logical.accesses:
        if a.read and a.dims:
            found.setdefault((a.array, a.extents, signature(a)), []).append(a)
    out: list[Group] = []
    numbers: dict[str, int] = {}
    for (array, _, _), accesses in found.items():
        n = numbers.get(array, 0)
        numbers[array] = n + 1
        out.append(Group(array if n == 0 else f"{array}#{n}", array, tuple(accesses)))
    return tuple(out)


def group_named(logical: LogicalKernel, name: str) -> Group:
    for g in groups(logical):
        if g.name == name:
            return g
    raise Refusal("stage-no-such-array", f"there are no reads of '{name}' with subscripts that are understood")


def scope_loop(scope: str) -> str:
    """``k.o`` → ``k``."""
    return scope.removesuffix(".o")


def stage_plan(logical: LogicalKernel, schedule: Schedule, stage: Stage) -> StagePlan:
    """Raises one named :class:`Refusal` per cause."""
    group = group_named(logical, stage.array)
    array = logical.arrays[group.array]
    where = group.accesses[0].loc
    if array.written:
        raise Refusal("stage-array-written", f"{array.name} is written by this kernel, so a copy in shared memory "
                      "could be stale", where)
    if array.element.pointer or array.element.base not in ELEMENT_BYTES:
        raise Refusal("stage-element-type", f"elements of type {array.element.base} cannot be zero-filled", where)
    loops_in_scope: set[str] = set(logical.loops)
    if stage.scope:
        label = scope_loop(stage.scope)
        tile = schedule.tile_of(label)
        if tile is None:
            raise Refusal("stage-scope-not-tiled", f"loop {label} is not tiled, so it has no outer part to stage at",
                          where)
        if stage.scope != tile.loops[-1] + ".o":
            raise Refusal("stage-scope-not-innermost", f"stage at the innermost outer loop {tile.loops[-1]}.o", where)
        group = Group(group.name, group.array, tuple(a for a in group.accesses if label in a.loops))
        if not group.accesses:
            raise Refusal("stage-nothing-read", f"{array.name} is not read inside loop {label}", where)
        _check_uniform(logical, label)
        parents = set(logical.loops[tile.loops[0]].parents)
        loops_in_scope -= parents
        partial = dict(zip(tile.loops, tile.sizes, strict=True))
    else:
        partial = {}
    counts = _counts(logical, schedule, group, loops_in_scope, partial)
    dims = tuple(_dim(group, d, counts) for d in range(len(group.accesses[0].dims)))
    if any(s.startswith("$") for d in dims for s in d.extent.symbols | d.outer.symbols):
        raise Refusal("stage-extent-unknown", f"the extents of {array.name} are not among the kernel's parameters, so "
                      "the load cannot be kept in bounds", where)
    rank = len(dims)
    order = stage.order or tuple(range(rank))
    if sorted(order) != list(range(rank)):
        raise Refusal("stage-order", f"order {order} is no permutation of {array.name}'s {rank} dimensions", where)
    shape = [dims[d].size for d in order]
    shape[-1] += stage.pad
    plan = StagePlan(stage, group, dims, counts, ir.CType(array.element.base), order, tuple(shape))
    if stage.vector > 1:
        _check_vector(logical, schedule, plan)
    if schedule.depth_of(stage.scope) > 1 and ELEMENT_BYTES[array.element.base] not in (4, 8):
        raise Refusal("pipeline-element-size", f"elements of {array.name} have "
                      f"{ELEMENT_BYTES[array.element.base]} bytes; asynchronous copies move 4, 8 or 16", where)
    return plan


def _check_vector(logical: LogicalKernel, schedule: Schedule, plan: StagePlan) -> None:
    """Raises unless every vector of the box starts at a multiple of its width within a row of the array. That rows
    themselves start aligned is asked at run time."""
    v, where, name = plan.stage.vector, plan.group.accesses[0].loc, plan.group.array
    width = v * ELEMENT_BYTES[plan.element.base]
    if plan.element.base not in VECTOR_BASES or width > 16:
        raise Refusal("stage-vector-type", f"there are no vectors of {v} elements of type {plan.element.base}", where)
    last = plan.dims[-1]
    if last.size % v:
        raise Refusal("stage-vector-box", f"the box of {name} is {last.size} elements wide, no multiple of {v}", where)
    if last.extent.is_constant and last.extent.constant % v:
        raise Refusal("stage-vector-rows", f"rows of {name} have {last.extent} elements, no multiple of {v}", where)
    parts = [last.low, *(c for _, c in last.outer.terms)]
    tile = schedule.tile_of(scope_loop(plan.stage.scope)) if plan.stage.scope else None
    for symbol, c in last.spans:
        if symbol.startswith("@"):
            parts.append(c * schedule.axis(symbol[1:]).extent)
            continue
        lo = from_expr(logical.loops[symbol].node.lo, logical.resolve)
        if lo is None:
            raise Refusal("stage-vector-start", f"the start of loop {symbol} is not understood", where)
        parts += [c * k for _, k in lo.terms]
        if tile is not None and symbol in tile.loops:
            parts.append(c * tile.sizes[tile.loops.index(symbol)])
    if any(n % v for n in parts):
        raise Refusal("stage-vector-misaligned", f"the box of {name} does not start at multiples of {v} elements",
                      where)


def _check_uniform(logical: LogicalKernel, label: str) -> None:
    """The barrier goes into this loop: all of the block must run it equally often."""
    info = logical.loops[label]
    for name in (*info.parents, label):
        node = logical.loops[name].node
        if any(isinstance(n, ir.Continue) for n in walk(node.body)):
            raise Refusal("stage-loop-continue", f"loop {name} skips part of its iterations by 'continue'", node.loc)
        for e in (node.lo, node.hi, node.step):
            if not uniform(logical, e):
                raise Refusal("stage-loop-not-uniform", f"the bounds of loop {name} differ between the threads of a "
                              "block, so a barrier inside it is illegal", node.loc)
    for branch in _branches(logical.body, label):
        if uniform(logical, branch.cond):
            continue
        if branch.other:
            raise Refusal("stage-under-else", f"loop {label} runs in one branch of a condition that has two and "
                          "differs between the threads of a block", info.node.loc)
        if not all(sinkable(logical, c) for c in conjuncts(branch.cond)):
            raise Refusal("stage-guard-not-sinkable", f"loop {label} runs under a condition that depends on data",
                          info.node.loc)
    if not _reached_by_canonical_nesting(logical, label):
        raise Refusal("stage-inside-other-loop", f"loop {label} is inside a loop whose trip count is not understood",
                      info.node.loc)


def _branches(stmts: tuple[ir.Stmt, ...], label: str) -> Iterator[ir.If]:
    """The conditions around a loop, outermost first."""
    for s in stmts:
        if not any(isinstance(n, ir.For) and n.label == label for n in walk(s)):
            continue
        if isinstance(s, ir.If):
            yield s
            yield from _branches(s.then + s.other, label)
        elif isinstance(s, (ir.For, ir.Loop, ir.Block)) and not (isinstance(s, ir.For) and s.label == label):
            yield from _branches(s.body, label)


def _reached_by_canonical_nesting(logical: LogicalKernel, label: str) -> bool:
    for n in walk(logical.body):
        if isinstance(n, ir.Loop) and any(isinstance(x, ir.For) and x.label == label for x in walk(n.body)):
            return False
    return True


def uniform(logical: LogicalKernel, e: ir.Expr) -> bool:
    """Equal for all threads of a block: made of parameters, literals and uniform loops' variables only."""
    for n in walk(e):
        if isinstance(n, (ir.Coord, ir.Builtin, ir.Index, ir.Call, ir.OpaqueExpr, ir.AssignExpr, ir.IncDec)):
            return False
        if isinstance(n, ir.Var):
            if n.name in logical.coordinates or n.name not in logical.polys:
                return False
            if n.name in logical.loops and not all(
                    uniform(logical, x) for x in (logical.loops[n.name].node.lo, logical.loops[n.name].node.step)):
                return False
    return True


def sinkable(logical: LogicalKernel, c: ir.Expr) -> bool:
    """A guard that may be re-evaluated at each leaf: pure, and made of names that never change."""
    if any(isinstance(n, (ir.Index, ir.Call, ir.OpaqueExpr, ir.AssignExpr, ir.IncDec, ir.Builtin)) for n in walk(c)):
        return False
    return all(v in logical.coordinates or v in logical.polys for v in variables(c))


def _counts(
    logical: LogicalKernel, schedule: Schedule, group: Group, loops: set[str], partial: Mapping[str, int]
) -> dict[str, int]:
    """How many values each symbol inside the scope takes within one block and one iteration of the scope."""
    used = frozenset[str]().union(*(d.symbols for a in group.accesses for d in a.dims))
    counts: dict[str, int] = {}
    for axis in logical.axes:
        if coord_symbol(axis.name) in used:
            counts[coord_symbol(axis.name)] = schedule.axis(axis.name).extent
    for label in loops & used:
        node = logical.loops[label].node
        if label in partial:
            counts[label] = partial[label]
            continue
        lo, hi = from_expr(node.lo, logical.resolve), from_expr(node.hi, logical.resolve)
        if lo is None or hi is None or node.cmp not in ("<", "<=") or not isinstance(node.step, ir.IntLit) \
                or node.step.value <= 0:
            raise Refusal("stage-loop-bounds", f"the bounds of loop {label} are not understood", node.loc)
        span = hi - lo if node.cmp == "<" else hi - lo + Poly.const(1)
        if lo.symbols & loops:
            raise Refusal("stage-loop-start-varies", f"loop {label} starts where a loop around it says, so the "
                          f"footprint of {group.array} is not one box", node.loc)
        if not span.is_constant or not uniform(logical, node.lo):
            raise Refusal("stage-footprint-not-constant", f"loop {label} has no constant trip count, so the footprint "
                          f"of {group.array} has no constant size: tile {label} first", node.loc)
        counts[label] = max(1, span.constant)
    return counts


def _dim(group: Group, d: int, counts: Mapping[str, int]) -> StageDim:
    first = group.accesses[0].dims[d]
    where = group.accesses[0].loc
    spans: list[tuple[str, int]] = []
    outer = first - Poly.const(first.constant)
    size = 1
    low = min(a.dims[d].constant for a in group.accesses)
    size += max(a.dims[d].constant for a in group.accesses) - low
    for symbol, count in counts.items():
        if symbol not in first.symbols:
            continue
        if not first.linear_in(symbol):
            name = symbol.removeprefix("@")
            raise Refusal("stage-stride-not-constant", f"the subscript of {group.array} has a stride along {name} "
                          "that is not constant: its extents could not be told apart", where)
        c = first.coefficient(symbol)
        spans.append((symbol, c))
        outer = outer - Poly.of({(symbol,): c})
        size += abs(c) * (count - 1)
        if c < 0:
            low += c * (count - 1)
    return StageDim(size, tuple(spans), outer, low, group.accesses[0].extents[d])
