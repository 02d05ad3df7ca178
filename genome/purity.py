"""Which ``__device__`` helpers are functions of their arguments alone?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from genome import ir
from genome.build import PURE_FUNCTIONS
from genome.walk import walk

# Calls that touch no memory and let no thread wait for one outside of its warp.
SILENT = frozenset({"__syncwarp", "__threadfence", "__threadfence_block", "__threadfence_system", "printf", "assert",
                    "__ballot_sync", "__any_sync", "__all_sync", "__activemask", "__shfl_sync", "__shfl_up_sync",
                    "__shfl_down_sync", "__shfl_xor_sync", "__nanosleep", "clock", "clock64"})

if TYPE_CHECKING:
    from genome.unit import SourceUnit


def pure_functions(unit: SourceUnit) -> frozenset[str]:
    """Helpers that take no pointers, use no thread index and call nothing but pure functions (fixpoint)."""
    return _closed(unit, frozenset(), ())


def silent_functions(unit: SourceUnit) -> frozenset[str]:
    """Helpers that touch no memory and wait for no thread outside of their warp: no pointers, no names of the file, and
    calls of nothing but such functions and of warp primitives. Their values may differ between threads."""
    return _closed(unit, SILENT, (ir.Coord, ir.Builtin))


def _closed(unit: SourceUnit, known: frozenset[str], more: tuple[type, ...]) -> frozenset[str]:
    """``known`` and the helpers that call nothing else; ``more``: nodes that are no harm."""
    found = set(known)
    while True:
        before = len(found)
        for f in unit.functions:
            if f.name in found or f.body is None or any(p.type.pointer or p.type.volatile for p in f.params):
                continue
            params = {p.name for p in f.params}
            locals_ = {n.name for n in walk(f.body) if isinstance(n, ir.Decl) and not n.space} | {
                n.var for n in walk(f.body) if isinstance(n, ir.For)}
            arrays = {n.name for n in walk(f.body) if isinstance(n, ir.Decl) and n.dims and not n.type.pointer}
            if all(isinstance(n, more) or _allowed(n, params | locals_, arrays, found) for n in walk(f.body)):
                found.add(f.name)
        if len(found) == before:
            return frozenset(found)


def _allowed(n: object, names: set[str], arrays: set[str], pure: set[str]) -> bool:
    match n:
        case ir.Var(name=name):
            return name in names
        case ir.Call(func=f):
            return f in PURE_FUNCTIONS or f in pure
        case ir.Decl(space=space):
            return not space
        case ir.Coord() | ir.Builtin() | ir.Barrier() | ir.OpaqueExpr():
            return False
        case ir.Opaque(text=text, writes=writes, barrier=barrier):
            return text.strip().startswith("return") and not writes and not barrier
        case ir.Index(base=base):  # of a local array; a parameter's may be an object that holds a pointer
            return isinstance(base, ir.Var) and base.name in arrays
        case ir.Member(arrow=True):
            return False
        case ir.Un(op=op):
            return op not in ("*", "&")
    return True
