"""C parameter types and the NumPy types of their elements."""

from __future__ import annotations

from genome.ir import CType

NUMPY = {
    "float": "float32", "double": "float64", "half": "float16", "__half": "float16",
    "bool": "bool", "_Bool": "bool",
    "char": "int8", "signed char": "int8", "int8_t": "int8", "unsigned char": "uint8", "uint8_t": "uint8",
    "uchar": "uint8",
    "short": "int16", "int16_t": "int16", "unsigned short": "uint16", "uint16_t": "uint16", "ushort": "uint16",
    "int": "int32", "int32_t": "int32", "unsigned int": "uint32", "unsigned": "uint32", "uint32_t": "uint32",
    "uint": "uint32",
    "long": "int64", "long long": "int64", "int64_t": "int64", "ptrdiff_t": "int64",
    "unsigned long": "uint64", "unsigned long long": "uint64", "uint64_t": "uint64", "size_t": "uint64",
}  # 64-bit long: Linux

INTEGER_RANGE = {f"{s}int{b}": ((0, 2**b - 1) if s else (-(2 ** (b - 1)), 2 ** (b - 1) - 1))
                 for s in ("", "u") for b in (8, 16, 32, 64)}

LARGEST_FLOAT = {"float16": 65504.0, "float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308}


def dtype_of(ctype: CType) -> str | None:
    """The NumPy type of the value, or of what is pointed to; None for structs, vectors and unknown names."""
    return NUMPY.get(ctype.base.removeprefix("std::"))


def is_integer(dtype: str) -> bool:
    return dtype in INTEGER_RANGE


def spell(ctype: CType) -> str:
    """The type as a C programmer writes it."""
    return ("const " if ctype.const else "") + ctype.base + "*" * ctype.pointer
