"""From a loaded kernel and its workload to the logical kernel."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from genome import expressions, ir
from genome.delinearise import delinearise
from genome.errors import Loc, Refusal
from genome.facts import condition_facts, conjuncts, loop_facts
from genome.frontend.effects import binds_references, exchanges
from genome.initialiser import elements
from genome.logical import Access, Array, Axis, LogicalKernel, LoopInfo
from genome.normal.grid_stride import Walked, walked
from genome.poly import Poly, coord_symbol, from_expr, is_integer
from genome.program import Launch
from genome.walk import children, root, spelled, substitute, walk
from genome.workload import Workload, block_values

# Device functions of CUDA without memory effects; the value depends on the arguments alone.
PURE_FUNCTIONS = frozenset(
    f"{n}{s}" for n in (
        "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt", "sin", "cos", "tan",
        "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "pow", "fma", "fmax", "fmin", "fabs", "floor", "ceil",
        "round", "trunc", "rint", "fmod", "erf", "erfc", "copysign", "hypot", "sinpi", "cospi", "tgamma", "lgamma",
        "fdim", "remainder", "ldexp", "nearbyint",
    ) for s in ("", "f")
) | {
    "min", "max", "abs", "__expf", "__logf", "__sinf", "__cosf", "__powf", "__fdividef", "__frcp_rn", "__fsqrt_rn",
    "__fmaf_rn", "__fadd_rn", "__fmul_rn", "__saturatef", "__popc", "__clz", "__brev", "__ffs", "__float2int_rn",
    "__int2float_rn", "__mul24", "__umul24", "isnan", "isinf", "isfinite", "signbit", "std::min", "std::max",
    "make_float2", "make_float3", "make_float4", "make_int2", "make_int4", "llabs", "labs", "umin", "umax",
}


HIDDEN_MEMORY = ("pointer-in-object", "pointer-to-pointer", "file-pointer", "indexed-object")  # blockers


def build_logical(
    kernel: ir.Kernel, workload: Workload, launch: Launch, pure: frozenset[str] = frozenset(),
    file_pointers: frozenset[str] = frozenset(),
) -> LogicalKernel:
    """Analyses a normalised kernel. Never refuses: what stands in the way of mapping transforms is in ``blockers``.

    ``pure``: helpers that are functions of their arguments alone; ``file_pointers``: variables of the file that are
    pointers. Grid-stride loops become axes where that makes the mapping free."""
    taken = walked(kernel, launch.block)
    if taken is not None:
        logical = _Builder(kernel, workload, launch, PURE_FUNCTIONS | pure, file_pointers, taken).build()
        if logical.mapping_refusal is None:
            return logical
    return _Builder(kernel, workload, launch, PURE_FUNCTIONS | pure, file_pointers).build()


@dataclass(frozen=True)
class _Scope:
    facts: tuple[Poly, ...]
    loops: tuple[str, ...] = ()
    conditions: tuple[ir.Expr, ...] = ()
    conditional: bool = False


class _Builder:
    def __init__(self, kernel: ir.Kernel, workload: Workload, launch: Launch, pure: frozenset[str],
                 file_pointers: frozenset[str], taken: Walked | None = None) -> None:
        self.loaded, self.kernel = kernel, taken.kernel if taken is not None else kernel
        self.walks = dict(taken.loops) if taken is not None else {}
        self.workload, self.launch, self.pure = workload, launch, pure
        self.file_pointers = file_pointers
        self.pointers = {p.name: p for p in kernel.params if p.type.pointer}
        self.types: dict[str, ir.CType] = {p.name: p.type for p in kernel.params}
        for n in walk(kernel.body):
            if isinstance(n, ir.Decl):
                self.types[n.name] = n.type if not n.dims else replace(n.type, pointer=1)
            elif isinstance(n, ir.For) and n.type is not None:
                self.types[n.var] = n.type
        self.polys: dict[str, Poly] = {}
        self.accesses: list[Access] = []
        self.loops: dict[str, LoopInfo] = {}
        self.blockers: list[Refusal] = []
        self.arrays: dict[str, Array] = {}
        self.param_facts: tuple[Poly, ...] = ()
        self.assumptions: tuple[str, ...] = ()
        self.unbounded: set[str] = set()  # axes of unknown extent: their points stay where the launch puts them

    def build(self) -> LogicalKernel:
        written = _written_names(self.kernel.body, self.pure)
        self._parameters(written)
        body, coordinates = self._coordinates(written)
        self._declare_arrays()
        axes = self._axes(body)
        body = self._mask(body, axes)
        coords = tuple(Poly.sym(coord_symbol(a.name)) for a in axes)
        self.facts = self.param_facts + coords
        self._walk(body, _Scope(self.facts))
        self._note_roles()
        self._find_blockers(axes)
        return LogicalKernel(
            self.loaded, body, coordinates, tuple(axes), self.arrays, tuple(self.accesses), self.loops, self.types,
            self.polys, self.facts, self.assumptions, tuple(self.blockers), self.pure, tuple(self.walks.items()))

    # ------------------------------------------------------------------------------------------ names
    def _parameters(self, written: set[str]) -> None:
        sizes = [self.workload.scalars(s) for s in (*self.workload.tune, *self.workload.check)]
        for p in self.kernel.params:
            if p.type.pointer or not is_integer(p.type) or p.name in written:
                continue
            self.polys[p.name] = Poly.sym(p.name)
            values = [s[p.name] for s in sizes if p.name in s]
            if values and len(values) == len(sizes) and min(values) >= 0:
                low = 1 if min(values) >= 1 else 0
                self.param_facts += (Poly.sym(p.name) - Poly.const(low),)
                self.assumptions += (f"{p.name} >= {low}",)

    def _coordinates(self, written: set[str]) -> tuple[tuple[ir.Stmt, ...], dict[str, tuple[str, ir.CType]]]:
        """Takes ``int x = <coordinate>`` out of the body and inlines integer scalars made of nothing but
        coordinates, parameters and literals (the declared type is kept by a cast where it is not plain int)."""
        coordinates: dict[str, tuple[str, ir.CType]] = {}
        inlined: dict[str, ir.Expr] = {}
        named = spelled(self.kernel.body)
        out: list[ir.Stmt] = []
        for s in self.kernel.body:
            s = substitute(s, inlined)
            if isinstance(s, ir.Decl) and not s.dims and not s.space and s.init is not None and s.name not in written:
                init = s.init
                if is_integer(s.type):
                    if isinstance(init, ir.Coord) or (isinstance(init, ir.Cast) and isinstance(init.operand, ir.Coord)
                                                      and is_integer(init.type)):
                        axis = init.axis if isinstance(init, ir.Coord) else init.operand.axis  # type: ignore[union-attr]
                        coordinates[s.name] = (axis, replace(s.type, const=False))
                        self.polys[s.name] = Poly.sym(coord_symbol(axis))
                        continue
                    if s.name not in named and self._pure_scalar(init, coordinates):
                        from genome.facts import integer_type

                        same = integer_type(init, self.types) == integer_type(ir.Var(s.name), self.types)
                        inlined[s.name] = init if same else ir.Cast(replace(s.type, const=False), init)
                        continue
            out.append(s)
        return tuple(out), coordinates

    def _pure_scalar(self, e: ir.Expr, coordinates: dict[str, tuple[str, ir.CType]]) -> bool:
        for n in walk(e):
            if isinstance(n, ir.Var):
                if n.name not in coordinates and n.name not in self.polys:
                    return False
            elif not isinstance(n, (ir.IntLit, ir.Bin, ir.Un, ir.Cast, ir.Coord)) or (
                    isinstance(n, (ir.Bin, ir.Un)) and n.op not in ("+", "-", "*")):
                return False
        return True

    def _declare_arrays(self) -> None:
        alias: dict[str, Poly] = {}
        for a in self.workload.arguments:
            if a.value is not None and a.value.isidentifier() and a.value not in self.polys and a.name in self.polys:
                alias[a.value] = Poly.sym(a.name)

        def symbol(name: str) -> Poly:
            return self.polys.get(name) or alias.get(name) or Poly.sym("$" + name)

        for name, p in self.pointers.items():
            try:
                shape = self.workload.argument(name).shape
            except KeyError:
                shape = None
            factors = _factors(expressions.parse(shape), symbol) if shape else (Poly.sym(f"${name}.elements"),)
            element = ir.CType(p.type.base, pointer=p.type.pointer - 1)
            self.arrays[name] = Array(name, element, factors, "in", False, False)

    # ------------------------------------------------------------------------------------------- axes
    def _axes(self, body: tuple[ir.Stmt, ...]) -> list[Axis]:
        used = {n.axis for n in walk(self.kernel.body) if isinstance(n, ir.Coord)}
        axes: list[Axis] = []
        for i, name in enumerate("xyz"):
            grid, threads = self.launch.grid[i], self.launch.block[i]
            if name not in used:
                if threads > 1 or str(grid).strip() != "1":
                    self.blockers.append(Refusal(
                        "axis-unused", f"the launch has more than one thread along {name}, but the kernel does not use "
                        f"blockIdx.{name} * blockDim.{name} + threadIdx.{name}"))
                continue
            axes.append(self._axis(name, str(grid), threads, body))
        return axes

    def _axis(self, name: str, grid: str, threads: int, body: tuple[ir.Stmt, ...]) -> Axis:
        covered = f"({_with_block(grid, self.launch.block)})*{threads}"
        bound = self._guard_bound(name, body)
        if name in self.walks:
            return self._walked_axis(name, covered, threads, bound)
        if bound is not None:
            text = str(bound)
            usable = not any(s.startswith("$") for s in bound.symbols)
            if usable and self._covers(covered, text, grid, threads):
                return Axis(name, threads, poly_expr(bound), text, bound, True)
        whole = self._whole_blocks(grid, threads)
        if whole is not None:
            return Axis(name, threads, poly_expr(whole), str(whole), whole, False)
        extent = self._grid_expr(covered)
        if extent is None:
            self.blockers.append(Refusal(
                "extent-unknown", f"no guard bounds the {name} coordinate and the grid '{grid}' uses sizes that are no "
                "parameters of the kernel, so the points past the launch cannot be masked"))
            self.unbounded.add(name)
            extent = ir.IntLit(0)
        poly = from_expr(extent, self.polys.get) or Poly.sym(f"#{name}")
        return Axis(name, threads, extent, covered, poly, False)

    def _walked_axis(self, name: str, covered: str, threads: int, bound: Poly | None) -> Axis:
        """The launch walks all points below the bound, as long as the last step does not overflow an int."""
        text = str(bound)
        fits = f"{text} + {covered} <= {2**31 - 1}"
        if bound is None or any(s.startswith("$") for s in bound.symbols) or not self._holds(fits):
            self.blockers.append(Refusal("extent-unknown", f"the bound of the loop over the {name} coordinate is no "
                                         "sum of parameters, or too near to the greatest int"))
            self.unbounded.add(name)
            return Axis(name, threads, ir.IntLit(0), covered, Poly.sym(f"#{name}"), False)
        self.assumptions += (fits,)
        return Axis(name, threads, poly_expr(bound), text, bound, True)

    def _holds(self, condition: str) -> bool:
        """At every size of the problem."""
        try:
            return all(expressions.evaluate(condition, self.workload.scalars(s))
                       for s in (*self.workload.tune, *self.workload.check))
        except expressions.ExpressionError:
            return False

    def _whole_blocks(self, grid: str, threads: int) -> Poly | None:
        """``N`` for a grid of ``N / block_x`` blocks, where every size is a multiple of the block; the launcher asks
        for that."""
        node = expressions.parse(_with_block(grid, self.launch.block))
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv))
                and isinstance(node.right, ast.Constant) and node.right.value == threads):
            return None
        extent = self._grid_expr(ast.unparse(node.left))
        poly = from_expr(extent, self.polys.get) if extent is not None else None
        if poly is None:
            return None
        text = str(poly)
        for s in (*self.workload.tune, *self.workload.check):
            if expressions.evaluate(text, self.workload.scalars(s)) % threads:
                return None
        self.assumptions += (f"{text if text.isidentifier() else f'({text})'} % {threads} == 0",)
        return poly

    def _covers(self, covered: str, bound: str, grid: str, threads: int) -> bool:
        """The launch covers [0, bound): evident from ``ceil_div(bound, threads)``, else required of every size."""
        plain = _with_block(grid, self.launch.block).replace(" ", "")
        if plain in (f"ceil_div({bound},{threads})".replace(" ", ""),):
            return True
        for s in (*self.workload.tune, *self.workload.check):
            values = self.workload.scalars(s)
            try:
                if expressions.evaluate(bound, values) > expressions.evaluate(covered, values):
                    return False
            except expressions.ExpressionError:
                return False
        self.assumptions += (f"{bound} <= {covered}",)
        return True

    def _guard_bound(self, axis: str, body: tuple[ir.Stmt, ...]) -> Poly | None:
        """The least E with ``coordinate < E`` on the way to every effect of the body."""
        common: set[Poly] | None = None
        for conditions in _effect_conditions(body, ()):
            bounds: set[Poly] = set()
            facts = self.param_facts + (Poly.sym(coord_symbol(axis)),)
            for c in conditions:
                for f in condition_facts(c, facts, self.polys.get, self.types):
                    # f = E - 1 - @axis >= 0
                    if f.coefficient(coord_symbol(axis)) == -1 and f.linear_in(coord_symbol(axis)):
                        e = f + Poly.sym(coord_symbol(axis)) + Poly.const(1)
                        if all(s in self.polys or s.startswith("$") for s in e.symbols) and not any(
                                s.startswith("@") or s in self.loops for s in e.symbols) and not (
                                e.symbols & _loop_variables(self.kernel.body)):
                            bounds.add(e)
                facts += condition_facts(c, facts, self.polys.get, self.types)
            common = bounds if common is None else common & bounds
        return min(common, key=lambda p: (len(p.terms), str(p))) if common else None

    def _grid_expr(self, text: str) -> ir.Expr | None:
        try:
            return _c_expr(expressions.parse(text), self.polys)
        except KeyError:
            return None

    def _mask(self, body: tuple[ir.Stmt, ...], axes: list[Axis]) -> tuple[ir.Stmt, ...]:
        """Points outside the launch of an axis without a guard get one: other mappings may cover more."""
        for a in axes:
            if not a.guarded and a.name not in self.unbounded:
                cast = ir.Cast(ir.INT, ir.Coord(a.name))
                body = (ir.If(ir.Bin("<", cast, a.extent), body),)
        return body

    # ------------------------------------------------------------------------------------------- walk
    def _walk(self, stmts: tuple[ir.Stmt, ...], scope: _Scope) -> None:
        for s in stmts:
            match s:
                case ir.If(cond=c, then=t, other=o):
                    self._expr(c, scope, s.loc)
                    inside = condition_facts(c, scope.facts, self.polys.get, self.types)
                    outside = condition_facts(ir.Un("!", c), scope.facts, self.polys.get, self.types)
                    self._walk(t, replace(scope, facts=scope.facts + inside, conditions=scope.conditions + (c,)))
                    self._walk(o, replace(scope, facts=scope.facts + outside,
                                          conditions=scope.conditions + (ir.Un("!", c),)))
                case ir.For():
                    self._for(s, scope)
                case ir.Loop(init=i, cond=c2, update=u, body=b):
                    self._walk(i, scope)
                    for e in (c2, u):
                        if e is not None:
                            self._expr(e, scope, s.loc)
                    self._walk(b, scope)
                case ir.Block(body=b):
                    self._walk(b, scope)
                case ir.Assign(target=target, op=op, value=v):
                    self._target(target, op != "=", scope, s.loc)
                    self._expr(v, scope, s.loc)
                case _:
                    for child in children(s):
                        self._expr(child, scope, s.loc)

    def _for(self, s: ir.For, scope: _Scope) -> None:
        self.loops[s.label] = LoopInfo(s, scope.loops, scope.facts, scope.conditions)
        if s.type is not None and is_integer(s.type):
            self.polys[s.var] = Poly.sym(s.var)
        for e in (s.lo, s.hi, s.step):
            self._expr(e, scope, s.loc)
        facts = loop_facts(s, scope.facts, self.polys.get, self.types)
        self._walk(s.body, replace(scope, facts=scope.facts + facts, loops=scope.loops + (s.label,)))

    def _target(self, target: ir.Expr, also_read: bool, scope: _Scope, loc: Loc) -> None:
        e = target
        while isinstance(e, ir.Member):
            also_read, e = True, e.operand  # one component written: the rest keeps its value
        if isinstance(e, ir.Index) and root(e) in self.pointers:
            self._access(e, scope, read=also_read, write=True, loc=loc)
            for s in e.subs:
                self._expr(s, scope, loc)
        else:
            self._expr(target, scope, loc)

    def _expr(self, e: ir.Expr, scope: _Scope, loc: Loc) -> None:
        match e:
            case ir.Index(base=ir.Var(name=n), subs=subs) if n in self.pointers:
                self._access(e, scope, read=True, write=False, loc=loc)
                for s in subs:
                    self._expr(s, scope, loc)
            case ir.Ternary(cond=c, then=t, other=o):
                self._expr(c, scope, loc)
                yes = condition_facts(c, scope.facts, self.polys.get, self.types)
                no = condition_facts(ir.Un("!", c), scope.facts, self.polys.get, self.types)
                self._expr(t, replace(scope, facts=scope.facts + yes, conditional=True), loc)
                self._expr(o, replace(scope, facts=scope.facts + no, conditional=True), loc)
            case ir.Bin(op="&&", left=left, right=right):
                self._expr(left, scope, loc)
                more = condition_facts(left, scope.facts, self.polys.get, self.types)
                self._expr(right, replace(scope, facts=scope.facts + more, conditional=True), loc)
            case ir.Bin(op="||", left=left, right=right):
                self._expr(left, scope, loc)
                self._expr(right, replace(scope, conditional=True), loc)
            case ir.IncDec(target=target) | ir.AssignExpr(target=target):
                self._target(target, True, scope, loc)
                if isinstance(e, ir.AssignExpr):
                    self._expr(e.value, scope, loc)
            case ir.Var(name=n) if n in self.pointers:
                self.blockers.append(Refusal("pointer-escapes", f"{n} is used as a pointer value, not subscripted",
                                             loc))
            case ir.Un(op="&", operand=o) if any(isinstance(x, ir.Index) for x in walk(o)):
                self.blockers.append(Refusal("address-taken", "the address of an element is taken", loc))
                for child in children(e):
                    self._expr(child, scope, loc)
            case _:
                for child in children(e):
                    self._expr(child, scope, loc)

    def _access(self, e: ir.Index, scope: _Scope, *, read: bool, write: bool, loc: Loc) -> None:
        name = root(e)
        assert name is not None
        array = self.arrays[name]
        poly = from_expr(e.subs[0], self.polys.get) if len(e.subs) == 1 and isinstance(e.base, ir.Var) else None
        dims: tuple[Poly, ...] = ()
        extents, ok = array.factors, False
        if poly is not None:
            dims, extents, ok = delinearise(poly, array.factors, scope.facts)
        self.accesses.append(Access(name, e, poly, dims, extents, ok, read, write, scope.loops, scope.facts,
                                    scope.conditional, loc))

    def _note_roles(self) -> None:
        for name, array in self.arrays.items():
            mine = [a for a in self.accesses if a.array == name]
            read, written = any(a.read for a in mine), any(a.write for a in mine)
            role = "inout" if read and written else "out" if written else "in"
            self.arrays[name] = replace(array, read=read, written=written, role=role)

    # --------------------------------------------------------------------------------------- blockers
    def _hidden_memory(self, e: ir.Index) -> Refusal | None:
        """Why it is not known which memory an element lies in: nothing says that what is reached through a pointer in
        memory, in an object or in the file is apart from the arrays that the kernel writes."""
        base = e.base
        if not isinstance(base, ir.Var):
            name = root(base)
            if any(isinstance(n, ir.Member) for n in walk(base)):
                return Refusal("pointer-in-object", f"{name or 'an object'} holds the pointer or array that is "
                               "subscripted: which memory that is, is not known", e.loc)
            return Refusal("pointer-to-pointer", f"{name or 'a pointer'} leads to further pointers: the memory behind "
                           "them may be shared between threads and with other arrays", e.loc)
        if base.name in self.file_pointers:
            return Refusal("file-pointer", f"{base.name} is a pointer of the file: which memory it leads to, is not "
                           "known", e.loc)
        t = self.types.get(base.name)
        if t is not None and not t.pointer:
            return Refusal("indexed-object", f"{base.name} of type {t.base} is subscripted: what its operator does, is "
                           "not known", e.loc)
        return None

    def _is_global(self, target: ir.Expr) -> bool:
        """Whether an assignment's target is neither a parameter nor declared in the kernel."""
        name = root(target)
        return name is not None and name not in self.types

    def _find_blockers(self, axes: list[Axis]) -> None:
        seen: set[str] = set()

        def block(code: str, reason: str, loc: Loc) -> None:
            if code not in seen:
                seen.add(code)
                self.blockers.append(Refusal(code, reason, loc))

        targets = {id(x) for n in walk(self.kernel.body) if isinstance(n, (ir.Assign, ir.AssignExpr, ir.IncDec))
                   for x in walk(n.target)}
        for n in walk(self.kernel.body):
            loc = getattr(n, "loc", ir.NOWHERE)
            match n:
                case ir.Builtin(name=name):
                    block("geometry-is-semantic", f"{name} is used outside a logical coordinate: the launch geometry "
                          "is part of this kernel's meaning", loc)
                case ir.Barrier():
                    block("own-barrier", "the kernel has barriers of its own", loc)
                case ir.Decl(space=space, name=name) if space in ("shared", "extern shared"):
                    block("own-shared-memory", f"the kernel uses shared memory of its own ({name})", loc)
                case ir.Decl(dims=d, init=i, name=name) if d and i is not None and elements(n) is None:
                    block("array-initialiser", f"the initialiser of {name} is not understood element by element", loc)
                case ir.Decl(type=t, name=name) if t.pointer:
                    block("local-pointer", f"{name} is a pointer that could not be turned into a subscript", loc)
                case ir.Assign(target=t) | ir.AssignExpr(target=t) | ir.IncDec(target=t) if self._is_global(t):
                    block("global-written", f"{root(t)} is a variable of the file, which other threads see", loc)
                case ir.Decl(space="static", name=name):
                    block("static-variable", f"{name} outlives a thread", loc)
                case ir.Opaque(reason="static_assert_declaration", reads=reads) if not reads & self.types.keys():
                    pass
                case ir.OpaqueExpr(writes=w, reads=reads) if not w and not reads & self.types.keys() \
                        and id(n) not in targets:
                    pass  # sizeof(T), Traits<T>::width
                case ir.Opaque(reason=r) | ir.OpaqueExpr(reason=r):
                    block("opaque", f"this is not understood{': ' + r if r else ''}", loc)
                case ir.Index() if (hidden := self._hidden_memory(n)) is not None:
                    block(hidden.code, hidden.reason, n.loc)
                case ir.Return():
                    block("early-return", "a return inside the body could not be turned into a guard", loc)
                case ir.Call(func=f) if f.startswith((f"{ir.GROUP_METHOD}sync", "__syncthreads_")):
                    block("own-barrier", "the kernel has barriers of its own", loc)
                case ir.Call(func=f) if exchanges(f) or f.startswith(("__syncwarp", ir.GROUP_METHOD)):
                    block("thread-group", f"{f.removeprefix(ir.GROUP_METHOD)} works on a group of threads: which ones "
                          "run together is part of this kernel's meaning", loc)
                case ir.Call(func=f) if f not in self.pure:
                    f = f.lstrip(".->")
                    block("call-with-effects", f"{f} may read or write memory, or exchange data between threads", loc)
                case ir.Un(op="*"):
                    block("pointer-dereference", "a pointer is dereferenced in a form that is not a subscript", loc)
        for n in walk(self.kernel.body):
            if isinstance(n, ir.Decl) and n.type.volatile:
                block("volatile", f"{n.name} is volatile", n.loc)
        for p in self.kernel.params:
            if p.type.volatile:
                block("volatile", f"{p.name} is volatile", p.loc)
        if not axes:
            block("no-logical-axis", "the kernel does not use blockIdx * blockDim + threadIdx", self.kernel.loc)


