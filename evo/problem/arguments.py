"""``[args]``: the kernel's parameters, matched by name and checked against their types and use."""

from __future__ import annotations

import re
from pathlib import Path

from evo.problem.dtypes import INTEGER_RANGE, LARGEST_FLOAT, NUMPY, dtype_of, is_integer, spell
from evo.problem.roles import ArrayUse, array_use
from evo.problem.table import Table, nearest
from genome import ir
from genome.expressions import ExpressionError, names
from genome.workload import Argument

ROLES = ("in", "out", "inout")
DTYPES = tuple(dict.fromkeys(NUMPY.values()))
INITS = ('write "normal", "uniform", "zeros", "constant:V", "integers:LO:HI", "permutation", "file.npy" or '
         '"file.py:function"')


def read_arguments(args: Table, kernel: ir.Kernel, folder: Path, assumed: list[str]) -> tuple[Argument, ...]:
    """The arguments in the kernel's parameter order. Raises InputError at the first that does not fit."""
    params = {p.name: p for p in kernel.params}
    listing = ", ".join(f"{spell(p.type)} {p.name}" for p in kernel.params)
    for name in args.values:
        if name not in params:
            args.fail(f"kernel '{kernel.name}' has no parameter '{name}'; it has ({listing})", name,
                      remedy=nearest(name, params))
    missing = [n for n in params if n not in args.values]
    if missing:
        args.fail(f"[args] describes {len(args.values)} of the {len(params)} parameters of '{kernel.name}': "
                  f"{', '.join(missing)} missing", remedy=f"parameters are ({listing})")
    use = array_use(kernel)
    out = tuple(_array(args.table(n), p, use, folder) if p.type.pointer else _scalar(args.table(n), p)
                for n, p in params.items())
    if not any(a.role in ("out", "inout") and a.is_array for a in out):
        candidates = [a.name for a in out if a.is_array and not params[a.name].type.const]
        args.fail("no argument is an output, so nothing could be verified",
                  remedy=f'add role = "out" to {" or ".join(candidates)}' if candidates else "the kernel has no "
                  "array parameter that it may write")
    by_init: dict[str, list[str]] = {}
    for a in out:
        if a.is_array and a.role != "out" and "init" not in args.table(a.name):
            by_init.setdefault(a.init, []).append(a.name)
    assumed.extend(f"{', '.join(group)}: filled with {_describe(init)}" for init, group in by_init.items())
    return out


def _array(t: Table, p: ir.Param, use: ArrayUse, folder: Path) -> Argument:
    if p.type.pointer > 1:
        t.fail(f"parameter '{p.name}' is a pointer to pointers ({spell(p.type)}), which is not supported")
    if "value" in t and "shape" not in t:
        t.fail(f"'{p.name}' is an array in the kernel ({spell(p.type)}), so it has a shape, not a value", "value",
               remedy='write shape = "M*K"')
    t.only("shape", "role", "init", "dtype")
    if "shape" not in t:
        t.fail(f"array '{p.name}' has no shape", remedy='write shape = "M*K"')
    shape = _expression(t, "shape")
    dtype = _dtype(t, p)
    role = t.text("role", "in")
    if role not in ROLES:
        t.fail(f"unknown role '{role}' of '{p.name}'", "role", remedy=nearest(role, ROLES))
    _check_role(t, p, role, use)
    init = _init(t, p, role, dtype, folder)
    return Argument(p.name, dtype, shape=shape, role=role, init=init)


def _check_role(t: Table, p: ir.Param, role: str, use: ArrayUse) -> None:
    if role != "in" and p.type.const:
        t.fail(f"'{p.name}' is declared role = \"{role}\", but the kernel takes it as {spell(p.type)}", "role",
               remedy='declare it role = "in", or drop the const in the kernel')
    if role == "in" and p.name in use.written:
        where = "is declared role = \"in\"" if "role" in t else "has no role"
        t.fail(f"the kernel writes '{p.name}', which {where}", "role",
               remedy='write role = "out", or role = "inout" when its old content matters')
    if role != "in" and p.name not in use.written | use.maybe:
        t.fail(f"'{p.name}' is declared role = \"{role}\", but the kernel never writes it", "role",
               remedy='declare it role = "in"')


