"""What a transform is: sites, a legality check and an edit of the schedule, with its options as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from genome.errors import Loc
from genome.gene import ParamValue
from genome.workload import Exactness

if TYPE_CHECKING:
    from genome.scheduled import Scheduled


class Direction(Enum):
    """What a transform is meant to improve; the policy's architect chooses among these."""

    MEMORY_TRAFFIC = "memory traffic"
    COMPUTE = "compute throughput"
    OCCUPANCY = "occupancy"
    LATENCY = "latency hiding"
    CLEAN_UP = "clean-up"


@dataclass(frozen=True)
class Parameter:
    """One typed option. ``values`` is its domain in order (what search draws from); ``help`` one line."""

    name: str
    kind: str  # "int", "choice", "flag"
    values: tuple[ParamValue, ...]
    help: str


@dataclass(frozen=True)
class Site:
    """A place where a mutator could apply, named by role (axis, array, loop label)."""

    name: str
    loc: Loc = Loc()


@runtime_checkable
class Mutator(Protocol):
    """One semantics-preserving transform.

    ``check`` raises exactly one named :class:`genome.errors.Refusal` per cause, or returns the preconditions that the
    edit adds; ``apply`` cannot fail after a successful ``check``.
    """

    name: str
    direction: Direction
    exactness: Exactness
    summary: str  # one line: before → after
    parameters: tuple[Parameter, ...]

    def sites(self, state: Scheduled) -> Sequence[Site]: ...

    def domain(self, state: Scheduled, site: str) -> Mapping[str, Sequence[ParamValue]]:
        """The values worth drawing for each parameter at this site (a subset of the declared domains)."""
        ...

    def check(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> tuple[str, ...]: ...

    def apply(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> Scheduled: ...