def _written_names(body: tuple[ir.Stmt, ...], pure: frozenset[str]) -> set[str]:
    """Names of variables that are assigned after their declaration, whose address is taken, or that a function gets
    which may take them by reference."""
    out: set[str] = set()
    for n in walk(body):
        target = None
        if isinstance(n, (ir.Assign, ir.AssignExpr, ir.IncDec)):
            target = n.target
        elif isinstance(n, ir.Un) and n.op == "&":
            target = n.operand
        elif isinstance(n, ir.For) and n.type is None:
            out.add(n.var)
        elif isinstance(n, (ir.Opaque, ir.OpaqueExpr)):
            out |= n.writes
        elif isinstance(n, ir.Call) and n.func not in pure and binds_references(n.func):
            out |= {a.name for a in n.args if isinstance(a, ir.Var)}
        if target is not None and not isinstance(target, ir.Index):
            name = root(target)
            if name is not None:
                out.add(name)
    return out


def _loop_variables(body: tuple[ir.Stmt, ...]) -> set[str]:
    return {n.var for n in walk(body) if isinstance(n, ir.For)}


def _effect_conditions(
    stmts: tuple[ir.Stmt, ...], conditions: tuple[ir.Expr, ...]
) -> Iterator[tuple[ir.Expr, ...]]:
    """The guards around each statement that can have an effect outside the thread."""
    for s in stmts:
        match s:
            case ir.If(cond=c, then=t, other=o):
                if any(isinstance(n, (ir.Call, ir.AssignExpr, ir.IncDec, ir.OpaqueExpr)) for n in walk(c)):
                    yield conditions
                yield from _effect_conditions(t, conditions + conjuncts(c))
                yield from _effect_conditions(o, conditions)
            case ir.For(body=b) | ir.Loop(body=b) | ir.Block(body=b):
                yield from _effect_conditions(b, conditions)
            case ir.Assign(target=t2) if isinstance(t2, (ir.Index, ir.Member, ir.Un)):
                yield conditions
            case ir.Eval() | ir.Opaque() | ir.Barrier():
                yield conditions
            case _:
                if any(isinstance(n, (ir.AssignExpr, ir.OpaqueExpr)) for n in walk(s)):
                    yield conditions


