"""What a piece of IR may write, as far as recognising canonical loops needs it (conservative)."""

from __future__ import annotations

import re
from typing import Any

from genome import ir, walk

MEMORY = "*"  # any element of memory that is reached through a pointer or an array

PURE_CALL = re.compile(
    r"(?:std::|::)?(?:min|max|abs|fabs|sqrt|rsqrt|cbrt|exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|sin|cos|tan|asin|"
    r"acos|atan|atan2|sinh|cosh|tanh|asinh|acosh|atanh|erf|erfc|erfinv|tgamma|lgamma|floor|ceil|round|trunc|rint|"
    r"nearbyint|fmod|fma|fmin|fmax|fdim|hypot|copysign|isnan|isinf|isfinite|signbit|saturate|rhypot|normcdf|sinpi|"
    r"cospi|logb|ldexp|scalbn|ceil_div|mul24|umul24)(?:f|l)?(?:<.*>)?$|"
    r"(?:u|ll|ull)(?:min|max|abs)$|labs$|llabs$|__ldg$|__ld(?:ca|cg|cs|lu|cv)$|"
    r"__(?:u?mul24|u?mulhi|u?mul64hi|f[a-z]+_r[nzud]|d[a-z]+_r[nzud]|fdividef|expf|exp10f|logf|log2f|log10f|powf|"
    r"sinf|cosf|tanf|saturatef|popc|popcll|clz|clzll|ffs|ffsll|brev|brevll|byte_perm|sad|usad|u?hadd|rhadd|"
    r"[a-z0-9]+2[a-z0-9]+(?:_r[nzud])?|[a-z]+_as_[a-z]+)$|make_[a-z]+[1234]$")


# ranks and sizes of a cooperative group: they differ between threads, and change nothing
GROUP_PURE = re.compile(
    r"cg\.(?:thread_rank|size|num_threads|group_index|thread_index|meta_group_rank|meta_group_size|group_dim|"
    r"dim_threads|block_rank|num_blocks|block_index|dim_blocks|cluster_rank|num_clusters)$")
# values from other threads: not to be moved, and memory stays as it is
EXCHANGE = re.compile(
    r"__(?:shfl|ballot|any|all|match|reduce)\w*$|__activemask$|"
    r"cg\.(?:shfl\w*|any|all|ballot|match_any|match_all)$|(?:\w+::)*(?:this_thread_block|this_grid|this_cluster|"
    r"coalesced_threads|tiled_partition|labeled_partition|binary_partition)(?:<.*>)?$")
# memory may be changed, by this thread or by others that it waits for, but no variable is bound by reference
MEMORY_ONLY = re.compile(
    r"atomic(?:Add|Sub|Exch|Min|Max|Inc|Dec|CAS|And|Or|Xor)(?:_block|_system)?$|__syncwarp$|__threadfence(?:_\w+)?$|"
    r"__syncthreads_(?:count|and|or)$|__nanosleep$|printf$|cg\.(?:sync|arrive|wait|barrier_\w+)$|"
    r"(?:\w+::)*(?:memcpy|memset|__pipeline_\w+)$")


def pure(func: str) -> bool:
    """A call that writes nothing and synchronises nothing (it may read memory)."""
    return PURE_CALL.match(func) is not None or GROUP_PURE.match(func) is not None


def exchanges(func: str) -> bool:
    """A call that trades values with other threads, and writes no memory."""
    return EXCHANGE.match(func) is not None


def binds_references(func: str) -> bool:
    """Whether a call may change the variables that it is given."""
    return not (pure(func) or exchanges(func) or MEMORY_ONLY.match(func) is not None)


def written(node: Any) -> set[str]:
    """Names that may be assigned below ``node``; :data:`MEMORY` when memory may be."""
    out: set[str] = set()
    for n in walk.walk(node):
        if isinstance(n, (ir.Assign, ir.AssignExpr, ir.IncDec)):
            _target(n.target, out)
        elif isinstance(n, ir.Decl):
            out.add(n.name)
        elif isinstance(n, (ir.Opaque, ir.OpaqueExpr)):
            out |= n.writes
            if n.writes:
                out.add(MEMORY)
        elif isinstance(n, ir.Un) and n.op == "&":
            _target(n.operand, out)
        elif isinstance(n, ir.Call) and not pure(n.func) and not exchanges(n.func):
            out.add(MEMORY)
            for a in n.args if binds_references(n.func) else ():
                if isinstance(a, (ir.Var, ir.Member, ir.Index)):
                    _target(a, out)
        elif isinstance(n, ir.For):
            out.add(n.var)
        elif isinstance(n, ir.Barrier):
            out.add(MEMORY)
    return out


def _target(target: ir.Expr, out: set[str]) -> None:
    if not isinstance(target, ir.Var):
        out.add(MEMORY)
    name = walk.root(target)
    if name is None:
        out |= walk.variables(target)
    else:
        out.add(name)


def reads_memory(node: Any) -> bool:
    """Whether evaluating an expression may load from memory or call something that is not pure."""
    return any(isinstance(n, (ir.Index, ir.OpaqueExpr)) or (isinstance(n, ir.Un) and n.op == "*")
               or (isinstance(n, ir.Member) and n.arrow)
               or (isinstance(n, ir.Call) and (not pure(n.func) or n.func.startswith("__ld")))
               for n in walk.walk(node))


def has_effects(node: Any) -> bool:
    """Whether evaluating an expression may change anything."""
    return any(isinstance(n, (ir.IncDec, ir.AssignExpr)) or (isinstance(n, ir.OpaqueExpr) and bool(n.writes))
               or (isinstance(n, ir.Call) and not pure(n.func)) for n in walk.walk(node))
