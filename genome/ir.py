"""Kernel IR: a CUDA kernel as typed, frozen syntax.

Everything is immutable and comparable; ``loc`` never takes part in comparison, so two kernels are equal when they
mean the same text. What the front-end does not understand is an :class:`Opaque` statement or :class:`OpaqueExpr`
with its text and conservative read and write sets.

Conventions that every producer keeps and every consumer may rely on:

* local names are unique within a kernel (alpha-renamed on loading), and differ from parameter names;
* a loop's ``label`` is unique and stable; on loading it is the loop variable's (unique) name;
* the launch geometry appears only as :class:`Builtin` (``threadIdx.x`` ...) or :class:`Coord`;
* parentheses are not stored: the printers add what precedence asks for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Union

from genome.errors import Loc

NOWHERE = Loc()


def _loc() -> Loc:
    return field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class CType:
    """A C type without array dimensions. ``base`` is normalised (``unsigned int``, ``long long``, ``float4``);
    ``const`` and ``volatile`` qualify the value, or what is pointed to when ``pointer > 0``."""

    base: str
    pointer: int = 0
    const: bool = False
    volatile: bool = False
    restrict: bool = False


INT = CType("int")
UINT = CType("unsigned int")
FLOAT = CType("float")
BOOL = CType("bool")


# ---------------------------------------------------------------------------------------------- expressions
@dataclass(frozen=True)
class IntLit:
    value: int
    suffix: str = ""  # "u", "ll", "ull", as written
    loc: Loc = _loc()


@dataclass(frozen=True)
class FloatLit:
    text: str  # as written: "0.0f", "1e-5"
    loc: Loc = _loc()


@dataclass(frozen=True)
class Literal:
    """Any other literal: ``true``, ``'c'``, ``"text"``, ``nullptr``."""

    text: str
    loc: Loc = _loc()


@dataclass(frozen=True)
class Var:
    name: str
    loc: Loc = _loc()


@dataclass(frozen=True)
class Builtin:
    """``threadIdx.x``, ``blockIdx.y``, ``blockDim.z``, ``gridDim.x``, ``warpSize``."""

    name: str
    loc: Loc = _loc()


@dataclass(frozen=True)
class Coord:
    """The logical coordinate ``blockIdx.a * blockDim.a + threadIdx.a`` (``unsigned int``) along ``axis``, one of
    ``x``, ``y``, ``z``. The front-end recognises it in all its spellings."""

    axis: str
    loc: Loc = _loc()


@dataclass(frozen=True)
class Index:
    """``base[sub0][sub1]``; a pointer has one subscript, a declared array as many as are written."""

    base: Expr
    subs: tuple[Expr, ...]
    loc: Loc = _loc()


@dataclass(frozen=True)
class Bin:
    op: str  # + - * / % << >> & | ^ && || == != < > <= >= and the comma operator ","
    left: Expr
    right: Expr
    loc: Loc = _loc()


@dataclass(frozen=True)
class Un:
    op: str  # - + ! ~ * &
    operand: Expr
    loc: Loc = _loc()


@dataclass(frozen=True)
class IncDec:
    op: str  # ++ --
    target: Expr
    prefix: bool
    loc: Loc = _loc()


@dataclass(frozen=True)
class AssignExpr:
    """An assignment used as a value."""

    target: Expr
    op: str
    value: Expr
    loc: Loc = _loc()


GROUP_METHOD = "cg."


@dataclass(frozen=True)
class Call:
    """A method is a call with the object as first argument: ``.f`` and ``->f``, and ``cg.f`` (:data:`GROUP_METHOD`)
    where the object is a handle of cooperative groups."""

    func: str  # as written, template arguments included: "fmaxf", "min<int>", "std::min"
    args: tuple[Expr, ...]
    loc: Loc = _loc()


@dataclass(frozen=True)
class Cast:
    type: CType
    operand: Expr
    style: str = "c"  # "c": (T)x, "function": T(x), or "static_cast" / "reinterpret_cast" / "const_cast"
    loc: Loc = _loc()


@dataclass(frozen=True)
class Ternary:
    cond: Expr
    then: Expr
    other: Expr
    loc: Loc = _loc()


@dataclass(frozen=True)
class Member:
    operand: Expr
    name: str
    arrow: bool = False
    loc: Loc = _loc()


@dataclass(frozen=True)
class InitList:
    items: tuple[Expr, ...]
    loc: Loc = _loc()


@dataclass(frozen=True)
class OpaqueExpr:
    text: str
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    reason: str = ""
    loc: Loc = _loc()


Expr = Union[
    IntLit, FloatLit, Literal, Var, Builtin, Coord, Index, Bin, Un, IncDec, AssignExpr, Call, Cast, Ternary, Member,
    InitList, OpaqueExpr,
]


# ----------------------------------------------------------------------------------------------- statements
@dataclass(frozen=True)
class Decl:
    """One declarator. ``dims`` are array extents (``None`` for ``[]``); ``space`` is "" (automatic), "shared",
    "extern shared", "static" or "constant"; ``align`` in bytes, 0 for the type's own."""

    type: CType
    name: str
    dims: tuple[Expr | None, ...] = ()
    init: Expr | None = None
    space: str = ""
    align: int = 0
    comment: str = field(default="", compare=False)
    loc: Loc = _loc()


