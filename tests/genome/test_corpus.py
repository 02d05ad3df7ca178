"""The corpus shows what real kernels look like: at least one kernel for each feature that was counted in real files."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from genome import ir, walk
from genome.unit import SourceUnit
from tests.corpus.tools import CASES, FOLDER, load

VECTORS = re.compile(r"\b(?:u?char|u?short|u?int|u?long|float|double|half)[1-4]\b")


@dataclass(frozen=True)
class Case:
    """A kernel, with its text as the user wrote it: macros not yet expanded."""

    name: str
    unit: SourceUnit
    file: str
    text: str  # of the kernel alone, comments removed

    @property
    def nodes(self) -> list[Any]:
        return list(walk.walk(self.unit.kernel.body))

    def has(self, pattern: str) -> bool:
        return re.search(pattern, self.text) is not None

    def macros(self, arguments: bool) -> set[str]:
        """Names of the file's macros with or without arguments."""
        return {m.group(1) for m in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\(?)", self.file, re.M)
                if bool(m.group(2)) == arguments}

    def uses(self, names: set[str], where: str) -> bool:
        return bool(names & set(re.findall(r"\w+", where)))


@cache
def cases() -> tuple[Case, ...]:
    return tuple(_case(name) for name in CASES)


def _case(name: str) -> Case:
    unit = load(name)
    file = (FOLDER / f"{name.partition(':')[0]}.cu").read_text()
    bare = re.sub(r"//[^\n]*|/\*.*?\*/", lambda m: " " + "\n" * m.group(0).count("\n"), file, flags=re.S)
    lines = bare.split("\n")
    start = unit.kernel.loc.line - 1
    text = "\n".join(lines[start:])
    end = re.search(r"\n\}", text)
    return Case(name, unit, bare, text[: end.end()] if end else text)


def subscripts(c: Case) -> list[str]:
    return re.findall(r"\[([^\]]*)\]", c.text)


def depth_of(c: Case, kind: type, inside: tuple[type, ...]) -> bool:
    return any(isinstance(n, inside) and any(isinstance(x, kind) for x in walk.walk(tuple(walk.children(n))))
               for n in c.nodes)


def barrier(n: Any) -> bool:
    return isinstance(n, ir.Barrier) or (isinstance(n, ir.Opaque) and n.barrier)


def pointer_arithmetic(c: Case) -> bool:
    types = {p.name for p in c.unit.kernel.params if p.type.pointer} | {
        n.name for n in c.nodes if isinstance(n, ir.Decl) and n.type.pointer}
    return any(isinstance(n, ir.Bin) and n.op in "+-" and isinstance(n.left, ir.Var) and n.left.name in types
               for n in c.nodes)


def walking_pointer(c: Case) -> bool:
    pointers = {p.name for p in c.unit.kernel.params if p.type.pointer} | {
        n.name for n in c.nodes if isinstance(n, ir.Decl) and n.type.pointer}
    return any(isinstance(n, ir.Assign) and n.op == "+=" and isinstance(n.target, ir.Var)
               and n.target.name in pointers for n in c.nodes)


def indirect(c: Case) -> bool:
    loaded = {n.name for n in c.nodes if isinstance(n, ir.Decl) and n.init is not None and not n.type.pointer
              and any(isinstance(x, ir.Index) for x in walk.walk(n.init))}
    return any(isinstance(n, ir.Index) and any(isinstance(x, ir.Index) or (isinstance(x, ir.Var) and x.name in loaded)
                                               for s in n.subs for x in walk.walk(s)) for n in c.nodes)


def data_dependent(c: Case) -> bool:
    return any(isinstance(n, (ir.If, ir.Loop)) and n.cond is not None
               and any(isinstance(x, ir.Index) for x in walk.walk(n.cond)) for n in c.nodes)


def read_and_written(c: Case) -> bool:
    pointers = {p.name for p in c.unit.kernel.params if p.type.pointer}
    written = {walk.root(n.target) for n in c.nodes if isinstance(n, (ir.Assign, ir.AssignExpr))
               and isinstance(n.target, ir.Index)}
    targets = {id(n.target) for n in c.nodes if isinstance(n, ir.Assign) and n.op == "="}
    read = {walk.root(n) for n in c.nodes if isinstance(n, ir.Index) and id(n) not in targets}
    return bool(pointers & written & read)


def early_return(c: Case) -> bool:
    return any(isinstance(n, ir.If) and any(isinstance(x, ir.Return) for x in n.then) for n in c.nodes)


def guarding_if(c: Case) -> bool:
    return any(isinstance(n, ir.If) and not any(isinstance(x, ir.Return) for x in n.then) and any(
        isinstance(x, ir.Bin) and x.op in ("<", "<=", ">", ">=") for x in walk.walk(n.cond)) for n in c.nodes)


def base(c: Case, *names: str) -> bool:
    declared = [p.type.base for p in c.unit.kernel.params] + [n.type.base for n in c.nodes if isinstance(n, ir.Decl)]
    return any(b in names for b in declared)


