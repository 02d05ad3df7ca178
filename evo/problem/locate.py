"""Where each key of a TOML text stands.

``tomllib`` gives values without positions, so this scanner walks a text that ``tomllib`` has already accepted and
records the line of every key and array element. It reads structure only (tables, keys, strings, brackets); values
stay ``tomllib``'s business, so the two cannot disagree about them.
"""

from __future__ import annotations

import tomllib

Path = tuple[str | int, ...]


def locate(text: str) -> dict[Path, int]:
    """Line (from 1) of each table, key and array element of a valid TOML text, by its path:
    ``("sizes", "tune", 0, "M")``."""
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.lines: dict[Path, int] = {}
        self.arrays: dict[Path, int] = {}  # [[array of tables]]: elements so far

    def scan(self) -> dict[Path, int]:
        table: Path = ()
        while self._skip_space():
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)
        return self.lines

    # -------------------------------------------------------------------------------------------- structure
    def _header(self) -> Path:
        line = self._line()
        double = self.text.startswith("[[", self.at)
        self.at += 2 if double else 1
        path = self._inside_last(self._key(), line)
        self.at += 2 if double else 1
        if double:
            index = self.arrays.get(path, 0)
            self.arrays[path] = index + 1
            self.lines.setdefault(path, line)
            path = (*path, index)
        self.lines.setdefault(path, line)
        return path

    def _inside_last(self, key: tuple[str, ...], line: int) -> Path:
        """The path of a header's key: what stands below an array of tables belongs to its last element. Tables on the
        way exist by being named."""
        path: Path = ()
        for n, part in enumerate(key):
            path = (*path, part)
            if path in self.arrays and n < len(key) - 1:
                path = (*path, self.arrays[path] - 1)
            if n < len(key) - 1:
                self.lines.setdefault(path, line)
        return path

    def _pair(self, table: Path) -> None:
        line = self._line()
        path: Path = table
        for part in self._key():
            path = (*path, part)
            self.lines.setdefault(path, line)
        self._skip_blanks()
        self.at += 1  # "="
        self._value(path)

    def _value(self, path: Path) -> None:
        self._skip_space()
        c = self.text[self.at]
        if c == "[":
            self.at += 1
            index = 0
            while self._skip_space() and self.text[self.at] != "]":
                self.lines[(*path, index)] = self._line()
                self._value((*path, index))
                index += 1
                self._skip_comma()
            self.at += 1
        elif c == "{":
            self.at += 1
            while self._skip_space() and self.text[self.at] != "}":
                self._pair(path)
                self._skip_comma()
            self.at += 1
        elif c in "\"'":
            self._string()
        else:  # number, boolean, date
            while self.at < len(self.text) and self.text[self.at] not in ",]}#\n":
                self.at += 1

    # ----------------------------------------------------------------------------------------------- tokens
    def _key(self) -> tuple[str, ...]:
        parts: list[str] = []
        while True:
            self._skip_blanks()
            start = self.at
            if self.text[self.at] in "\"'":
                self._string()
                quoted = self.text[start:self.at]
                parts.append(str(tomllib.loads(f"k = {quoted}")["k"]))
            else:
                while self.text[self.at].isalnum() or self.text[self.at] in "_-":
                    self.at += 1
                parts.append(self.text[start:self.at])
            self._skip_blanks()
            if self.text[self.at] != ".":
                return tuple(parts)
            self.at += 1

    def _string(self) -> None:
        quote = self.text[self.at]
        triple = self.text.startswith(quote * 3, self.at)
        closing = quote * 3 if triple else quote
        self.at += len(closing)
        while not self.text.startswith(closing, self.at):
            self.at += 2 if quote == '"' and self.text[self.at] == "\\" else 1
        self.at += len(closing)
        while triple and self.text.startswith(quote, self.at):  # up to two quotes may precede the closing three
            self.at += 1

    def _skip_blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1

    def _skip_space(self) -> bool:
        """Past blanks, line ends and comments; False at the end of the text."""
        while self.at < len(self.text):
            if self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self.text[self.at].isspace():
                self.at += 1
            else:
                return True
        return False

    def _skip_comma(self) -> None:
        if self._skip_space() and self.text[self.at] == ",":
            self.at += 1

    def _line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1
