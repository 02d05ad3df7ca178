"""Writing an unrolled loop: copies of the body, with the loads of all copies first where that was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome import ir
from genome.logical import Array
from genome.lower.mapping import add
from genome.lower.names import Names
from genome.schedule import Unroll
from genome.walk import children, rewrite, root, substitute, variables, walk


def literal(e: ir.Expr) -> int | None:
    """The value of an integer literal, a minus in front included."""
    match e:
        case ir.IntLit(value=v):
            return v
        case ir.Un(op="-", operand=ir.IntLit(value=v)):
            return -v
    return None


def constant_trip(loop: ir.For) -> tuple[int, int, int] | None:
    """(first value, step, number of iterations) of a loop with literal bounds, or None."""
    lo, hi, step = literal(loop.lo), literal(loop.hi), literal(loop.step)
    if lo is None or hi is None or step is None:
        return None
    if (step > 0) != (loop.cmp in ("<", "<=")):
        return None  # away from its bound: an unsigned loop that ends by wrapping around
    values = {"<": range(lo, hi, step or 1), "<=": range(lo, hi + 1, step or 1), ">": range(lo, hi, step or 1),
              ">=": range(lo, hi - 1, step or 1)}[loop.cmp]
    return (lo, step, len(values)) if step else None


def _value(n: int, t: ir.CType | None) -> ir.Expr:
    """A value of the loop's variable, in its type: ``x - k`` is another number where k is unsigned."""
    literal: ir.Expr = ir.IntLit(n) if n >= 0 else ir.Un("-", ir.IntLit(-n))
    return literal if t is None or t.base == "int" else ir.Cast(replace(t, const=False), literal)


def unroll_loop(loop: ir.For, u: Unroll, names: Names, *, loads_first: bool, arrays: Mapping[str, Array],
                types: Mapping[str, ir.CType]) -> tuple[ir.Stmt, ...]:
    if u.mode == "pragma":
        return (replace(loop, unroll=u.factor),)
    if u.mode == "full":
        trip = constant_trip(loop)
        if trip is None:  # a tile whose tail is kept: the compiler may still unroll what it can
            return (replace(loop, unroll=0),)
        lo, step, n = trip
        return _copies(loop.body, loop.var, [_value(lo + j * step, loop.type) for j in range(n)], names, loads_first,
                       arrays, types)
    f = u.factor
    trip = constant_trip(loop)
    values = [add(ir.Var(loop.var), ir.IntLit(j)) for j in range(f)]
    body = _copies(loop.body, loop.var, values, names, loads_first, arrays, types)
    if trip is not None and trip[2] % f == 0 and loop.cmp in ("<", "<="):
        return (replace(loop, step=ir.IntLit(f), body=body, unroll=None),)
    end = loop.hi if loop.cmp == "<" else add(loop.hi, ir.IntLit(1))
    span: ir.Expr = end if isinstance(loop.lo, ir.IntLit) and loop.lo.value == 0 else ir.Bin("-", end, loop.lo)
    split = names.fresh(f"{loop.var}_end")
    t = loop.type or ir.INT
    main = replace(loop, cmp="<", hi=ir.Var(split), step=ir.IntLit(f), body=body, unroll=None,
                   comment=f"UnrollLoop: {f} iterations at a time, then the rest")
    rest_var = names.fresh(loop.var)
    rest = replace(loop, label=rest_var, var=rest_var, lo=ir.Var(split),
                   body=_renamed(substitute(loop.body, {loop.var: ir.Var(rest_var)}), names))
    return (ir.Decl(replace(t, const=True), split, init=ir.Bin("-", end, ir.Bin("%", span, ir.IntLit(f)))), main, rest)


def _copies(body: tuple[ir.Stmt, ...], var: str, values: list[ir.Expr], names: Names, loads_first: bool,
            arrays: Mapping[str, Array], types: Mapping[str, ir.CType]) -> tuple[ir.Stmt, ...]:
    out: list[ir.Stmt] = []
    temporaries: list[ir.Stmt] = []
    for j, value in enumerate(values):
        copy = substitute(body, {var: value})
        copy = _renamed(copy, names) if j else copy
        if loads_first:
            fixed = _changed_in(copy)
            copy = tuple(_hoist(s, temporaries, names, arrays, fixed) for s in copy)
        out.extend(copy)
    return (*temporaries, *out)


def _renamed(body: tuple[ir.Stmt, ...], names: Names) -> tuple[ir.Stmt, ...]:
    """Fresh names for everything that a copy declares, so that names stay unique."""
    mapping: dict[str, str] = {}
    for n in walk(body):
        if isinstance(n, ir.Decl):
            mapping[n.name] = names.fresh(n.name)
        elif isinstance(n, ir.For) and n.type is not None:
            mapping[n.var] = names.fresh(n.var)

    def fix(n: object) -> object:
        if isinstance(n, ir.Var):
            return replace(n, name=mapping.get(n.name, n.name))
        if isinstance(n, ir.Decl):
            return replace(n, name=mapping.get(n.name, n.name))
        if isinstance(n, ir.For):
            return replace(n, var=mapping.get(n.var, n.var), label=mapping.get(n.label, n.label))
        return n

    return rewrite(body, fix) if mapping else body


def _changed_in(body: tuple[ir.Stmt, ...]) -> set[str]:
    """Names (arrays too) that the body declares or writes: loads that hang on them stay where they are."""
    out: set[str] = set()
    for n in walk(body):
        if isinstance(n, ir.Decl):
            out.add(n.name)
        elif isinstance(n, (ir.Assign, ir.AssignExpr, ir.IncDec)):
            out.add(root(n.target) or "")
    return out


def _hoist(s: ir.Stmt, temporaries: list[ir.Stmt], names: Names, arrays: Mapping[str, Array],
           changed: set[str]) -> ir.Stmt:
    """Takes the unconditional array loads out of a straight-line statement into temporaries."""
    if not isinstance(s, (ir.Assign, ir.Decl)):
        return s
    taken: dict[ir.Index, ir.Var] = {}

    def collect(e: ir.Expr) -> None:
        if isinstance(e, ir.Ternary) or (isinstance(e, ir.Bin) and e.op in ("&&", "||")):
            return
        if isinstance(e, ir.Index) and root(e) in arrays and e not in taken and not (
                variables(e) & changed):
            name = names.fresh(f"{root(e)}_v")
            taken[e] = ir.Var(name)
            temporaries.append(ir.Decl(replace(arrays[str(root(e))].element, const=True), name, init=e))
            return
        for child in children(e):
            collect(child)

    value = s.value if isinstance(s, ir.Assign) else s.init
    if value is None:
        return s
    collect(value)
    new = rewrite(value, lambda n: taken.get(n, n) if isinstance(n, ir.Index) else n)
    return replace(s, value=new) if isinstance(s, ir.Assign) else replace(s, init=new)
