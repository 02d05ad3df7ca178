"""The CUDA printer: parentheses, round trips of random expressions, and every field shows in the text."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genome import ir, walk
from genome.frontend.expressions import Context, convert
from genome.frontend.source import parse
from genome.printer.cuda import print_body, print_expr, print_kernel, print_type
from genome.unit import load_unit
from tests.corpus.tools import CASES, load

A, B, C = ir.Var("a"), ir.Var("b"), ir.Var("c")


def read(text: str) -> ir.Expr:
    """The expression that ``text`` is parsed as."""
    src = parse(f"__device__ void f() {{ x = ({text}); }}", "t.cu")
    assert not src.tree.root_node.has_error, text
    node = src.tree.root_node
    while node.type != "assignment_expression":
        node = next(c for c in node.children if c.is_named and c.type in (
            "function_definition", "compound_statement", "expression_statement", "assignment_expression"))
    right = node.child_by_field_name("right")
    assert right is not None
    return convert(right, Context(src.raw, set()))


@pytest.mark.parametrize(("expr", "text"), [
    (ir.Bin("-", A, ir.Bin("-", B, C)), "a - (b - c)"),
    (ir.Bin("-", ir.Bin("-", A, B), C), "a - b - c"),
    (ir.Bin("*", A, ir.Bin("/", B, C)), "a * (b / c)"),
    (ir.Bin("+", A, ir.Bin("+", B, C)), "a + (b + c)"),
    (ir.Bin("+", ir.Bin("+", A, B), C), "a + b + c"),
    (ir.Bin("*", ir.Bin("+", A, B), C), "(a + b) * c"),
    (ir.Bin("&", A, ir.Bin("==", B, C)), "a & b == c"),
    (ir.Bin("==", ir.Bin("&", A, B), C), "(a & b) == c"),
    (ir.Un("-", ir.Un("-", A)), "-(-a)"),
    (ir.Bin("-", A, ir.Un("-", B)), "a - -b"),
    (ir.Un("-", ir.IncDec("--", A, True)), "-(--a)"),
    (ir.Un("&", ir.Un("&", A)), "&(&a)"),
    (ir.Un("*", ir.IncDec("++", A, False)), "*a++"),
    (ir.IncDec("++", ir.Un("*", A), False), "(*a)++"),
    (ir.Index(ir.Cast(ir.CType("float4", 1), A), (B,)), "((float4*)a)[b]"),
    (ir.Cast(ir.FLOAT, ir.Bin("+", A, B)), "(float)(a + b)"),
    (ir.Cast(ir.CType("real"), ir.Un("-", A)), "(real)(-a)"),
    (ir.Cast(ir.CType("unsigned int"), A, "function"), "(unsigned int)a"),
    (ir.Cast(ir.FLOAT, A, "function"), "float(a)"),
    (ir.Cast(ir.CType("float", 1, const=True), A, "reinterpret_cast"), "reinterpret_cast<const float*>(a)"),
    (ir.Ternary(ir.Ternary(A, B, C), B, ir.Ternary(A, B, C)), "(a ? b : c) ? b : a ? b : c"),
    (ir.Bin("+", ir.Ternary(A, B, C), C), "(a ? b : c) + c"),
    (ir.AssignExpr(A, "=", ir.AssignExpr(B, "+=", C)), "a = b += c"),
    (ir.Bin("*", ir.AssignExpr(A, "=", B), C), "(a = b) * c"),
    (ir.Call("f", (ir.Bin(",", A, B), C)), "f((a, b), c)"),
    (ir.Member(ir.Un("*", A), "x"), "(*a).x"),
    (ir.Member(A, "x", True), "a->x"),
    (ir.Bin("+", ir.Coord("x"), ir.IntLit(1)), "blockIdx.x * blockDim.x + threadIdx.x + 1"),
    (ir.Bin("*", ir.Coord("y"), ir.IntLit(4)), "(blockIdx.y * blockDim.y + threadIdx.y) * 4"),
    (ir.Bin("-", A, ir.IntLit(-3)), "a - -3"),
    (ir.Un("-", ir.IntLit(-3)), "-(-3)"),
    (ir.Bin("*", ir.OpaqueExpr("a + b"), C), "(a + b) * c"),
])
def test_parentheses(expr: ir.Expr, text: str) -> None:
    assert print_expr(expr) == text


TYPES = [ir.INT, ir.UINT, ir.FLOAT, ir.CType("long long"), ir.CType("float", 1), ir.CType("float4", 1, const=True)]
BINARY = ["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "&&", "||", "==", "!=", "<", ">", "<=", ">=", ","]


@st.composite
def expressions(draw: Any, depth: int = 4) -> Any:
    """A random expression tree that C's grammar can express (its meaning does not matter)."""
    def pick(options: list[Any]) -> Any:
        return draw(st.sampled_from(options))

    def lvalue() -> ir.Expr:
        name = pick([A, B, C])
        return pick([name, ir.Index(name, (ir.IntLit(1),)), ir.Un("*", name)])  # type: ignore[no-any-return]

    def inner() -> ir.Expr:
        return draw(expressions(depth - 1))  # type: ignore[no-any-return]

    kind = draw(st.integers(0, 10)) if depth else -1
    if kind <= 0:
        return pick([A, B, C, ir.IntLit(draw(st.integers(0, 2**31 - 1))), ir.IntLit(7, "u"), ir.FloatLit("1.0f"),
                     ir.FloatLit("1e-5"), ir.Literal("true"), ir.Literal("'c'"), ir.Builtin("threadIdx.x"),
                     ir.Builtin("gridDim.z"), ir.Builtin("warpSize")])
    if kind <= 3:
        return ir.Bin(pick(BINARY), inner(), inner())
    if kind == 4:
        return ir.Un(pick(["-", "+", "!", "~", "*", "&"]), inner())
    if kind == 5:
        return pick([ir.IncDec(pick(["++", "--"]), lvalue(), draw(st.booleans())),
                     ir.AssignExpr(lvalue(), pick(["=", "+=", "-=", "<<=", "|="]), inner())])
    if kind == 6:
        return ir.Call(pick(["fmaxf", "min<int>", "std::min"]), (inner(), inner()))
    if kind == 7:
        style = pick(["c", "c", "static_cast", "reinterpret_cast", "function"])
        return ir.Cast(pick([ir.INT, ir.FLOAT] if style == "function" else TYPES), inner(), style)
    if kind == 8:
        return ir.Ternary(inner(), inner(), inner())
    if kind == 9:
        return ir.Member(inner(), pick(["x", "y"]), draw(st.booleans()))
    return ir.Index(inner(), (inner(),))


