"""Entry point: every command's errors end in one line and an exit code, never in a traceback for wrong input."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Sequence

from evo.shadow import foreign_modules

OK, NOTHING_FASTER, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130


def main(args: Sequence[str] | None = None) -> None:
    """Runs a command and exits with its code: 0, 1 (``--require`` and nothing faster), 2 (wrong use or input), 130."""
    sys.exit(call(sys.argv[1:] if args is None else list(args)))


def call(args: Sequence[str]) -> int:
    """Runs a command and returns its exit code."""
    try:
        return _call(args)
    except KeyboardInterrupt:  # also while the packages are still being loaded
        return INTERRUPTED


def _call(args: Sequence[str]) -> int:
    try:
        # Here and not above: a user's gpu.py on the path breaks the import, and that is to be said in one line.
        from evo.cli.app import app
        from genome.errors import InputError
    except (ImportError, AttributeError):
        found = foreign_modules()
        if not found:
            raise
        name, file = found[0]
        return _fail(f"{file} hides evo's own package '{name}' (start evo in another folder, or rename the file)")
    try:
        code = app(args=list(args), prog_name="evo", standalone_mode=False)
        return code if isinstance(code, int) else OK
    except InputError as e:
        return _fail(str(e))
    except BrokenPipeError:  # the reader of our output has gone, as in "evo show | head"
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _unread(args)
    except SystemExit as e:  # Rich has seen the broken pipe first
        if isinstance(e.__context__, BrokenPipeError):
            return _unread(args)
        raise
    except PermissionError as e:
        return _fail(f"{e.filename or 'a file'}: permission denied (choose a place that you may write to)")
    except OSError as e:
        return _fail(f"{e.filename}: {e.strerror}" if e.filename else f"{e.strerror or e}")
    except sqlite3.Error as e:  # a full disk, a damaged run, a lock that another process keeps
        return _fail(f"the run's database: {e} (is the disk full, or does another evo use this run?)")
    except Exception as e:
        if type(e).__name__ == "Abort":
            return INTERRUPTED
        # Typer's own complaint about the command line; which base class it has depends on Typer's version.
        if hasattr(e, "format_message"):
            return _fail(f"{_one_line(e.format_message())} (see: evo --help)")
        raise


def _unread(args: Sequence[str]) -> int:
    """Nobody reads the output any more: enough for a command that reads, the end of one that searches."""
    return INTERRUPTED if args and args[0] in ("run", "resume") else OK


def _fail(message: str) -> int:
    print(f"error: {_one_line(message)}", file=sys.stderr)
    return WRONG_INPUT


def _one_line(text: str) -> str:
    return " ".join(text.split())
