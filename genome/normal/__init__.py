"""Normal forms: each function takes a kernel and returns an equivalent one that is easier to reason about."""

from genome.normal.rename import alpha_rename

__all__ = ["alpha_rename"]