def _init(t: Table, p: ir.Param, role: str, dtype: str, folder: Path) -> str:
    if "init" not in t:
        return ("integers:0:2" if dtype == "bool" else "integers:0:100") if not dtype.startswith("float") else "normal"
    if role == "out":
        t.fail(f"'{p.name}' is an output, so it has no init", "init",
               remedy='write role = "inout" when its old content matters')
    init = t.text("init")
    if init in ("normal", "uniform"):
        if not dtype.startswith("float"):
            t.fail(f"init = \"{init}\" needs a floating-point array; '{p.name}' is {dtype}", "init",
                   remedy='write init = "integers:0:100"')
        return init
    if init in ("zeros", "permutation"):
        if init == "permutation" and not is_integer(dtype):
            t.fail(f"init = \"permutation\" needs an integer array; '{p.name}' is {dtype}", "init")
        return init
    if re.fullmatch(r"constant:[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", init):
        value = float(init.partition(":")[2])
        low, high = INTEGER_RANGE.get(dtype, (-LARGEST_FLOAT.get(dtype, 1), LARGEST_FLOAT.get(dtype, 1)))
        if not low <= value <= high or (is_integer(dtype) and value != int(value)):
            t.fail(f"init = \"{init}\": '{p.name}' is {dtype}, which does not hold that number", "init")
        return init
    if m := re.fullmatch(r"integers:(-?[0-9]{1,19}):(-?[0-9]{1,19})", init):
        if int(m[1]) >= int(m[2]):
            t.fail(f"init = \"{init}\" is an empty range: the second number is exclusive", "init")
        low, high = INTEGER_RANGE.get(dtype, (0, 1) if dtype == "bool" else (-2**24, 2**24))
        if int(m[1]) < low or int(m[2]) - 1 > high:
            t.fail(f"init = \"{init}\": '{p.name}' is {dtype}, which holds whole numbers from {low} to {high}", "init")
        return init
    file, _, function = init.partition(":")
    if (file.endswith(".npy") and not function) or (file.endswith(".py") and function.isidentifier()):
        if not (folder / file).is_file():
            t.fail(f"init of '{p.name}': there is no file {folder / file}", "init")
        return init
    t.fail(f"init = \"{init}\" of '{p.name}' is not understood", "init", remedy=INITS)


def _describe(init: str) -> str:
    if init.startswith("integers:"):
        _, low, high = init.split(":")
        return f"random integers from {low} to {int(high) - 1}"
    return {"normal": "standard normal numbers"}.get(init, init)


def _scalar(t: Table, p: ir.Param) -> Argument:
    if "shape" in t and "value" not in t:
        t.fail(f"'{p.name}' is a scalar in the kernel ({spell(p.type)}), so it has a value, not a shape", "shape",
               remedy=f'write value = "{p.name}"')
    if "role" in t or "init" in t:
        key = "role" if "role" in t else "init"
        t.fail(f"'{p.name}' is a scalar ({spell(p.type)}), so it has no {key}", key)
    t.only("value", "dtype")
    if "value" not in t:
        t.fail(f"scalar '{p.name}' has no value", remedy=f'write value = "{p.name}"')
    return Argument(p.name, _dtype(t, p), value=_expression(t, "value"))


def _dtype(t: Table, p: ir.Param) -> str:
    if "dtype" in t:
        given = t.text("dtype")
        if given not in DTYPES:
            t.fail(f"unknown dtype '{given}' of '{p.name}'", "dtype", remedy=nearest(given, DTYPES))
        known = dtype_of(p.type)
        if known is not None and known != given:
            t.fail(f"'{p.name}' is {spell(p.type)} in the kernel, which is {known}, not {given}", "dtype",
                   remedy="drop the dtype")
        return given
    found = dtype_of(p.type)
    if found is None:
        t.fail(f"the type of parameter '{p.name}' ({spell(p.type)}) is not known",
               remedy='write dtype = "float32" (the type of its elements; shape then counts those)'
               if p.type.pointer else "structs by value are not supported")
    return found


def _expression(t: Table, key: str) -> str:
    text = t.expression(key)
    if text.strip() == "?":
        t.fail(f"'{t.title(key)}' is still to be filled in", key, remedy='write an expression such as "M*K"')
    try:
        names(text)
    except ExpressionError as e:
        t.fail(str(e), key, remedy="shapes and values are arithmetic over the sizes' scalars")
    return text
