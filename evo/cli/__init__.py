"""The command line. ``main`` is the entry point of the ``evo`` command and of ``python -m evo``."""

from evo.cli.entry import main

__all__ = ["main"]