def step(c: Case) -> bool:
    return any(isinstance(n, ir.For) and n.step not in (ir.IntLit(1), ir.IntLit(-1)) for n in c.nodes)


def calls_helper(c: Case) -> bool:
    helpers = {f.name for f in c.unit.functions}
    return any(isinstance(n, ir.Call) and n.func.split("<")[0] in helpers for n in c.nodes)


ROWS: dict[str, Callable[[Case], bool]] = {
    "object-like macro in the body": lambda c: c.uses(c.macros(False), c.text.partition("{")[2]),
    "object-like macro in an index": lambda c: any(c.uses(c.macros(False), s) for s in subscripts(c)),
    "function-like macro": lambda c: c.uses(c.macros(True), c.text),
    "#if in the body": lambda c: c.has(r"(?m)^\s*#\s*if"),
    "template": lambda c: "<" in c.name or re.search(r"template\s*<[^>]*>\s*(\n.*)?\s*__global__[^(]*\b"
                                                     + re.escape(c.unit.kernel.name) + r"\s*\(", c.file) is not None,
    "template with an int parameter": lambda c: re.search(r":\w+<(.*\s)?\d", c.name) is not None,
    "calls a __device__ function": calls_helper,
    "shared memory": lambda c: any(isinstance(n, ir.Decl) and "shared" in n.space for n in c.nodes),
    "dynamic shared memory": lambda c: any(isinstance(n, ir.Decl) and n.space == "extern shared" for n in c.nodes),
    "barriers": lambda c: any(barrier(n) for n in c.nodes),
    "barriers in a loop": lambda c: depth_of(c, ir.Barrier, (ir.For, ir.Loop)),
    "barriers in an if": lambda c: depth_of(c, ir.Barrier, (ir.If,)),
    "atomics": lambda c: c.has(r"\batomic[A-Z]\w+\("),
    "shuffles": lambda c: c.has(r"\b__shfl\w*\("),
    "cooperative groups": lambda c: c.has(r"\bthis_(thread_block|grid)\(|tiled_partition|coalesced_threads"),
    "data-dependent control flow": data_dependent,
    "indirect index": indirect,
    "pointer arithmetic": pointer_arithmetic,
    "p +=": walking_pointer,
    "local pointers": lambda c: any(isinstance(n, ir.Decl) and n.type.pointer for n in c.nodes),
    "2-D thread index": lambda c: c.has(r"threadIdx\.y") and not c.has(r"threadIdx\.z"),
    "3-D thread index": lambda c: c.has(r"threadIdx\.z"),
    "grid-stride loop": lambda c: c.has(r"\+=.*(gridDim\.x\s*\*\s*blockDim\.x|blockDim\.x\s*\*\s*gridDim\.x)"),
    "early return": early_return,
    "guarding if": guarding_if,
    "loop step other than 1": step,
    "while": lambda c: c.has(r"\bwhile\b") and not c.has(r"\bdo\b"),
    "do": lambda c: any(isinstance(n, ir.Loop) and n.kind == "do" for n in c.nodes),
    "ternary": lambda c: any(isinstance(n, ir.Ternary) for n in c.nodes),
    "integer / %": lambda c: any(isinstance(n, ir.Bin) and n.op == "%" for n in c.nodes) and c.has(r"/"),
    "double": lambda c: base(c, "double"),
    "half": lambda c: base(c, "__half", "half", "half2", "__half2"),
    "64-bit ints": lambda c: base(c, "long long", "unsigned long long", "size_t", "int64_t", "uint64_t"),
    "unsigned": lambda c: base(c, "unsigned int", "uint32_t", "unsigned char"),
    "vector types": lambda c: c.has(VECTORS.pattern),
    "structs": lambda c: re.search(r"\bstruct\b", c.file) is not None and any(
        isinstance(n, ir.Member) for n in c.nodes),
    "register arrays": lambda c: any(isinstance(n, ir.Decl) and n.dims and not n.space for n in c.nodes),
    "__restrict__": lambda c: any(p.type.restrict for p in c.unit.kernel.params),
    "launch bounds": lambda c: c.unit.kernel.launch_bounds is not None,
    "a pointer both read and written": read_and_written,
    "no guard": lambda c: not early_return(c) and not any(isinstance(n, (ir.If, ir.Ternary)) for n in c.nodes),
}
STYLES = {"C-like": "c_style", "templated": "templated", "macro-heavy": "macro_heavy", "pointer-walking": "walkers",
          "cooperative": "cooperative"}


@pytest.mark.parametrize("row", sorted(ROWS))
def test_each_feature_of_real_kernels_is_in_the_corpus(row: str) -> None:
    """Some kernels have it and some don't: a row that all or none have would say nothing."""
    having = [c.name for c in cases() if ROWS[row](c)]
    assert 0 < len(having) < len(cases()), row


def test_the_corpus_is_large_enough() -> None:
    assert len(set(CASES)) == len(CASES) >= 120


@pytest.mark.parametrize("style", sorted(STYLES))
def test_each_style_has_kernels(style: str) -> None:
    assert sum(name.startswith(STYLES[style] + ":") for name in CASES) >= 3