def _with_block(grid: str, block: tuple[int, int, int]) -> str:
    for name, value in block_values(block).items():
        grid = re.sub(rf"\b{name}\b", str(value), grid)
    return grid


def _factors(node: ast.expr, symbol: object) -> tuple[Poly, ...]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _factors(node.left, symbol) + _factors(node.right, symbol)
    return (_poly(node, symbol),)


def _poly(node: ast.expr, symbol) -> Poly:  # type: ignore[no-untyped-def]
    match node:
        case ast.Constant(value=int(v)):
            return Poly.const(v)
        case ast.Name(id=n):
            return symbol(n)  # type: ignore[no-any-return]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _poly(left, symbol) + _poly(right, symbol)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _poly(left, symbol) - _poly(right, symbol)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _poly(left, symbol) * _poly(right, symbol)
    return Poly.sym("$" + ast.unparse(node))


def _c_expr(node: ast.expr, params: dict[str, Poly]) -> ir.Expr:
    """A grid expression as C over the kernel's parameters; KeyError when it uses anything else."""
    match node:
        case ast.Constant(value=int(v)):
            return ir.IntLit(v)
        case ast.Name(id=n):
            if n not in params:
                raise KeyError(n)
            return ir.Var(n)
        case ast.BinOp(left=left, op=op, right=right):
            ops = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "/", ast.Mod: "%"}
            if type(op) not in ops:
                raise KeyError(ast.unparse(node))
            return ir.Bin(ops[type(op)], _c_expr(left, params), _c_expr(right, params))
        case ast.Call(func=ast.Name(id="ceil_div"), args=[a, b]):
            x, y = _c_expr(a, params), _c_expr(b, params)
            return ir.Bin("/", ir.Bin("-", ir.Bin("+", x, y), ir.IntLit(1)), y)
    raise KeyError(ast.unparse(node))


def poly_expr(p: Poly) -> ir.Expr:
    """C for a polynomial over kernel names."""
    out: ir.Expr | None = None
    for m, c in sorted(p.terms, key=lambda t: (not t[0], t[1] < 0, t[0])):
        term: ir.Expr | None = None
        for s in m:
            term = ir.Var(s) if term is None else ir.Bin("*", term, ir.Var(s))
        size = abs(c)
        if term is None:
            term = ir.IntLit(size)
        elif size != 1:
            term = ir.Bin("*", ir.IntLit(size), term)
        if out is None:
            out = term if c > 0 else ir.Un("-", term)
        else:
            out = ir.Bin("+" if c > 0 else "-", out, term)
    return out if out is not None else ir.IntLit(0)


__all__ = ["PURE_FUNCTIONS", "build_logical", "poly_expr"]
