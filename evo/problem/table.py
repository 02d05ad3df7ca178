"""Typed access to a parsed TOML table; every complaint names the file, the line and what to write instead."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from evo.problem.locate import Path as KeyPath
from evo.problem.locate import locate
from genome.errors import InputError

LARGEST = 1e300


def number_text(value: float) -> str:
    """A number for a message: Python refuses to spell integers of thousands of digits."""
    if isinstance(value, int) and abs(value) >= 10**18:
        return f"about {'-' if value < 0 else ''}2^{abs(value).bit_length() - 1}"
    return str(value)


def nearest(word: str, known: Iterable[str]) -> str:
    """A remedy: the nearest known word, or all of them."""
    names = list(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else f"known: {', '.join(names)}"


class Table:
    """A table of the problem file at ``path``. ``file`` is the name used in messages."""

    def __init__(self, values: Mapping[str, Any], lines: Mapping[KeyPath, int], file: str, path: KeyPath = ()) -> None:
        self.values, self.lines, self.file, self.path = values, lines, file, path

    @staticmethod
    def parse(text: str, file: str) -> Table:
        """The root table. Raises InputError with the line where the text is no TOML."""
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as e:
            message = str(e)
            head, found, place = message.partition(" (at ")
            line = place.removeprefix("line ").split(",")[0]
            number = int(line) if found and line.isdigit() else text.count("\n") + 1
            raise InputError(f"not valid TOML: {head[:1].lower()}{head[1:]}", file=file, line=number) from None
        return Table(values, locate(text), file)

    @staticmethod
    def read(path: Path) -> tuple[Table, str]:
        """The root table and the text of a file."""
        try:
            text = path.read_bytes().decode("utf-8-sig")  # a byte-order mark at the start is no content
        except UnicodeDecodeError:
            raise InputError("not UTF-8 text", file=str(path), remedy="save the problem file as UTF-8") from None
        except OSError as e:
            raise InputError(f"cannot read it: {e.strerror}", file=str(path)) from None
        text = text.replace("\r\n", "\n")
        return Table.parse(text, str(path)), text

    # ---------------------------------------------------------------------------------------------- messages
    def line(self, *keys: str | int) -> int | None:
        """The line of a key below this table, or of the nearest thing around it that has one."""
        path = (*self.path, *keys)
        while path:
            if path in self.lines:
                return self.lines[path]
            path = path[:-1]
        return None

    def fail(self, message: str, *keys: str | int, remedy: str = "") -> NoReturn:
        raise InputError(message, file=self.file, line=self.line(*keys), remedy=remedy)

    def title(self, *keys: str | int) -> str:
        out = ""
        for k in (*self.path, *keys):
            out += f"[{k}]" if isinstance(k, int) else f"{'.' if out else ''}{k}"
        return out

    # ------------------------------------------------------------------------------------------------ values
    def only(self, *known: str, what: str = "key") -> None:
        """Raises InputError at the first key that is none of ``known``."""
        for key in self.values:
            if key not in known:
                where = f" in [{self.title()}]" if self.path else ""
                self.fail(f"unknown {what} '{key}'{where}", key, remedy=nearest(key, known))

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def table(self, key: str) -> Table:
        """The sub-table ``key``; an empty one where the file has none."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            self.fail(f"'{self.title(key)}' must be a table, not {_kind(value)}", key)
        return Table(value, self.lines, self.file, (*self.path, key))

    def tables(self, key: str) -> list[Table]:
        """An array of tables; empty where the file has none."""
        value = self.values.get(key, [])
        if not isinstance(value, list):
            self.fail(f"'{self.title(key)}' must be a list of tables, not {_kind(value)}", key,
                      remedy=f"write {key} = [{{ N = 1024 }}]")
        out = []
        for n, item in enumerate(value):
            if not isinstance(item, dict):
                self.fail(f"'{self.title(key, n)}' must be a table, not {_kind(item)}", key, n,
                          remedy="write { N = 1024 }")
            out.append(Table(item, self.lines, self.file, (*self.path, key, n)))
        return out

    def text(self, key: str, default: str | None = None) -> str:
        """A string; required where there is no default."""
        if key not in self.values:
            if default is None:
                self.fail(f"'{self.title(key)}' is missing", key)
            return default
        value = self.values[key]
        if not isinstance(value, str) or not value.strip():
            self.fail(f"'{self.title(key)}' must be a non-empty string, not {_kind(value)}", key)
        return value

    def texts(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """A list of strings."""
        value = self.values.get(key, list(default))
        if not isinstance(value, list):
            self.fail(f"'{self.title(key)}' must be a list of strings, not {_kind(value)}", key)
        for n, item in enumerate(value):
            if not isinstance(item, str) or not item.strip():
                self.fail(f"'{self.title(key, n)}' must be a non-empty string, not {_kind(item)}", key, n)
        return tuple(value)

    def flag(self, key: str, default: bool) -> bool:
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            self.fail(f"'{self.title(key)}' must be true or false, not {_kind(value)}", key)
        return value

    def integer(self, key: str, default: int, low: int = 0) -> int:
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail(f"'{self.title(key)}' must be an integer, not {_kind(value)}", key)
        if value < low:
            self.fail(f"'{self.title(key)}' is {value}; the least is {low}", key)
        return value

    def number(self, key: str, default: float, low: float = 0.0) -> float:
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.fail(f"'{self.title(key)}' must be a number, not {_kind(value)}", key)
        if not value >= low:  # also false for nan
            self.fail(f"'{self.title(key)}' is {value}; the least is {low:g}", key)
        if value > LARGEST:
            self.fail(f"'{self.title(key)}' is {number_text(value)}; it must be finite", key)
        return float(value)

    def expression(self, key: str, default: str | None = None) -> str:
        """An expression: a string, or a number as its text."""
        value = self.values.get(key, default)
        if value is None:
            self.fail(f"'{self.title(key)}' is missing", key)
        if isinstance(value, bool) or not isinstance(value, (str, int, float)) or not str(value).strip():
            self.fail(f"'{self.title(key)}' must be an expression, not {_kind(value)}", key,
                      remedy='write a string like "M*K", or a number')
        return str(value)


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, str):
        return "an empty string" if not value.strip() else f"the string {value!r}"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, dict):
        return "a table"
    return "a list" if isinstance(value, list) else f"a {type(value).__name__}"
