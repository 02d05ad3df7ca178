"""An independent reference in double precision, and how far a result is from it (evaluator.md C9).

Two sources: the user's function (``[accept] reference``), or the baseline's own text printed in double and run once on
the device (:mod:`genome.double`). The first one is believed: a baseline that disagrees with it is refused. The second
is derived, and rounding may take another branch in it: where it disagrees with the baseline it is not used.

A candidate's root-mean-square error against the reference must not exceed :data:`MULTIPLE` times the baseline's own, or
what ordinary rounding of a sum of that length gives, ``eps/2 * sqrt(n)`` of the result's root mean square. TF32 inputs
have some 300 times that, half-precision sums more, fast intrinsics some ten to a hundred times the baseline's.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from genome.errors import InputError
from genome.expressions import evaluate
from genome.workload import Argument, Size, Workload
from gpu import data
from gpu.compare import root_mean_square
from gpu.data import Array

MULTIPLE = 8.0
# Overflow, underflow and zeros say nothing about precision.
DISTRIBUTIONS = ("given", "integers", "x3", "x0.01", "negated")
WIDE = {"float32": "float64", "complex64": "complex128"}


def extents(workload: Workload, name: str, size: Size) -> tuple[int, ...]:
    """The array's shape as its shape expression writes it: "M*K" gives (M, K), anything else one extent."""
    argument = workload.argument(name)
    assert argument.shape is not None
    scalars = workload.scalars(size)
    factors = tuple(int(evaluate(text, scalars)) for text in _factors(argument.shape))
    return factors if math.prod(factors) == workload.elements(name, size) else (workload.elements(name, size),)


def _factors(text: str) -> list[str]:
    node = ast.parse(text.strip(), mode="eval").body
    found: list[str] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        found.insert(0, ast.unparse(node.right))
        node = node.left
    return [ast.unparse(node), *found]


def from_user(workload: Workload, size: Size, initial: Mapping[str, Array]) -> dict[str, Array]:
    """What the user's function gives for these inputs, flat, floats in double precision.

    It is called with one keyword argument per parameter of the kernel: scalars as Python numbers, arrays in the shape
    that the problem file writes, floating-point ones in double precision. Pure outputs are left out. It returns the
    output, or a dictionary by name when there are several. Raises :class:`InputError` for what is not that.
    """
    assert workload.reference is not None
    where = f"reference {workload.reference}"
    function = data.user_function(workload.folder, workload.reference)
    given: dict[str, object] = {}
    for a in workload.arguments:
        if not a.is_array:
            given[a.name] = workload.scalars(size)[a.name]
        elif a.role != "out":
            array = initial[a.name]
            kind = array.dtype.kind
            wide = array.astype(np.float64 if kind == "f" else np.complex128 if kind == "c" else array.dtype)
            given[a.name] = wide.reshape(extents(workload, a.name, size))
    try:
        result = function(**given)
    except Exception as e:  # the user's function may fail in any way: name it and say how
        raise InputError(f"{where} at size {size}: {type(e).__name__}: {e}",
                         remedy="it is called with one keyword argument per input") from e
    outputs = [a for a in workload.arguments if a.is_array and a.role != "in"]
    if not isinstance(result, Mapping):
        if len(outputs) != 1:
            raise InputError(f"{where} returns one value, the kernel has {len(outputs)} outputs",
                             remedy="return a dictionary by name")
        result = {outputs[0].name: result}
    return {a.name: _checked(where, a, result, workload.elements(a.name, size)) for a in outputs}


def _checked(where: str, argument: Argument, result: Mapping[str, object], count: int) -> Array:
    if argument.name not in result:
        raise InputError(f"{where} gives no {argument.name}", remedy="return every output by name")
    array = np.asarray(result[argument.name])
    if array.size != count or array.dtype.kind not in "biufc":
        raise InputError(f"{where} gives {array.size} elements of {array.dtype} for {argument.name}, "
                         f"needed are {count}")
    kind = data.dtype_of(argument).kind
    wide = np.float64 if kind == "f" else np.complex128 if kind == "c" else data.dtype_of(argument)
    return np.ascontiguousarray(array.reshape(-1).astype(wide))


def widened(workload: Workload) -> Workload:
    """The workload of the program printed in double: float32 arrays and scalars become float64."""
    return replace(workload, arguments=tuple(replace(a, dtype=WIDE.get(a.dtype, a.dtype)) for a in workload.arguments))


def error(got: Array, truth: Array) -> float:
    """Root mean square of the difference over the elements that are finite in both; infinite where only one is."""
    if got.dtype.kind not in "fc":
        return 0.0
    with np.errstate(all="ignore"):
        finite = np.isfinite(truth)
        if np.any(np.isfinite(got) != finite):
            return math.inf
        return root_mean_square(np.where(finite, np.subtract(got, truth, dtype=truth.dtype), 0.0))


def allowed(base: float, dtype: np.dtype[np.generic], terms: float, rms: float) -> float:
    """The largest error that a candidate may have, given the baseline's own, the length of its sums and the result's
    root mean square."""
    return max(MULTIPLE * base, 0.5 * float(np.finfo(dtype.name).eps) * math.sqrt(max(terms, 1.0)) * rms)
