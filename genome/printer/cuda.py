"""CUDA C++ from the IR."""

from __future__ import annotations

from genome import ir
from genome.printer.base import Printer
from genome.walk import walk

WIDTH = 120

# PTX ISA 8, section 9.7.9.25: a source size of 0 fills with zeros and reads nothing; .cg (past L1) takes 16 bytes only.
ASYNC_HELPERS = r"""template <int BYTES>
__device__ __forceinline__ void evo_copy_async(void* shared, const void* global, bool inside) {
    const unsigned int to = (unsigned int)__cvta_generic_to_shared(shared);
    const size_t from = __cvta_generic_to_global(global);
    if (BYTES == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::
            "r"(to), "l"(from), "r"(inside ? 16 : 0) : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;\n" ::
            "r"(to), "l"(from), "n"(BYTES), "r"(inside ? BYTES : 0) : "memory");
    }
}

__device__ __forceinline__ void evo_commit_copies() {
    asm volatile("cp.async.commit_group;\n" ::: "memory");
}

// Waits until at most PENDING of the thread's own groups of copies are under way.
template <int PENDING>
__device__ __forceinline__ void evo_wait_copies() {
    asm volatile("cp.async.wait_group %0;\n" :: "n"(PENDING) : "memory");
}

"""


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


def print_kernel(*kernels: ir.Kernel) -> str:
    """Kernels as CUDA source, with the helpers that they need in front, ending with a newline."""
    helpers = ASYNC_HELPERS if any(isinstance(n, ir.AsyncCopy) for k in kernels for n in walk(k.body)) else ""
    texts = []
    for k in kernels:
        printer = CudaPrinter()
        texts.append("\n".join([printer.head(k), *printer.body(k.body, 1), "}"]) + "\n")
    return helpers + "\n".join(texts)


def print_expr(expr: ir.Expr) -> str:
    """The expression as CUDA source, with the parentheses that precedence asks for and no others."""
    return CudaPrinter().expr(expr)


def print_type(ctype: ir.CType) -> str:
    """The type's spelling: ``const float* __restrict__``."""
    return CudaPrinter().type_name(ctype)


def print_body(body: tuple[ir.Stmt, ...], depth: int = 0) -> str:
    """Statements as CUDA source."""
    return "\n".join(CudaPrinter().body(body, depth)) + "\n"