@dataclass(frozen=True)
class Assign:
    target: Expr
    op: str  # = += -= *= /= %= <<= >>= &= |= ^=
    value: Expr
    loc: Loc = _loc()


@dataclass(frozen=True)
class For:
    """Canonical loop ``for (type var = lo; var cmp hi; var += step)``: the body does not write ``var`` or anything
    that ``hi`` and ``step`` read, and does not leave the loop except by ``continue``. ``cmp`` is one of < <= > >=.
    ``step`` is the signed increment. ``type is None`` when the variable is declared outside (then it is live after)."""

    label: str
    var: str
    type: CType | None
    lo: Expr
    cmp: str
    hi: Expr
    step: Expr
    body: tuple[Stmt, ...]
    unroll: int | None = None  # None: no pragma; 0: "#pragma unroll"; n: "#pragma unroll n"
    comment: str = field(default="", compare=False)
    loc: Loc = _loc()


@dataclass(frozen=True)
class Loop:
    """Any other loop. ``kind`` is "for", "while" or "do"; ``init`` holds declarations or expressions."""

    kind: str
    label: str
    init: tuple[Stmt, ...]
    cond: Expr | None
    update: Expr | None
    body: tuple[Stmt, ...]
    unroll: int | None = None
    loc: Loc = _loc()


@dataclass(frozen=True)
class If:
    cond: Expr
    then: tuple[Stmt, ...]
    other: tuple[Stmt, ...] = ()
    loc: Loc = _loc()


@dataclass(frozen=True)
class Block:
    body: tuple[Stmt, ...]
    loc: Loc = _loc()


@dataclass(frozen=True)
class Barrier:
    """``__syncthreads()``."""

    loc: Loc = _loc()


@dataclass(frozen=True)
class Eval:
    """An expression statement: a call, ``i++``."""

    expr: Expr
    loc: Loc = _loc()


@dataclass(frozen=True)
class Return:
    """``value`` only inside ``__device__`` functions; a kernel returns nothing."""

    loc: Loc = _loc()
    value: Expr | None = None


@dataclass(frozen=True)
class Break:
    loc: Loc = _loc()


@dataclass(frozen=True)
class Continue:
    loc: Loc = _loc()


@dataclass(frozen=True)
class Comment:
    """A comment line in emitted code; the front-end drops the user's."""

    text: str
    loc: Loc = _loc()


@dataclass(frozen=True)
class AsyncCopy:
    """Copies ``bytes`` (4, 8 or 16) from global memory at ``source`` to shared memory at ``target`` without waiting
    (``cp.async``, sm_80 and later); zeros where ``cond`` is false, and then nothing is read."""

    target: Expr
    source: Index
    bytes: int
    cond: Expr | None = None
    loc: Loc = _loc()


@dataclass(frozen=True)
class AsyncCommit:
    """Closes the group of the copies issued since the last one."""

    loc: Loc = _loc()


@dataclass(frozen=True)
class AsyncWait:
    """Waits until at most ``pending`` of the thread's own groups are under way."""

    pending: int
    loc: Loc = _loc()


COMPILE_TIME = frozenset({"static_assert_declaration", "alias_declaration", "type_definition", "using_declaration",
                          "namespace_alias_definition"})  # nothing of it happens when the kernel runs


@dataclass(frozen=True)
class Opaque:
    """A statement that is kept as text, one without effect too (``reason`` in :data:`COMPILE_TIME`, or "pragma").
    ``barrier`` when it may synchronise or exchange data between threads."""

    text: str
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    reason: str = ""
    barrier: bool = False
    loc: Loc = _loc()


Stmt = Union[
    Decl, Assign, For, Loop, If, Block, Barrier, Eval, Return, Break, Continue, Comment, Opaque, AsyncCopy,
    AsyncCommit, AsyncWait,
]


# --------------------------------------------------------------------------------------------------- kernel
@dataclass(frozen=True)
class Param:
    type: CType
    name: str
    loc: Loc = _loc()


@dataclass(frozen=True)
class Kernel:
    """A ``__global__`` function. ``launch_bounds`` is (max threads, min blocks or 0) or None."""

    name: str
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    launch_bounds: tuple[int, int] | None = None
    extern_c: bool = True
    loc: Loc = _loc()

    def param(self, name: str) -> Param:
        for p in self.params:
            if p.name == name:
                return p
        raise KeyError(name)

    def with_body(self, body: tuple[Stmt, ...]) -> Kernel:
        return replace(self, body=body)
