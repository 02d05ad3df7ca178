"""CUDA C++ from the IR."""

from __future__ import annotations

from genome import ir
from genome.printer.base import Printer

WIDTH = 120


class CudaPrinter(Printer):
    """The base printer speaks CUDA; what is left is the kernel's head."""

    def head(self, kernel: ir.Kernel) -> str:
        linkage = 'extern "C" ' if kernel.extern_c else ""
        bounds = ""
        if kernel.launch_bounds is not None:
            threads, blocks = kernel.launch_bounds
            bounds = f"__launch_bounds__({threads}, {blocks}) " if blocks else f"__launch_bounds__({threads}) "
        start = f"{linkage}__global__ void {bounds}{kernel.name}("
        params = [f"{self.type_name(p.type)} {p.name}".rstrip() for p in kernel.params]
        line = start + ", ".join(params) + ") {"
        if len(line) <= WIDTH:
            return line
        lines, current = [], start
        for i, p in enumerate(params):
            piece = p + (", " if i + 1 < len(params) else ") {")
            if len(current) + len(piece.rstrip()) > WIDTH and current != start:
                lines.append(current.rstrip())
                current = " " * 8
            current += piece
        return "\n".join([*lines, current])


def print_kernel(kernel: ir.Kernel) -> str:
    """The kernel as CUDA source, ending with a newline."""
    printer = CudaPrinter()
    return "\n".join([printer.head(kernel), *printer.body(kernel.body, 1), "}"]) + "\n"


def print_expr(expr: ir.Expr) -> str:
    """The expression as CUDA source, with the parentheses that precedence asks for and no others."""
    return CudaPrinter().expr(expr)


def print_type(ctype: ir.CType) -> str:
    """The type's spelling: ``const float* __restrict__``."""
    return CudaPrinter().type_name(ctype)


def print_body(body: tuple[ir.Stmt, ...], depth: int = 0) -> str:
    """Statements as CUDA source."""
    return "\n".join(CudaPrinter().body(body, depth)) + "\n"
