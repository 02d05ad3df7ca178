"""Types of expressions, as far as normal forms and printers need them (LP64, C's promotions and conversions)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome import ir, walk
from genome.frontend.types import FLOATS, INTEGERS, UNSIGNED, width

RANK = {1: "int", 2: "int", 4: "int", 8: "long long"}
COMPARISONS = frozenset(["==", "!=", "<", ">", "<=", ">=", "&&", "||"])
FLOAT_RESULT = frozenset(["sqrt", "rsqrt", "exp", "exp2", "exp10", "log", "log2", "log10", "pow", "sin", "cos", "tan",
                          "tanh", "fabs", "fma", "fmin", "fmax", "floor", "ceil", "erf", "fmod", "round", "rint"])
LOADS = frozenset(["__ldg", "__ldca", "__ldcg", "__ldcs", "__ldlu", "__ldcv"])
LANES = {"x", "y", "z", "w"}


def declared_types(kernel: ir.Kernel) -> dict[str, ir.CType]:
    """Names → types of parameters and locals; an array counts as a pointer to its elements."""
    types = {p.name: p.type for p in kernel.params}
    for n in walk.walk(kernel.body):
        if isinstance(n, ir.Decl):
            types[n.name] = replace(n.type, pointer=n.type.pointer + len(n.dims)) if n.dims else n.type
        elif isinstance(n, ir.For) and n.type is not None:
            types[n.var] = n.type
    return types


def is_integer(t: ir.CType | None) -> bool:
    return t is not None and t.pointer == 0 and t.base in INTEGERS


def is_pointer(t: ir.CType | None) -> bool:
    return t is not None and t.pointer > 0


def promote(t: ir.CType) -> ir.CType:
    """The integer type after promotion, in the shortest spelling of its width and sign."""
    if width(t.base) < 4:
        return ir.INT
    core = RANK[width(t.base)]
    return ir.CType(f"unsigned {core}" if t.base in UNSIGNED else core)


def common(a: ir.CType | None, b: ir.CType | None) -> ir.CType | None:
    """The type of arithmetic on two scalars."""
    if a is None or b is None or a.pointer or b.pointer:
        return None
    for base in ("double", "float"):
        if base in (a.base, b.base):
            other = b if a.base == base else a
            return ir.CType(base) if other.base in FLOATS | INTEGERS else None
    if a.base not in INTEGERS or b.base not in INTEGERS:
        return None
    pa, pb = promote(a), promote(b)
    if width(pa.base) != width(pb.base):
        return pa if width(pa.base) > width(pb.base) else pb
    return pa if pa.base in UNSIGNED else pb


def type_of(e: ir.Expr, types: Mapping[str, ir.CType]) -> ir.CType | None:
    """The type of ``e`` (promoted for arithmetic), or None where it is not known."""
    match e:
        case ir.IntLit(value=v, suffix=s):
            unsigned = "u" in s.lower()
            wide = "l" in s.lower() or v >= (2**32 if unsigned else 2**31)
            core = "long long" if wide else "int"
            return ir.CType(f"unsigned {core}" if unsigned else core)
        case ir.FloatLit(text=text):
            return ir.CType("float" if text[-1] in "fF" else "double")
        case ir.Literal(text=text):
            return ir.BOOL if text in ("true", "false") else ir.CType("char") if text.startswith("'") else None
        case ir.Var(name=n):
            return types.get(n)
        case ir.Builtin(name=n):
            return ir.INT if n == "warpSize" else ir.UINT
        case ir.Coord():
            return ir.UINT
        case ir.Index(base=base, subs=subs):
            return _pointee(type_of(base, types), len(subs))
        case ir.Cast(type=ctype):
            return ctype
        case ir.Un(op=op, operand=operand):
            return _unary(op, type_of(operand, types))
        case ir.Bin():
            return _binary(e, types)
        case ir.Ternary(then=then, other=other):
            a, b = type_of(then, types), type_of(other, types)
            return a if a is not None and a == b else a if is_pointer(a) else common(a, b)
        case ir.IncDec(target=target) | ir.AssignExpr(target=target):
            return type_of(target, types)
        case ir.Member(operand=operand, name=n):
            owner = type_of(operand, types)
            return None if owner is None else lane_type(owner.base, n)
        case ir.Call(func=f, args=args):
            return _call(f, args, types)
    return None


def _pointee(t: ir.CType | None, levels: int) -> ir.CType | None:
    return replace(t, pointer=t.pointer - levels, restrict=False) if t is not None and t.pointer >= levels else None


def _unary(op: str, t: ir.CType | None) -> ir.CType | None:
    if op == "!":
        return ir.BOOL
    if op == "*":
        return _pointee(t, 1)
    if t is None or op == "&":
        return None if t is None else replace(t, pointer=t.pointer + 1)
    return promote(t) if is_integer(t) else t


def _binary(e: ir.Bin, types: Mapping[str, ir.CType]) -> ir.CType | None:
    if e.op in COMPARISONS:
        return ir.BOOL
    b = type_of(e.right, types)
    if e.op == ",":
        return b
    a = type_of(e.left, types)
    if e.op in ("<<", ">>"):
        return promote(a) if a is not None and is_integer(a) else None
    if e.op in ("+", "-") and a is not None and a.pointer:
        return ir.CType("ptrdiff_t") if is_pointer(b) else a
    if e.op == "+" and b is not None and b.pointer:
        return b
    return common(a, b)


def lane_type(base: str, member: str) -> ir.CType | None:
    """``float4`` and ``x`` → ``float``."""
    if member not in LANES or base[-1:] not in "1234":
        return None
    core = {"uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned int", "ulong": "unsigned long",
            "longlong": "long long", "ulonglong": "unsigned long long"}.get(base[:-1], base[:-1])
    return ir.CType(core) if core in INTEGERS | FLOATS else None


def _call(func: str, args: tuple[ir.Expr, ...], types: Mapping[str, ir.CType]) -> ir.CType | None:
    if func in LOADS and len(args) == 1:
        t = type_of(args[0], types)
        return replace(t, pointer=t.pointer - 1, const=False, restrict=False) if t is not None and t.pointer else None
    if func in ("min", "max", "std::min", "std::max") and len(args) == 2:
        return common(type_of(args[0], types), type_of(args[1], types))
    if func.startswith("make_") and func[5:-1].isalpha():
        return ir.CType(func[5:])
    if func.endswith("f") and func[:-1].strip("_") in FLOAT_RESULT or func in ("__fdividef", "__int_as_float"):
        return ir.FLOAT
    if func in FLOAT_RESULT:
        kinds = {t.base if (t := type_of(a, types)) is not None else "" for a in args}
        return ir.FLOAT if kinds == {"float"} else ir.CType("double") if kinds <= {"float", "double"} | INTEGERS \
            and kinds else None
    if func in ("__umul24", "umin", "umax"):
        return ir.UINT
    if func in ("__mul24", "__popc", "__clz", "__ffs", "__float2int_rn", "__float2int_rd", "__float2int_rz",
                "__float_as_int"):
        return ir.INT
    return None
