"""ReorderInstructions: hoist the loads of independent chains in front of their uses and stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from genome import ir
from genome.build import HIDDEN_MEMORY
from genome.errors import Refusal
from genome.gene import ParamValue
from genome.scheduled import Scheduled
from genome.walk import root, walk
from genome.workload import Exactness
from mutators.base import Direction, Parameter, Site
from mutators.checks import choice, loop_at


class ReorderInstructions:
    """``load 0, use 0, store 0, load 1, use 1, store 1`` → ``load 0, load 1, use 0, store 0, use 1, store 1``: all
    loads in flight at once. The compiler may not do it, since a store could alias the next load; here the arrays are
    disjoint and the points independent. Sites: an array that coarsened threads store to, or an unrolled loop."""

    name = "ReorderInstructions"
    direction = Direction.LATENCY
    exactness = Exactness.EXACT
    summary = "load a, store a, load b, store b → load a, load b, store a, store b"
    parameters: tuple[Parameter, ...] = (
        Parameter("order", "choice", ("loads-first",), "loads-first: all loads, then arithmetic and stores"),)

    def sites(self, state: Scheduled) -> Sequence[Site]:
        out = [Site(a.name) for a in state.logical.arrays.values() if a.written]
        return out + [Site(u.label) for u in state.schedule.unrolls if u.mode != "pragma"]

    def domain(self, state: Scheduled, site: str) -> Mapping[str, Sequence[ParamValue]]:
        return {"order": ("loads-first",)}

    def check(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> tuple[str, ...]:
        choice(params, "order", ("loads-first",))
        logical = state.logical
        if site in state.schedule.loads_first:
            raise Refusal("no-change", f"the loads of {site} come first already")
        if site in logical.arrays:
            return self._check_store(state, site)
        node = loop_at(logical, site).node
        unroll = state.schedule.unroll_of(site)
        if unroll is None or unroll.mode == "pragma":
            raise Refusal("reorder-not-unrolled", f"loop {site} is not unrolled into copies", node.loc)
        if not all(isinstance(s, (ir.Decl, ir.Assign)) for s in node.body) or any(m.items > 1
                                                                                for _, m in state.schedule.axes):
            raise Refusal("reorder-not-straight-line", f"the body of loop {site} is not straight-line code", node.loc)
        for n in walk(node.body):
            if (isinstance(n, ir.Call) and n.func not in logical.pure) or isinstance(n, (ir.OpaqueExpr, ir.Un)) and (
                    isinstance(n, ir.OpaqueExpr) or n.op in ("*", "&")):
                raise Refusal("reorder-effects", f"loop {site} calls functions with effects or uses pointers, which "
                              "loads must not pass", n.loc)
        for b in logical.blockers:
            if b.code in ("local-pointer", "pointer-escapes", "volatile", *HIDDEN_MEMORY):
                raise Refusal("reorder-effects", f"{b.reason}: loads must not pass what it may write", b.loc)
        self._check_disjoint(state, node.body)
        return state.disjoint()

    def _check_store(self, state: Scheduled, site: str) -> tuple[str, ...]:
        state.require_free_mapping()
        stores = [n for n in walk(state.logical.body) if isinstance(n, ir.Assign) and root(n.target) == site]
        if not stores:
            raise Refusal("reorder-no-store", f"there is no store to {site}")
        if all(m.items == 1 for _, m in state.schedule.axes):
            raise Refusal("reorder-one-point", "each thread has one point, so there is one chain: coarsen first",
                          stores[0].loc)
        if not any(self._loads(state, s) for s in stores):
            raise Refusal("reorder-no-loads", f"the stores to {site} use no loads that could move", stores[0].loc)
        self._check_disjoint(state, tuple(stores))
        return state.disjoint()

    def _loads(self, state: Scheduled, node: object) -> set[str]:
        return {str(root(n)) for n in walk(node) if isinstance(n, ir.Index) and root(n) in state.logical.arrays
                and not (isinstance(node, ir.Assign) and n == node.target)}

    def _check_disjoint(self, state: Scheduled, body: tuple[ir.Stmt, ...]) -> None:
        written = {str(root(n.target)) for n in walk(body) if isinstance(n, (ir.Assign, ir.AssignExpr, ir.IncDec))}
        for s in body:
            both = self._loads(state, s) & written
            if both:
                name = sorted(both)[0]
                raise Refusal("reorder-may-alias", f"{name} is loaded and stored here, so its loads must stay in order",
                              s.loc)

    def apply(self, state: Scheduled, site: str, params: Mapping[str, ParamValue]) -> Scheduled:
        return state.with_schedule(replace(state.schedule, loads_first=(*state.schedule.loads_first, site)))
