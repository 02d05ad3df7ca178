"""Kernel IR run by NumPy, all threads in lock step: an oracle for lowering that needs no compiler and no device.

It sees what a CPU's OpenCL does not: reads and writes out of bounds, reads of what was never written, data races
between barriers (and between points, in global memory), barriers that only part of a block reaches, integer division
by zero. Arithmetic is C's on LP64 without contraction, so results are equal bit for bit to an honest compiler's
wherever functions of the mathematical library are not called.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genome import ir
from genome.initialiser import elements
from genome.walk import root, walk

Value = Any  # an array over lanes, or a NumPy scalar that is the same for all of them
Bits = NDArray[np.bool_]

DTYPES = {
    "int": np.int32, "unsigned int": np.uint32, "long": np.int64, "unsigned long": np.uint64, "long long": np.int64,
    "unsigned long long": np.uint64, "size_t": np.uint64, "ptrdiff_t": np.int64, "int32_t": np.int32,
    "uint32_t": np.uint32, "int64_t": np.int64, "uint64_t": np.uint64, "short": np.int16, "unsigned short": np.uint16,
    "char": np.int8, "signed char": np.int8, "unsigned char": np.uint8, "int8_t": np.int8, "uint8_t": np.uint8,
    "int16_t": np.int16, "uint16_t": np.uint16, "bool": np.bool_, "float": np.float32, "double": np.float64,
}
VECTOR = re.compile(r"(float|int|uint|double)([24])$")
RANK = [np.dtype(t) for t in (np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64)]
POISON = {"f": np.nan, "i": 0x7B7B7B7B, "u": 0x7B7B7B7B, "b": True}


COMPARE: dict[str, Any] = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater,
                           ">=": np.greater_equal}


class Fault(Exception):
    """The kernel did what no kernel may do; ``kind`` is one word of: bounds, uninitialised, race, barrier, division,
    endless."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class Unsupported(Exception):
    """The kernel uses what is not interpreted here: vector types, pointers, atomics, opaque text."""


@dataclass
class Memory:
    """An array in device memory. ``written``/``reader`` hold the last lane that did so, -1 for none, -2 for several."""

    data: NDArray[Any]
    defined: Bits
    written: NDArray[np.int64]
    reader: NDArray[np.int64]
    changes: bool = True  # the kernel stores to it, or it begins undefined


@dataclass
class Shared:
    """A shared array of all blocks, ``[block][element]``, with the barrier interval of the last write and read."""

    dims: tuple[int, ...]
    data: NDArray[Any]
    defined: Bits
    write_epoch: NDArray[np.int64]
    writer: NDArray[np.int64]
    read_epoch: NDArray[np.int64]
    reader: NDArray[np.int64]


@dataclass
class Private:
    """An array of each thread: ``[sub]...[lane]``."""

    data: NDArray[Any]
    defined: Bits


@dataclass
class Vector:
    """A value of type float4 and the like."""

    parts: list[Value]


@dataclass
class _Flow:
    broke: Bits
    skipped: Bits


