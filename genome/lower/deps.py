"""On which coarsened axes does each private variable depend, through data or control?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from genome import ir
from genome.logical import LogicalKernel
from genome.walk import children, root, walk

Axes = frozenset[str]
NONE: Axes = frozenset()
Control = tuple[Axes, ...]


@dataclass
class Dependences:
    """``of`` maps private variables to axes; ``guards`` adds the axes on whose guards a load hangs."""

    logical: LogicalKernel
    items: Axes
    of: dict[str, Axes] = field(default_factory=dict)
    load_axes: Mapping[ir.Index, Axes] = field(default_factory=dict)

    def expr(self, node: object) -> Axes:
        """Axes on which the value of anything below ``node`` depends."""
        out: Axes = NONE
        for n in walk(node):
            if isinstance(n, ir.Coord):
                out |= {n.axis}
            elif isinstance(n, ir.Var):
                if n.name in self.logical.coordinates:
                    out |= {self.logical.coordinates[n.name][0]}
                else:
                    out |= self.of.get(n.name, NONE)
            elif isinstance(n, ir.Index) and n in self.load_axes:
                out |= self.load_axes[n]
        return out & self.items


def private_dependences(logical: LogicalKernel, items: Axes, load_axes: Mapping[ir.Index, Axes],
                        seeds: Mapping[str, Axes] | None = None) -> Dependences:
    """Fixpoint over the body, from ``seeds``. Control counts from the variable's declaration inwards only: a guard
    around the declaration too leaves every point's own copy alone."""
    d = Dependences(logical, items, dict(seeds or {}), load_axes)
    while True:
        before = dict(d.of)
        _visit(d, logical.body, (), {})
        if d.of == before:
            return d


def assigned(node: object) -> frozenset[str]:
    """Names of variables and arrays that anything below writes, declarations left out."""
    out: set[str] = set()
    for n in walk(node):
        if isinstance(n, (ir.Assign, ir.AssignExpr, ir.IncDec)):
            out.add(root(n.target) or "")
        elif isinstance(n, ir.Un) and n.op == "&":
            out.add(root(n.operand) or "")
        elif isinstance(n, (ir.Opaque, ir.OpaqueExpr)):
            out |= n.writes
        elif isinstance(n, ir.For) and n.type is None:
            out.add(n.var)
    return frozenset(out)


def _visit(d: Dependences, stmts: tuple[ir.Stmt, ...], control: Control, declared: dict[str, int]) -> None:
    """``control``: the axes of each enclosing condition, outermost first; ``declared``: how many conditions enclose
    each variable's declaration."""
    declared = dict(declared)
    for s in stmts:
        match s:
            case ir.Decl(name=name, init=init):
                declared[name] = len(control)
                d.of[name] = d.of.get(name, NONE) | (d.expr(init) if init is not None else NONE)
            case ir.Assign(target=t, value=v):
                _assign(d, t, d.expr(v) | _subscripts(d, t), control, declared)
            case ir.If(cond=c, then=then, other=other):
                inside = (*control, d.expr(c))
                _visit(d, then, inside, declared)
                _visit(d, other, inside, declared)
            case ir.For(var=var, lo=lo, hi=hi, step=step, body=body, type=t2):
                bounds = d.expr(lo) | d.expr(hi) | d.expr(step)
                if t2 is None:
                    _assign(d, ir.Var(var), bounds, control, declared)
                else:
                    declared[var] = len(control)
                    d.of[var] = d.of.get(var, NONE) | bounds
                if any(isinstance(n, ir.Continue) for n in walk(body)):
                    bounds = d.items  # which statements an iteration skips is not followed further
                _visit(d, body, (*control, bounds), declared)
            case ir.Loop(init=init2, cond=c2, update=u, body=body):
                inner = dict(declared)
                for i in init2:
                    if isinstance(i, ir.Decl):
                        inner[i.name] = len(control)
                varying = d.expr(c2) if c2 is not None else NONE
                if any(isinstance(n, (ir.Break, ir.Continue, ir.Return)) for n in walk(body)):
                    varying = d.items  # who leaves the loop when is not followed further
                _visit(d, init2, control, inner)
                _visit(d, body, (*control, varying), inner)
                if u is not None:
                    _side_effects(d, u, (*control, varying), inner)
            case ir.Block(body=body):
                _visit(d, body, control, declared)
        for child in children(s):
            if not isinstance(child, (ir.Decl, ir.Assign, ir.For, ir.Loop, ir.If, ir.Block)):
                _side_effects(d, child, control, declared)


def _subscripts(d: Dependences, t: ir.Expr) -> Axes:
    return d.expr(t.subs) if isinstance(t, ir.Index) else NONE


def _assign(d: Dependences, target: ir.Expr, data: Axes, control: Control, declared: dict[str, int]) -> None:
    name = root(target)
    if name is None or name in d.logical.arrays:
        return
    d.of[name] = d.of.get(name, NONE).union(data, *control[declared.get(name, 0):])


def _side_effects(d: Dependences, node: object, control: Control, declared: dict[str, int]) -> None:
    for n in walk(node):
        if isinstance(n, ir.IncDec):
            _assign(d, n.target, d.expr(n.target), control, declared)
        elif isinstance(n, ir.AssignExpr):
            _assign(d, n.target, d.expr(n.value) | d.expr(n.target), control, declared)
        elif isinstance(n, ir.Un) and n.op == "&":
            _assign(d, n.operand, d.items, control, declared)
        elif isinstance(n, (ir.Opaque, ir.OpaqueExpr)):
            for w in n.writes:
                _assign(d, ir.Var(w), d.items, control, declared)
