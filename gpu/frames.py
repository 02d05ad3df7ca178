"""Length-prefixed pickled messages over a pipe: the one wire format between the parent and its child processes.

Both ends are ours and started from the same files, so pickle is safe here; it never reads anything from disk.
"""

from __future__ import annotations

import os
import pickle
import struct
from typing import Any

_HEADER = struct.Struct("<Q")


class Closed(Exception):
    """The other end is gone."""


def encode(message: object) -> bytes:
    body = pickle.dumps(message, protocol=5)
    return _HEADER.pack(len(body)) + body


def write(fd: int, message: object) -> None:
    """Writes one message, blocking. Raises :class:`Closed` when nobody reads."""
    view = memoryview(encode(message))
    try:
        while view:
            view = view[os.write(fd, view):]
    except (BrokenPipeError, OSError) as e:
        raise Closed(str(e)) from e


def read(fd: int) -> Any:
    """The next message, blocking. Raises :class:`Closed` at the end of the stream."""
    (length,) = _HEADER.unpack(_exactly(fd, _HEADER.size))
    return pickle.loads(_exactly(fd, length))


def _exactly(fd: int, count: int) -> bytes:
    parts = []
    while count:
        part = os.read(fd, min(count, 1 << 20))
        if not part:
            raise Closed("end of stream")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


class Reader:
    """Collects messages from a pipe that a selector says is readable; never blocks beyond one ``os.read``."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._buffer = bytearray()

    def feed(self) -> list[Any]:
        """Whole messages received so far. Raises :class:`Closed` at the end of the stream, after all of them."""
        try:
            part = os.read(self.fd, 1 << 20)
        except OSError as e:
            raise Closed(str(e)) from e
        if not part:
            raise Closed("end of stream")
        self._buffer += part
        messages = []
        while len(self._buffer) >= _HEADER.size:
            (length,) = _HEADER.unpack_from(self._buffer)
            end = _HEADER.size + length
            if len(self._buffer) < end:
                break
            messages.append(pickle.loads(bytes(self._buffer[_HEADER.size:end])))
            del self._buffer[:end]
        return messages