@dataclass
class Machine:
    """``arrays``: flat NumPy arrays by parameter name, changed in place. ``undefined``: names of arrays that hold
    nothing yet. ``independent``: no two threads may touch an element that one of them writes."""

    kernel: ir.Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arrays: Mapping[str, NDArray[Any]]
    scalars: Mapping[str, np.generic]
    undefined: frozenset[str] = frozenset()
    independent: bool = True
    functions: Mapping[str, tuple[tuple[ir.Param, ...], tuple[ir.Stmt, ...]]] = field(default_factory=dict)
    constants: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    known: Mapping[str, Bits] = field(default_factory=dict)  # which elements of an array hold something, if not all
    steps: int = 400_000  # statements executed before the kernel counts as endless

    def run(self) -> None:
        """Raises :class:`Fault` or :class:`Unsupported`."""
        gx, gy, gz = self.grid
        bx, by, bz = self.block
        self.blocks, self.threads = gx * gy * gz, bx * by * bz
        self.lanes = np.arange(self.blocks * self.threads, dtype=np.int64)
        block, thread = self.lanes // self.threads, self.lanes % self.threads
        self.block_of = block
        u = np.uint32
        self.builtins: dict[str, Value] = {
            "threadIdx.x": (thread % bx).astype(u), "threadIdx.y": (thread // bx % by).astype(u),
            "threadIdx.z": (thread // (bx * by)).astype(u), "blockIdx.x": (block % gx).astype(u),
            "blockIdx.y": (block // gx % gy).astype(u), "blockIdx.z": (block // (gx * gy)).astype(u),
            "warpSize": np.int32(32)}
        for name, values in (("blockDim", self.block), ("gridDim", self.grid)):
            for axis, v in zip("xyz", values, strict=True):
                self.builtins[f"{name}.{axis}"] = u(v)
        self.epoch = np.zeros(self.blocks, np.int64)
        self.copies: list[list[tuple[Shared, Any, Any, Any]]] = [[]]  # asynchronous copies, a list per open group
        self.env: dict[str, Any] = {}
        self.types: dict[str, np.dtype[Any]] = {}
        self.defined: dict[str, Bits] = {}
        self.returned = np.zeros(self.lanes.size, bool)
        self.result: Value = None
        writes = (ir.Assign, ir.AssignExpr, ir.IncDec)
        stored = {root(n.target) for n in walk(self.kernel.body) if isinstance(n, writes)}
        for p in self.kernel.params:
            if p.type.pointer:
                a = self.arrays[p.name]
                n = max(a.size, 1)
                defined = self.known.get(p.name, np.full(n, p.name not in self.undefined))
                self.env[p.name] = Memory(a, defined, np.full(n, -1, np.int64), np.full(n, -1, np.int64),
                                          p.name in stored or not bool(defined.all()))
            else:
                self.env[p.name] = self.scalars[p.name]
                self.types[p.name] = self._dtype(p.type)
        for name, values in self.constants.items():
            self.env[name] = Memory(values, np.full(values.size, True), np.full(values.size, -1, np.int64),
                                    np.full(values.size, -1, np.int64))
        with np.errstate(all="ignore"):
            self._body(self.kernel.body, np.ones(self.lanes.size, bool), None)

    # ----------------------------------------------------------------------------------------- statements
    def _dtype(self, t: ir.CType) -> np.dtype[Any]:
        if t.pointer or t.base not in DTYPES:
            raise Unsupported(f"type {t.base}{'*' * t.pointer}")
        return np.dtype(DTYPES[t.base])

    def _body(self, stmts: tuple[ir.Stmt, ...], m: Bits, flow: _Flow | None) -> Bits:
        """Runs the statements for the lanes of ``m``; returns the lanes that reach the end."""
        for s in stmts:
            if not m.any():
                return m
            m = self._stmt(s, m, flow)
        return m

    def _stmt(self, s: ir.Stmt, m: Bits, flow: _Flow | None) -> Bits:
        self.steps -= 1
        if self.steps < 0:
            raise Fault("endless", "too many statements executed")
        match s:
            case ir.Decl():
                self._declare(s, m)
            case ir.Assign(target=t, op=op, value=v):
                self._assign(t, op, self._eval(v, m), m)
            case ir.If(cond=c, then=then, other=other):
                yes, no = self._split(self._eval(c, m), m)
                a = self._body(then, yes, flow) if yes.any() else yes
                b = self._body(other, no, flow) if no.any() else no
                return a | b
            case ir.For():
                self._for(s, m)
                return m & ~self.returned
            case ir.Loop():
                self._loop(s, m)
                return m & ~self.returned
            case ir.Block(body=body):
                return self._body(body, m, flow)
            case ir.Barrier():
                self._barrier(m)
            case ir.Eval(expr=e):
                self._eval(e, m)
            case ir.Comment():
                pass
            case ir.AsyncCopy():
                self._copy(s, m)
            case ir.AsyncCommit():
                self.copies.append([])
            case ir.AsyncWait(pending=p):
                while len(self.copies) > p + 1:
                    for array, lanes, where, new in self.copies.pop(0):
                        self._store_shared(array, "a copy's target", lanes, where, new, s.loc.line)
            case ir.Return(value=v):
                if v is not None:
                    self.result = self._merge(self._eval(v, m), self.result, m)
                self.returned = self.returned | m
                return np.zeros_like(m)
            case ir.Break():
                assert flow is not None
                flow.broke = flow.broke | m
                return np.zeros_like(m)
            case ir.Continue():
                assert flow is not None
                flow.skipped = flow.skipped | m
                return np.zeros_like(m)
            case _:
                raise Unsupported(type(s).__name__)
        return m

    def _declare(self, s: ir.Decl, m: Bits) -> None:
        vector = VECTOR.match(s.type.base)
        if vector and not s.dims and not s.space and not s.type.pointer:
            assert s.init is not None
            self.env[s.name] = self._eval(s.init, m)
            return
        dtype = self._dtype(s.type)
        if s.space in ("shared", "extern shared"):
            dims = tuple(self._constant(d) for d in s.dims) or (1,)
            shape = (self.blocks, int(np.prod(dims)))
            none = np.full(shape, -1, np.int64)
            self.env[s.name] = Shared(dims, np.full(shape, POISON[dtype.kind]).astype(dtype), np.zeros(shape, bool),
                                      none, none.copy(), none.copy(), none.copy())
            return
        if s.space:
            raise Unsupported(f"{s.space} variable")
        if s.dims:
            dims = tuple(self._constant(d) for d in s.dims)
            data = np.full((*dims, self.lanes.size), POISON[dtype.kind]).astype(dtype)
            array = Private(data, np.zeros(data.shape, bool))
            self.env[s.name] = array
            if s.init == ir.InitList((ir.IntLit(0),)):
                data[...], array.defined[...] = 0, True
            elif s.init is not None:
                values = elements(s)
                if values is None:
                    raise Unsupported("initialiser of an array")
                for at, value in values:
                    array.data[at], array.defined[at] = self._cast(self._eval(value, m), dtype), True
            return
        self.types[s.name] = dtype
        if s.init is None:
            self.env[s.name] = np.full(self.lanes.size, POISON[dtype.kind]).astype(dtype)
            self.defined[s.name] = np.zeros(self.lanes.size, bool)
        else:
            self.env[s.name] = self._cast(self._eval(s.init, m), dtype)
            self.defined.pop(s.name, None)

    def _constant(self, e: ir.Expr | None) -> int:
        if e is None:
            raise Unsupported("array without an extent")
        v = self._eval(e, np.ones(self.lanes.size, bool))
        if np.ndim(v):
            raise Unsupported("array extent that varies")
        return int(v)

    def _for(self, s: ir.For, m: Bits) -> None:
        if s.type is not None:
            self.types[s.var] = self._dtype(s.type)
        dtype = self.types[s.var]
        value = self._cast(self._eval(s.lo, m), dtype)
        flow = _Flow(np.zeros_like(m), np.zeros_like(m))
        active = m
        while True:
            self._set(s.var, value, active, m)
            going, _ = self._split(self._compare(s.cmp, self.env[s.var], self._eval(s.hi, active)), active)
            if not going.any():
                return
            flow.skipped = np.zeros_like(m)
            self._body(s.body, going, flow)
            active = going & ~flow.broke & ~self.returned
            if not active.any():
                return
            self.steps -= 1
            if self.steps < 0:
                raise Fault("endless", f"loop {s.label}")
            value = self._cast(self._arith("+", self.env[s.var], self._eval(s.step, active)), dtype)

    def _loop(self, s: ir.Loop, m: Bits) -> None:
        active = self._body(s.init, m, None)
        flow = _Flow(np.zeros_like(m), np.zeros_like(m))
        first = s.kind == "do"
        while active.any():
            self.steps -= 1
            if self.steps < 0:
                raise Fault("endless", f"loop {s.label}")
            if s.cond is not None and not first:
                active, _ = self._split(self._eval(s.cond, active), active)
                if not active.any():
                    return
            first = False
            flow.skipped = np.zeros_like(m)
            self._body(s.body, active, flow)
            active = active & ~flow.broke & ~self.returned
            if s.update is not None and active.any():
                self._eval(s.update, active)

    def _barrier(self, m: Bits) -> None:
        there = m.reshape(self.blocks, self.threads).sum(axis=1)
        alive = (~self.returned).reshape(self.blocks, self.threads).sum(axis=1)
        if np.any((there != 0) & (there != alive)):
            raise Fault("barrier", "only part of a block reaches a barrier")
        self.epoch[there > 0] += 1

    def _set(self, name: str, value: Value, m: Bits, scope: Bits) -> None:
        """A variable's new value for the lanes of ``m``; the others keep theirs."""
        if m is scope or m.all():
            self.env[name] = value
        else:
            self.env[name] = np.where(m, value, self.env[name])
        if name in self.defined:
            self.defined[name] = self.defined[name] | m

    def _assign(self, t: ir.Expr, op: str, value: Value, m: Bits) -> Value:
        if op != "=":
            value = self._arith(op[:-1], self._eval(t, m), value)
        match t:
            case ir.Var(name=n) if isinstance(self.env.get(n), Vector):
                old = self.env[n]
                self.env[n] = Vector([np.where(m, a, b) for a, b in zip(value.parts, old.parts, strict=True)])
                return value
            case ir.Un(op="*", operand=ir.Cast(type=to, operand=ir.Un(op="&", operand=ir.Index() as e))):
                for i, part in enumerate(value.parts):
                    self._store(self._lane(e, i, self._width(to, e, m)), part, m)
                return value
            case ir.Var(name=n) if n in self.types:
                value = self._cast(value, self.types[n])
                self._set(n, value, m, m if m.all() else np.ones_like(m))
                return value
            case ir.Index():
                return self._store(t, value, m)
        raise Unsupported(f"assignment to {type(t).__name__}")

    # ------------------------------------------------------------------------------------------- memory
    def _width(self, to: ir.CType, e: ir.Index, m: Bits) -> int:
        """The number of elements behind a pointer to a vector; a misaligned address is a fault."""
        found = VECTOR.match(to.base)
        if not found or to.pointer != 1:
            raise Unsupported(f"pointer to {to.base}")
        n = int(found[2])
        array, at = self._place(e, m)
        flat = at + self.block_of * array.data.shape[1] if isinstance(array, Shared) else at
        if isinstance(array, Private) or np.any((flat % n != 0) & m):
            raise Fault("bounds", f"misaligned vector of {n} elements")
        return n

    @staticmethod
    def _lane(e: ir.Index, i: int, n: int) -> ir.Index:
        if i >= n:
            raise Unsupported("vectors of different widths")
        return ir.Index(e.base, (*e.subs[:-1], ir.Bin("+", e.subs[-1], ir.IntLit(i))), e.loc)

    def _copy(self, s: ir.AsyncCopy, m: Bits) -> None:
        """Reads now; the elements are undefined until the group has been waited for."""
        source = s.source
        memory, _ = self._place(ir.Index(source.base, (ir.IntLit(0),)), m & False)
        width = s.bytes // memory.data.dtype.itemsize
        yes = m if s.cond is None else self._split(self._eval(s.cond, m), m)[0]
        if width > 1:
            n = {2: "float2", 4: "float4"}[width]
            if yes.any():
                self._width(ir.CType(n, pointer=1), source, yes)
            assert isinstance(s.target, ir.Index)
            self._width(ir.CType(n, pointer=1), s.target, m)
        for i in range(width):
            value = np.zeros(m.shape, memory.data.dtype)
            if yes.any():
                value = np.where(yes, self._load(self._lane(source, i, width), yes), value)
            assert isinstance(s.target, ir.Index)
            array, at = self._place(self._lane(s.target, i, width), m)
            if not isinstance(array, Shared):
                raise Unsupported("asynchronous copy to something other than shared memory")
            self._store_shared(array, "a copy's target", m, at, value, s.loc.line)
            array.defined[self.block_of[m], at[m]] = False
            self.copies[-1].append((array, m, at, value))

    def _place(self, e: ir.Index, m: Bits) -> tuple[Any, Any]:
        if not isinstance(e.base, ir.Var) or not isinstance(self.env.get(e.base.name), (Memory, Shared, Private)):
            raise Unsupported("subscript of something other than an array")
        array = self.env[e.base.name]
        subs = [self._eval(x, m) for x in e.subs]
        subs = [x.astype(np.int64) if np.ndim(x) else np.int64(x) for x in subs]
        limits = ((array.data.size,) if isinstance(array, Memory) else array.dims if isinstance(array, Shared)
                  else array.data.shape[:-1])
        if len(subs) != len(limits):
            raise Unsupported("partial subscript")
        for x, n in zip(subs, limits, strict=True):
            if (x.min() >= 0 and x.max() < n) if np.ndim(x) else 0 <= x < n:
                continue
            bad = ((x < 0) | (x >= n)) & m
            if np.any(bad):
                at = int(np.argmax(bad))
                raise Fault("bounds", f"{e.base.name}[{int(np.broadcast_to(x, m.shape)[at])}] of {n} "
                            f"(line {e.loc.line})")
        if isinstance(array, Shared):
            flat: Any = np.int64(0)
            for x, n in zip(subs, array.dims, strict=True):
                flat = flat * n + x
            return array, np.broadcast_to(flat, m.shape)
        if isinstance(array, Memory):
            return array, np.broadcast_to(subs[0], m.shape)
        return array, tuple(subs)

    def _load(self, e: ir.Index, m: Bits) -> Value:
        array, at = self._place(e, m)
        name = e.base.name  # type: ignore[union-attr]
        if isinstance(array, Private):
            if not any(np.ndim(x) for x in at):
                value, defined = array.data[at].copy(), array.defined[at]
            else:
                safe = tuple(np.where(m, x, 0) for x in at)
                value, defined = array.data[(*safe, self.lanes)], array.defined[(*safe, self.lanes)]
            if np.any(m & ~defined):
                raise Fault("uninitialised", f"{name} (line {e.loc.line})")
            return value
        if not m.any():
            return array.data.dtype.type(0)
        where, lanes = at[m], self.lanes[m]
        out = np.zeros(m.shape, array.data.dtype)
        if isinstance(array, Memory):
            if not array.changes:
                out[m] = array.data[where]
                return out
            if not array.defined[where].all():
                raise Fault("uninitialised", f"{name} (line {e.loc.line})")
            if self.independent:
                other = array.written[where]
                if np.any((other != -1) & (other != lanes)):
                    raise Fault("race", f"{name} is read by a thread and written by another (line {e.loc.line})")
                self._note_reader(array.reader, where, lanes)
            out[m] = array.data[where]
            return out
        block = self.block_of[m]
        now = self.epoch[block]
        if not array.defined[block, where].all():
            raise Fault("uninitialised", f"shared {name} (line {e.loc.line})")
        if np.any((array.write_epoch[block, where] == now) & (array.writer[block, where] != lanes)):
            raise Fault("race", f"shared {name} is read without a barrier after the write (line {e.loc.line})")
        old = array.read_epoch[block, where] == now
        array.reader[block[~old], where[~old]] = -1
        array.read_epoch[block, where] = now
        flat = block * array.data.shape[1] + where
        self._note_reader(array.reader.reshape(-1), flat, lanes)
        out[m] = array.data[block, where]
        return out

    @staticmethod
    def _note_reader(reader: NDArray[np.int64], where: NDArray[np.int64], lanes: NDArray[np.int64]) -> None:
        before = reader[where]
        reader[where] = lanes
        several = (before != -1) & (before != lanes) | (reader[where] != lanes)
        reader[where[several]] = -2

    def _store(self, e: ir.Index, value: Value, m: Bits) -> Value:
        array, at = self._place(e, m)
        name = e.base.name  # type: ignore[union-attr]
        value = self._cast(value, array.data.dtype)
        if isinstance(array, Private):
            if not any(np.ndim(x) for x in at):
                array.data[at] = np.where(m, value, array.data[at])
                array.defined[at] |= m
            else:
                where = tuple(np.broadcast_to(x, m.shape)[m] for x in at)
                array.data[(*where, self.lanes[m])] = np.broadcast_to(value, m.shape)[m]
                array.defined[(*where, self.lanes[m])] = True
            return value
        places, lanes = at[m], self.lanes[m]
        new = np.broadcast_to(value, m.shape)[m]
        if isinstance(array, Memory):
            if self.independent:
                for seen, what in ((array.written[places], "written"), (array.reader[places], "read")):
                    if np.any((seen != -1) & (seen != lanes)):
                        raise Fault("race", f"{name} is written by a thread and {what} by another (line {e.loc.line})")
                array.written[places] = lanes
                if np.any(array.written[places] != lanes):
                    raise Fault("race", f"{name} is written by two threads (line {e.loc.line})")
            array.data[places], array.defined[places] = new, True
            return value
        self._store_shared(array, f"shared {name}", m, at, value, e.loc.line)
        return value

    def _store_shared(self, array: Shared, name: str, m: Bits, at: Any, value: Value, line: int) -> None:
        block, places, lanes = self.block_of[m], at[m], self.lanes[m]
        now = self.epoch[block]
        if np.any((array.write_epoch[block, places] == now) & (array.writer[block, places] != lanes)):
            raise Fault("race", f"{name} is written twice without a barrier (line {line})")
        if np.any((array.read_epoch[block, places] == now) & (array.reader[block, places] != lanes)):
            raise Fault("race", f"{name} is written without a barrier after the read (line {line})")
        array.write_epoch[block, places] = now
        array.writer[block, places] = lanes
        if np.any(array.writer[block, places] != lanes):
            raise Fault("race", f"{name} is written by two threads at once (line {line})")
        array.data[block, places] = np.broadcast_to(value, m.shape)[m]
        array.defined[block, places] = True

    # -------------------------------------------------------------------------------------- expressions
    @staticmethod
    def _cast(value: Value, dtype: np.dtype[Any]) -> Value:
        if value.dtype == dtype:
            return value
        if dtype.kind == "b":
            return value != 0
        return value.astype(dtype)

    @staticmethod
    def _split(cond: Value, m: Bits) -> tuple[Bits, Bits]:
        truth = cond if cond.dtype.kind == "b" else cond != 0
        if not np.ndim(truth):
            return (m, np.zeros_like(m)) if truth else (np.zeros_like(m), m)
        return m & truth, m & ~truth

    @staticmethod
    def _merge(new: Value, old: Value, m: Bits) -> Value:
        return new if old is None else np.where(m, new, old)

    @staticmethod
    def _common(a: Value, b: Value) -> np.dtype[Any]:
        if a.dtype == b.dtype and a.dtype in RANK:
            return a.dtype  # type: ignore[no-any-return]
        kinds = []
        for v in (a, b):
            d = v.dtype
            kinds.append(d if d in RANK else np.dtype(np.int32))
        return max(kinds, key=RANK.index)

    def _compare(self, op: str, a: Value, b: Value) -> Value:
        t = self._common(a, b)
        return COMPARE[op](self._cast(a, t), self._cast(b, t))

    def _arith(self, op: str, a: Value, b: Value, m: Bits | None = None) -> Value:
        if op in ("<<", ">>"):
            t = a.dtype if a.dtype in RANK else np.dtype(np.int32)
            return (np.left_shift if op == "<<" else np.right_shift)(a.astype(t), b.astype(t))
        t = self._common(a, b)
        x, y = self._cast(a, t), self._cast(b, t)
        match op:
            case "+":
                return np.add(x, y)
            case "-":
                return np.subtract(x, y)
            case "*":
                return np.multiply(x, y)
            case "&" | "|" | "^":
                return {"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}[op](x, y)
            case "/" | "%" if t.kind == "f":
                return np.divide(x, y)
            case "/" | "%":
                zero = y == 0
                if np.any(zero if m is None else zero & m):
                    raise Fault("division", "integer division by zero")
                safe = np.where(zero, t.type(1), y)
                quotient = np.abs(x) // np.abs(safe) * np.sign(x) * np.sign(safe) if t.kind == "i" else x // safe
                quotient = np.asarray(quotient).astype(t)[()]
                return quotient if op == "/" else np.subtract(x, np.multiply(quotient, safe)).astype(t)
        raise Unsupported(f"operator {op}")

    def _eval(self, e: ir.Expr, m: Bits) -> Value:
        match e:
            case ir.IntLit(value=v, suffix=s):
                unsigned, wide = "u" in s.lower(), "l" in s.lower()
                if wide or v >= (2**32 if unsigned else 2**31):
                    return np.uint64(v) if unsigned else np.int64(v)
                return np.uint32(v) if unsigned else np.int32(v)
            case ir.FloatLit(text=t):
                return np.float32(t.rstrip("fF")) if t[-1] in "fF" else np.float64(t)
            case ir.Literal(text=t) if t in ("true", "false"):
                return np.bool_(t == "true")
            case ir.Var(name=n):
                if isinstance(self.env.get(n), Vector):
                    return self.env[n]
                if n not in self.types:
                    raise Unsupported(f"value of {n}")
                if n in self.defined and np.any(m & ~self.defined[n]):
                    raise Fault("uninitialised", f"{n} (line {e.loc.line})")
                return self.env[n]
            case ir.Builtin(name=n):
                return self.builtins[n]
            case ir.Coord(axis=a):
                b = self.builtins
                return b[f"blockIdx.{a}"] * b[f"blockDim.{a}"] + b[f"threadIdx.{a}"]
            case ir.Index():
                return self._load(e, m)
            case ir.Bin(op="&&" | "||" as op, left=left, right=right):
                first = self._eval(left, m)
                yes, no = self._split(first, m)
                inner = yes if op == "&&" else no
                second = self._split(self._eval(right, inner), inner)[0] if inner.any() else np.zeros_like(m)
                return second if op == "&&" else yes | second
            case ir.Bin(op=op, left=left, right=right):
                a, b = self._eval(left, m), self._eval(right, m)
                if op == ",":
                    return b
                return self._compare(op, a, b) if op in ("==", "!=", "<", "<=", ">", ">=") else self._arith(op, a, b, m)
            case ir.Un(op=op, operand=o) if op in "-+!~":
                v = self._eval(o, m)
                if op == "!":
                    return v == 0
                v = v if v.dtype in RANK else v.astype(np.int32)
                return np.negative(v) if op == "-" else np.invert(v) if op == "~" else v
            case ir.Un(op="*", operand=ir.Cast(type=to, operand=ir.Un(op="&", operand=ir.Index() as e2))):
                n2 = self._width(to, e2, m)
                return Vector([self._load(self._lane(e2, i, n2), m) for i in range(n2)])
            case ir.Member(operand=o, name=part) if part in ("x", "y", "z", "w"):
                v = self._eval(o, m)
                if not isinstance(v, Vector):
                    raise Unsupported("member")
                return v.parts["xyzw".index(part)]
            case ir.Cast(type=t, operand=ir.Var(name=n3)) if isinstance(self.env.get(n3), Memory) and not t.pointer:
                return self._cast(np.uint64(4096), self._dtype(t))
            case ir.Cast(type=t, operand=o):
                return self._cast(self._eval(o, m), self._dtype(t))
            case ir.Ternary(cond=c, then=then, other=other):
                yes, no = self._split(self._eval(c, m), m)
                x = self._eval(then, yes) if yes.any() else None
                y = self._eval(other, no) if no.any() else None
                if x is None or y is None:
                    return self._widened(x if y is None else y, e)
                t2 = self._common(x, y)
                return np.where(yes, x.astype(t2), y.astype(t2))
            case ir.IncDec(op=op, target=t3, prefix=prefix):
                old = self._eval(t3, m)
                new = self._assign(t3, "=", self._arith(op[0], old, np.int32(1)), m)
                return new if prefix else old
            case ir.AssignExpr(target=t3, op=op, value=v2):
                return self._assign(t3, op, self._eval(v2, m), m)
            case ir.Call(func=f, args=args):
                return self._call(f, [self._eval(a, m) for a in args], m)
        raise Unsupported(type(e).__name__)

    def _widened(self, v: Value, e: ir.Ternary) -> Value:
        """One side of a conditional that no lane left: promoted as far as a literal on the other side tells."""
        sides = [x for x in (e.then, e.other) if isinstance(x, (ir.FloatLit, ir.IntLit))]
        for x in sides:
            v = v.astype(self._common(v, self._eval(x, np.zeros(self.lanes.size, bool))))
        return v if v.dtype in RANK else v.astype(np.int32)

    def _call(self, f: str, args: list[Value], m: Bits) -> Value:
        if f in self.functions:
            return self._helper(f, args, m)
        made = VECTOR.match(f.removeprefix("make_"))
        if made and f.startswith("make_"):
            core = np.dtype(DTYPES[{"uint": "unsigned int"}.get(made[1], made[1])])
            return Vector([np.broadcast_to(self._cast(a, core), m.shape) for a in args])
        name = f.removeprefix("std::").split("<")[0]
        if name in ("min", "max", "umin", "umax"):
            t = self._common(*args)
            a, b = args[0].astype(t), args[1].astype(t)
            if t.kind == "f":
                return (np.fmin if "min" in name else np.fmax)(a, b)
            return (np.minimum if "min" in name else np.maximum)(a, b)
        if name in ("abs", "labs", "llabs"):
            return np.abs(args[0])
        single = name.endswith("f") and name != "erf" or all(a.dtype == np.float32 for a in args)
        values = [a.astype(np.float32 if single else np.float64) for a in args]
        base = name.removesuffix("f") if name not in ("erf",) else name
        simple = {"exp": np.exp, "sqrt": np.sqrt, "fabs": np.abs, "log": np.log, "sin": np.sin, "cos": np.cos,
                  "floor": np.floor, "ceil": np.ceil, "tanh": np.tanh, "fmax": np.fmax, "fmin": np.fmin,
                  "pow": np.power, "exp2": np.exp2, "log2": np.log2}
        if base in simple:
            return simple[base](*values)
        if base == "rsqrt":
            return (1 / np.sqrt(values[0])).astype(values[0].dtype)
        if base == "fma":
            wide = values[0].astype(np.longdouble) * values[1] + values[2]
            return np.asarray(wide).astype(values[0].dtype)[()]
        raise Unsupported(f"function {f}")

    def _helper(self, f: str, args: list[Value], m: Bits) -> Value:
        params, body = self.functions[f]
        saved = self.env, self.types, self.defined, self.returned, self.result
        self.env, self.types, self.defined = dict(self.env), dict(self.types), dict(self.defined)
        self.returned, self.result = np.zeros_like(m), None
        for p, a in zip(params, args, strict=True):
            self.types[p.name] = self._dtype(p.type)
            self.env[p.name] = self._cast(a, self.types[p.name])
            self.defined.pop(p.name, None)
        try:
            self._body(body, m, None)
            value = self.result
        finally:
            self.env, self.types, self.defined, self.returned, self.result = saved
        if value is None:
            raise Unsupported(f"{f} returns nothing")
        return value
