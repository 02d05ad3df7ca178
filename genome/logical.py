"""The logical kernel: the body over logical coordinates, with what analysis knows of axes, arrays and accesses.

Built once per baseline and never changed by genes; see :mod:`genome.schedule` for what genes change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from genome import ir
from genome.errors import Loc, Refusal
from genome.poly import Poly, coord_symbol
from genome.walk import walk


@dataclass(frozen=True)
class Array:
    """A pointer parameter. ``factors`` are the declared row-major extents, outermost first (one entry when the
    shape is no product); symbols starting with ``$`` are sizes that the kernel has no parameter for."""

    name: str
    element: ir.CType
    factors: tuple[Poly, ...]
    role: str
    read: bool
    written: bool


@dataclass(frozen=True)
class Access:
    """One read or write of an array. ``poly`` is the flat subscript (None: not a polynomial); ``dims`` the proved
    delinearisation over ``extents`` (a single entry, the flat one, when none was proved)."""

    array: str
    index: ir.Index
    poly: Poly | None
    dims: tuple[Poly, ...]
    extents: tuple[Poly, ...]
    in_bounds: bool  # every dim is proved to lie in [0, extent)
    read: bool
    write: bool
    loops: tuple[str, ...]  # enclosing canonical loops, outermost first
    facts: tuple[Poly, ...]
    conditional: bool  # under ?:, && or || inside its statement
    loc: Loc = Loc()


@dataclass(frozen=True)
class Axis:
    """A logical axis. Points are ``0 <= @name < extent``. ``guarded``: the kernel's own guards make every point at or
    past the extent do nothing; otherwise the launch covered exactly ``extent`` points."""

    name: str
    threads: int  # of the baseline's block
    extent: ir.Expr
    text: str  # the extent over the problem's scalars
    poly: Poly
    guarded: bool


@dataclass(frozen=True)
class LoopInfo:
    node: ir.For
    parents: tuple[str, ...]
    facts: tuple[Poly, ...]  # known before the loop is entered
    conditions: tuple[ir.Expr, ...]  # guards around it, outermost first


@dataclass(frozen=True, eq=False)
class LogicalKernel:
    """``body`` has coordinate declarations removed: ``coordinates`` maps their names to (axis, declared type)."""

    kernel: ir.Kernel  # as loaded and normalised
    body: tuple[ir.Stmt, ...]
    coordinates: Mapping[str, tuple[str, ir.CType]]
    axes: tuple[Axis, ...]
    arrays: Mapping[str, Array]
    accesses: tuple[Access, ...]
    loops: Mapping[str, LoopInfo]
    types: Mapping[str, ir.CType]
    polys: Mapping[str, Poly]  # integer names that have a polynomial: parameters, loop variables, coordinates
    facts: tuple[Poly, ...]  # parameters' ranges and coordinates' signs
    assumptions: tuple[str, ...]  # the facts as launcher preconditions
    blockers: tuple[Refusal, ...]  # why the launch geometry cannot be changed
    pure: frozenset[str] = frozenset()  # functions without memory effects
    walks: tuple[tuple[str, ir.For], ...] = ()  # grid-stride loops: axis and head
    _independence: dict[str, Refusal | None] = field(default_factory=dict, repr=False)

    def axis(self, name: str) -> Axis:
        for a in self.axes:
            if a.name == name:
                return a
        raise KeyError(name)

    @cached_property
    def delinearised(self) -> Mapping[tuple[str, Poly], Access]:
        """For (array, flat subscript): an access whose ``dims`` are proved for all accesses with that subscript."""
        out: dict[tuple[str, Poly], Access] = {}
        for a in self.accesses:
            if a.poly is None:
                continue
            key = (a.array, a.poly)
            if key not in out or len(a.dims) < len(out[key].dims):
                out[key] = a
        return out

    @cached_property
    def written(self) -> frozenset[str]:
        return frozenset(a.array for a in self.accesses if a.write)

    @cached_property
    def mapping_refusal(self) -> Refusal | None:
        """Why points must not be redistributed over threads, or None: the first blocker, else a dependence between
        distinct points."""
        if self.blockers:
            return self.blockers[0]
        from genome.independence import dependence_between_points

        return dependence_between_points(self)

    def resolve(self, name: str) -> Poly | None:
        return self.polys.get(name)

    @cached_property
    def wide_axes(self) -> frozenset[str]:
        """Axes whose coordinate the kernel holds, somewhere, in another type than int."""
        wide = {axis for axis, t in self.coordinates.values() if t.base != "int"}
        wide |= {n.axis for n in walk(self.kernel.body) if isinstance(n, ir.Coord)} - {
            axis for axis, _ in self.coordinates.values()}
        return frozenset(wide)

    @cached_property
    def axis_symbols(self) -> frozenset[str]:
        return frozenset(coord_symbol(a.name) for a in self.axes)