@settings(max_examples=400, deadline=None)
@given(expressions())
def test_random_expressions_survive_printing_and_parsing(expr: ir.Expr) -> None:
    assert read(print_expr(expr)) == expr


@settings(max_examples=100, deadline=None)
@given(expressions())
def test_parentheses_are_minimal(expr: ir.Expr) -> None:
    """Taking away any one pair of parentheses changes the tree (or is no expression any more)."""
    text = print_expr(expr)
    for start, end in grouping(text):
        fewer = f"{text[:start]} {text[start + 1:end]} {text[end + 1:]}"
        if text[start + 1] in "-+&":  # -(-a): a space would do, parentheses are plainer
            continue
        inside = attempt(text[start + 1:end])
        if isinstance(inside, ir.AssignExpr):  # the grammar takes a + b = c, C does not
            continue
        if isinstance(inside, (ir.IntLit, ir.FloatLit)) or (isinstance(inside, ir.Bin) and inside.op == ","):
            continue  # (0).x and a[(b, c)] are read in other ways by other standards
        assert attempt(fewer) != expr, (text, fewer)


def attempt(text: str) -> ir.Expr | None:
    """What ``text`` is parsed as; None when it is no expression."""
    if parse(f"__device__ void f() {{ x = ({text}); }}", "t.cu").tree.root_node.has_error:
        return None
    try:
        return read(text)
    except StopIteration:
        return None


def grouping(text: str) -> list[tuple[int, int]]:
    """Positions of the parentheses that group (no call, no cast)."""
    stack, out = [], []
    for i, c in enumerate(text):
        if c == "(":
            stack.append(i)
        elif c == ")":
            start = stack.pop()
            before = text[:start].rstrip()
            called = bool(before) and (before[-1].isalnum() or before[-1] in "_>")
            cast = any(text[start + 1:].startswith(f"{t})") for t in (
                "int", "unsigned int", "float", "long long", "float*", "const float4*"))
            if not called and not cast:
                out.append((start, i))
    return out


