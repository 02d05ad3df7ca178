"""Fresh names that collide with nothing in the kernel."""

from __future__ import annotations

from genome import ir
from genome.walk import walk


class Names:
    def __init__(self, kernel: ir.Kernel) -> None:
        self.used = {p.name for p in kernel.params} | {kernel.name}
        for n in walk(kernel.body):
            for attribute in ("name", "var", "func", "label"):
                value = getattr(n, attribute, None)
                if isinstance(value, str):
                    self.used.add(value)
            if isinstance(n, (ir.Opaque, ir.OpaqueExpr)):
                self.used |= n.reads | n.writes

    def fresh(self, wanted: str) -> str:
        """``wanted``, with a number behind it where that is taken."""
        name, n = wanted, 1
        while name in self.used:
            n += 1
            name = f"{wanted}{n}"
        self.used.add(name)
        return name
