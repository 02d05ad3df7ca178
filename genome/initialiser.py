"""Initialisers of private arrays, element by element."""

from __future__ import annotations

from genome import ir


def elements(d: ir.Decl) -> list[tuple[tuple[int, ...], ir.Expr]] | None:
    """(subscripts, value) of all elements, zeros included, in order; None where the extents are no literals or braces
    are left out."""
    sizes: list[int] = []
    for e in d.dims:
        if not isinstance(e, ir.IntLit):
            return None
        sizes.append(e.value)
    return _elements(d.init, tuple(sizes), ())


def _elements(init: ir.Expr | None, sizes: tuple[int, ...],
              at: tuple[int, ...]) -> list[tuple[tuple[int, ...], ir.Expr]] | None:
    if not sizes:
        return None if isinstance(init, ir.InitList) else [(at, init if init is not None else ir.IntLit(0))]
    if init is not None and not isinstance(init, ir.InitList):
        return None
    items = init.items if init is not None else ()
    if len(items) > sizes[0]:
        return None
    out: list[tuple[tuple[int, ...], ir.Expr]] = []
    for i in range(sizes[0]):
        inner = _elements(items[i] if i < len(items) else None, sizes[1:], (*at, i))
        if inner is None:
            return None
        out += inner
    return out