def test_readable_kernel() -> None:
    loop = ir.For("k", "k", ir.INT, ir.IntLit(0), "<", ir.Var("n"), ir.IntLit(2), (ir.Barrier(),), 4, "the tile")
    kernel = ir.Kernel("f", (ir.Param(ir.CType("float", 1, True, False, True), "a"), ir.Param(ir.INT, "n")), (
        ir.Decl(ir.FLOAT, "s", (ir.IntLit(4), ir.IntLit(5)), None, "shared", 16, "staged rows of a"),
        ir.Comment("two\nlines"), loop,
        ir.Loop("for", "i", (ir.Decl(ir.INT, "i", (), ir.IntLit(0)), ir.Decl(ir.INT, "j", (), ir.IntLit(1))),
                None, ir.IncDec("++", ir.Var("i"), False), (ir.Break(),), 0),
        ir.If(ir.Var("n"), (ir.Return(),), (ir.If(ir.Var("m"), (), (ir.Continue(),)),)),
    ), (128, 2))
    assert print_kernel(kernel) == """\
extern "C" __global__ void __launch_bounds__(128, 2) f(const float* __restrict__ a, int n) {
    // staged rows of a
    __shared__ __align__(16) float s[4][5];
    // two
    // lines
    // the tile
    #pragma unroll 4
    for (int k = 0; k < n; k += 2) {
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0, j = 1;; i++) {
        break;
    }
    if (n) {
        return;
    } else if (m) {
    } else {
        continue;
    }
}
"""


def test_long_lines_are_broken() -> None:
    total: ir.Expr = ir.Var("first_operand")
    for i in range(20):
        total = ir.Bin("+", total, ir.Call("fmaxf", (ir.Var(f"operand_{i}"), ir.FloatLit("0.0f"))))
    lines = print_body((ir.Assign(ir.Var("sum"), "=", total),), 1).splitlines()
    assert len(lines) > 1 and max(map(len, lines)) <= 120


def test_types() -> None:
    assert print_type(ir.CType("float", 1, True, False, True)) == "const float* __restrict__"
    assert print_type(ir.CType("int", 0, False, True)) == "volatile int"


UNPRINTED = {("For", "label"), ("Loop", "label"), ("Opaque", "reads"), ("Opaque", "writes"), ("Opaque", "reason"),
             ("Opaque", "barrier"), ("OpaqueExpr", "reads"), ("OpaqueExpr", "writes"), ("OpaqueExpr", "reason")}


ABSENT = {"init": ir.IntLit(77), "unroll": 5, "type": ir.CType("long long"), "cond": ir.IntLit(77),
          "update": ir.IntLit(77)}


def variants(node: Any, name: str) -> list[Any]:
    """The node with other values in one field: one, or one for each part of a type."""
    value = getattr(node, name)
    if isinstance(value, ir.CType):
        changes: list[dict[str, Any]] = [{"base": "other"}, {"pointer": value.pointer + 1}, {"const": not value.const},
                                         {"volatile": not value.volatile}, {"restrict": not value.restrict}]
        return [replace(node, **{name: replace(value, **c)}) for c in changes
                if value.pointer or "restrict" not in c]
    changed = perturbed(node, name)
    return [] if changed is None else [changed]


