"""Input data for a workload: what ``Argument.init`` describes, drawn from a seed, and variations of it.

The same (seed, argument, size) always gives the same bytes, so a restarted worker works on the same data.
"""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from genome.errors import InputError
from genome.expressions import ExpressionError, Number, evaluate
from genome.program import WORKSPACE_TYPES, Workspace
from genome.workload import Argument, Size, Workload

Array = NDArray[np.generic]

DTYPES = frozenset({"float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                    "uint64", "bool", "complex64", "complex128"})

# Variations of randomly drawn floating-point inputs (evaluator.md C10, C17). "integers" draws from {-2, ..., 2}: sums
# of products of those are exact in any order as long as they stay below 2^24, so they must agree bit for bit. "tiny"
# are numbers around the smallest normal one, half of them below it.
DISTRIBUTIONS = ("given", "integers", "x3", "x0.01", "negated", "zeros", "x1000", "tiny")
_FACTORS = {"x3": 3.0, "x0.01": 0.01, "negated": -1.0, "zeros": 0.0, "x1000": 1000.0}


def dtype_of(argument: Argument) -> np.dtype[np.generic]:
    """Raises :class:`InputError` for a type that no array here can have."""
    if argument.dtype not in DTYPES:
        raise InputError(f"argument {argument.name}: unknown type '{argument.dtype}'",
                         remedy="one of " + ", ".join(sorted(DTYPES)))
    return np.dtype(argument.dtype)


def scalar(argument: Argument, value: Number) -> np.generic:
    """A scalar argument as the kernel takes it. Raises :class:`InputError` when the value does not fit its type
    (evaluator.md C16)."""
    dtype = dtype_of(argument)
    if dtype.kind in "iu":
        limits = np.iinfo(argument.dtype)
        if not limits.min <= value <= limits.max or int(value) != value:
            raise InputError(f"argument {argument.name}: {value} does not fit {argument.dtype}")
    result: np.generic = dtype.type(value)
    return result


def host_arrays(workload: Workload, size: Size, seed: int, distribution: str = "given") -> dict[str, Array]:
    """The initial content of all ``in`` and ``inout`` arrays at ``size``, flat, by name.

    Raises :class:`InputError` for an ``init`` that makes no sense, a missing file, or a shape that does not fit.
    """
    result = {}
    salt = zlib.crc32(repr(sorted(size.values)).encode())
    for index, argument in enumerate(workload.arguments):
        if argument.is_array and argument.role != "out":
            count = element_count(workload, argument.name, size)
            rng = np.random.default_rng([seed, index, salt])
            result[argument.name] = _vary(argument, _initial(workload, argument, count, size, rng), distribution, rng)
    return result


def element_count(workload: Workload, name: str, size: Size) -> int:
    """Number of elements of an array; raises :class:`InputError` unless it is positive."""
    try:
        count = workload.elements(name, size)
    except ExpressionError as e:
        raise InputError(f"shape of {name}: {e}") from e
    if count <= 0:
        raise InputError(f"shape of {name}: {count} elements at size {size}", remedy="shapes must be positive")
    return count


def workspace(w: Workspace, scalars: Mapping[str, Number]) -> tuple[int, np.dtype[np.generic]]:
    """Number and type of a workspace's elements. Raises :class:`InputError` unless the number is positive."""
    try:
        count = int(evaluate(w.elements, scalars))
    except ExpressionError as e:
        raise InputError(f"workspace {w.name}: {e}") from e
    if count <= 0:
        raise InputError(f"workspace {w.name}: {count} elements", remedy="its size must be positive")
    return count, np.dtype(WORKSPACE_TYPES[w.type])


def _initial(workload: Workload, argument: Argument, count: int, size: Size, rng: np.random.Generator) -> Array:
    dtype, init = dtype_of(argument), argument.init
    where = f"argument {argument.name}: init = \"{init}\""
    try:
        if init == "normal":
            return _normal(dtype, count, rng)
        if init == "uniform":
            return _uniform(dtype, count, rng)
        if init == "zeros":
            return np.zeros(count, dtype)
        if init == "permutation":
            return rng.permutation(count).astype(dtype)
        if init.startswith("constant:"):
            return np.full(count, float(init[9:]) if dtype.kind in "fc" else int(init[9:]), dtype)
        if init.startswith("integers:"):
            low, high = (int(part) for part in init[9:].split(":"))
            return rng.integers(low, high, count).astype(dtype)
    except (ValueError, OverflowError) as e:
        raise InputError(f"{where}: {e}") from e
    if init.endswith(".npy"):
        return _checked(where, _load(workload, init, where), dtype, count)
    if ".py:" in init:
        make = user_function(workload.folder, init)
        return _checked(where, np.asarray(make(count, dtype, dict(workload.scalars(size)), rng)), dtype, count)
    raise InputError(f"{where} is not known", remedy="normal, uniform, zeros, constant:V, integers:LO:HI, permutation, "
                                                    "file.npy or module.py:function")


def _normal(dtype: np.dtype[np.generic], count: int, rng: np.random.Generator) -> Array:
    if dtype == np.float32:
        return rng.standard_normal(count, np.float32)
    if dtype.kind == "f":
        return rng.standard_normal(count).astype(dtype)
    if dtype.kind == "c":
        return (rng.standard_normal(count) + 1j * rng.standard_normal(count)).astype(dtype)
    low, high = (0, 2) if dtype.kind == "b" else (0, 16) if dtype.kind == "u" else (-8, 8)
    return rng.integers(low, high, count).astype(dtype)


def _uniform(dtype: np.dtype[np.generic], count: int, rng: np.random.Generator) -> Array:
    if dtype == np.float32:
        return rng.random(count, np.float32)
    if dtype.kind == "f":
        return rng.random(count).astype(dtype)
    if dtype.kind == "c":
        return (rng.random(count) + 1j * rng.random(count)).astype(dtype)
    return rng.integers(0, 2 if dtype.kind == "b" else 100, count).astype(dtype)


def _load(workload: Workload, name: str, where: str) -> Array:
    try:
        return np.asarray(np.load(Path(workload.folder, name), allow_pickle=False))
    except (OSError, ValueError) as e:
        raise InputError(f"{where}: {e}") from e


def _checked(where: str, array: Array, dtype: np.dtype[np.generic], count: int) -> Array:
    if array.dtype != dtype or array.size != count:
        raise InputError(f"{where}: gives {array.size} elements of {array.dtype}, needed are {count} of {dtype}")
    return np.ascontiguousarray(array.reshape(-1))


def user_function(folder: str, reference: str) -> Callable[..., object]:
    """The function of "module.py:function", looked up in ``folder``. Raises :class:`InputError`."""
    file, _, name = reference.partition(":")
    path = Path(folder, file)
    spec = importlib.util.spec_from_file_location(f"evo_user_{path.stem}", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise InputError(f"{path}: no such file", remedy=f"it was named by \"{reference}\"")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        function = getattr(module, name)
    except Exception as e:  # the user's module may fail in any way: name it and say how
        raise InputError(f"{path}: {type(e).__name__}: {e}") from e
    if not callable(function):
        raise InputError(f"{path}: '{name}' is not a function")
    return function  # type: ignore[no-any-return]


def is_random_float(argument: Argument) -> bool:
    """Whether the argument's values may be varied: drawn from a continuous distribution, not structured by the user."""
    return argument.is_array and argument.dtype.startswith(("float", "complex")) and argument.init in ("normal",
                                                                                                         "uniform")


def _vary(argument: Argument, array: Array, distribution: str, rng: np.random.Generator) -> Array:
    if distribution == "given" or not is_random_float(argument):
        return array
    if distribution == "integers":
        return rng.integers(-2, 3, array.size).astype(array.dtype)
    factor = float(np.finfo(array.dtype.name).smallest_normal) if distribution == "tiny" else _FACTORS[distribution]
    return (array * array.dtype.type(factor)).astype(array.dtype)  # type: ignore[operator]


def distributions(workload: Workload) -> tuple[str, ...]:
    """The variations that make sense for a workload: only the given one when no input is a random float."""
    return DISTRIBUTIONS if any(is_random_float(a) and a.role != "out" for a in workload.arguments) else ("given",)


def scalar_arguments(workload: Workload, scalars: Mapping[str, Number]) -> dict[str, np.generic]:
    return {a.name: scalar(a, scalars[a.name]) for a in workload.arguments if not a.is_array}
