"""What a kernel is run on: arguments, sizes, tolerance. Plain data that travels everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from genome.expressions import Number, evaluate


class Exactness(IntEnum):
    """How far a transform, or a run, may go from the baseline's arithmetic."""

    EXACT = 0  # equal values for every input without contraction
    REASSOCIATES = 1  # changes the order of floating-point operations
    APPROXIMATES = 2  # intrinsics, lower precision


@dataclass(frozen=True)
class Argument:
    """One kernel argument. Arrays have a ``shape`` (an expression for the number of elements; several factors
    ``M*K`` also tell the row-major extents) and a ``role``; scalars have a ``value`` expression.

    ``init``: "normal", "uniform", "zeros", "constant:V", "integers:LO:HI" (HI exclusive), "permutation",
    "file.npy", "module.py:function".
    """

    name: str
    dtype: str  # NumPy name: float32, int32, uint8, ...
    shape: str | None = None
    role: str = "in"  # in, out, inout
    init: str = "normal"
    value: str | None = None

    @property
    def is_array(self) -> bool:
        return self.shape is not None


@dataclass(frozen=True)
class Size:
    """One assignment of the problem's scalars."""

    values: tuple[tuple[str, Number], ...]
    weight: float = 1.0

    def as_dict(self) -> dict[str, Number]:
        return dict(self.values)

    def __str__(self) -> str:
        return "x".join(str(v) for _, v in self.values)


@dataclass(frozen=True)
class Tolerance:
    """``|got - want| <= atol_scale * scale + rtol * |want|`` where ``scale`` is the reference output's root mean
    square; zero for both asks for equal values (NaN equals NaN, +0 equals -0)."""

    rtol: float = 1e-4
    atol_scale: float = 1e-5


@dataclass(frozen=True)
class Workload:
    """Arguments in parameter order, the sizes that are optimised for and those that are only checked."""

    arguments: tuple[Argument, ...]
    tune: tuple[Size, ...]
    check: tuple[Size, ...] = ()
    assume: tuple[str, ...] = ()
    exactness: Exactness = Exactness.REASSOCIATES
    tolerance: Tolerance = Tolerance()
    reference: str | None = None
    folder: str = "."  # where file.npy and module.py are looked up

    def argument(self, name: str) -> Argument:
        for a in self.arguments:
            if a.name == name:
                return a
        raise KeyError(name)

    def scalars(self, size: Size) -> dict[str, Number]:
        """All scalar values at ``size``: the size's own and the scalar arguments computed from them."""
        values = size.as_dict()
        for a in self.arguments:
            if a.value is not None:
                values[a.name] = evaluate(a.value, values)
        return values

    def elements(self, name: str, size: Size) -> int:
        """Number of elements of an array argument at ``size``."""
        arg = self.argument(name)
        assert arg.shape is not None
        return int(evaluate(arg.shape, self.scalars(size)))


def block_values(block: tuple[int, int, int]) -> Mapping[str, int]:
    """The names under which grid expressions may use the block's shape."""
    return {"block_x": block[0], "block_y": block[1], "block_z": block[2]}