def perturbed(node: Any, name: str) -> Any:
    """The node with another value in one field; None where the field has no other sensible value."""
    value = getattr(node, name)
    if (type(node).__name__, name) in UNPRINTED:
        return None
    if isinstance(value, bool):
        return replace(node, **{name: not value})
    if isinstance(value, int):
        return replace(node, **{name: value + 1})
    if value is None and name in ABSENT:
        if isinstance(node, ir.Loop) and node.kind != "for" and name == "update":  # a while has no place for it
            return None
        return replace(node, **{name: ABSENT[name]})
    if isinstance(value, str):
        options = {"op": {"++": "--", "--": "++", "=": "+=", "-": "+", "!": "~", "*": "-", "&": "-", "~": "-"},
                   "cmp": {"<": "<="}, "kind": {"for": "while", "while": "do", "do": "while"}, "style": {
                       "c": "static_cast"}, "space": {"": "shared"}, "axis": {"x": "y", "y": "z", "z": "x"}}
        default = {"op": "=" if isinstance(node, (ir.Assign, ir.AssignExpr)) else "+", "cmp": "<", "style": "c",
                   "space": "", "kind": "for"}
        other = options.get(name, {}).get(value, default.get(name, value + "q"))
        return None if other == value else replace(node, **{name: other})
    if isinstance(value, walk.EXPRS):
        return replace(node, **{name: ir.Call("changed", (value,))})
    if isinstance(value, tuple) and value:
        return replace(node, **{name: value[:-1]})
    return None


@pytest.mark.parametrize("name", CASES)
def test_every_field_shows_in_the_text(name: str) -> None:
    kernel = load(name).kernel
    text = print_kernel(kernel)
    nodes = list(walk.walk(kernel.body))
    seen = 0
    for target in nodes[:: max(1, len(nodes) // 60)]:
        for f in fields(target):
            if not f.compare:
                continue
            for changed in variants(target, f.name):
                body = walk.rewrite(kernel.body, lambda n, t=target, c=changed: c if n is t else n)
                assert print_kernel(kernel.with_body(body)) != text, (target, f.name)
                seen += 1
    for change in ({"name": "q"}, {"params": kernel.params[1:]}, {"launch_bounds": (64, 3)}, {"extern_c": False}):
        assert print_kernel(replace(kernel, **change)) != text  # type: ignore[arg-type]
    assert seen > 10


NOT_LOADED = (ir.Comment, ir.AsyncCopy, ir.AsyncCommit, ir.AsyncWait)  # only lowering makes them


def test_the_corpus_has_a_node_for_each_field() -> None:
    """Each kind of node, each of its fields: some kernel has one whose perturbation is looked at."""
    wanted = {(k.__name__, f.name) for k in walk.NODES if k not in NOT_LOADED for f in fields(k) if f.compare}
    wanted -= UNPRINTED | {("Return", "value")}  # kernels return nothing
    for name in CASES:
        for node in walk.walk(load(name).kernel.body):
            for f in fields(node):
                pair = (type(node).__name__, f.name)
                if pair in wanted and variants(node, f.name):
                    wanted.discard(pair)
    assert not wanted


@pytest.mark.parametrize(("node", "name"), [
    (n, f.name) for n in (ir.Comment("text"), ir.AsyncWait(1), ir.Return(ir.NOWHERE, ir.IntLit(1)), ir.AsyncCopy(
        ir.Index(ir.Var("s"), (ir.IntLit(0),)), ir.Index(ir.Var("a"), (ir.IntLit(0),)), 16, ir.Var("c")))
    for f in fields(n) if f.compare])
def test_fields_of_nodes_that_only_lowering_makes_show(node: Any, name: str) -> None:
    changed = {"bytes": 8, "pending": 3, "source": ir.Index(ir.Var("b"), (ir.IntLit(0),))}
    new = replace(node, **{name: changed[name]}) if name in changed else perturbed(node, name)
    assert print_body((new,)) != print_body((node,))


@pytest.mark.parametrize("name", CASES)
def test_printed_text_reads_as_the_same_kernel(name: str, tmp_path: Path) -> None:
    unit = load(name)
    path = tmp_path / "again.cu"
    path.write_text(unit.cuda())
    again = load_unit(path, unit.kernel.name)
    assert again.kernel == unit.kernel
    assert again.cuda() == unit.cuda()


@pytest.mark.parametrize(("text", "printed"), [
    ("-a++->x", "-a++->x"), ("!a--[2].x", "!a--[2].x"), ("- -a++->x", "-(-a++->x)"), ("~a++->x[1]", "~a++->x[1]"),
    ("-a++[1][2]", "-a++[1][2]"), ("(-a++).x", "(-a++).x"), ("-(a++).x", "-a++.x"), ("(int)a++[1]", "(int)a++[1]"),
])
def test_postfix_operators_bind_before_signs(text: str, printed: str) -> None:
    assert print_expr(read(text)) == printed
