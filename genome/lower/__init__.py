"""One lowering: the logical body and a schedule become a kernel and its launch."""

from genome.lower.lowering import lower

__all__ = ["lower"]
