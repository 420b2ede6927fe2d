"""Frames of the executor's socket: four bytes of length, then one msgpack array (docs/rfc/003)."""

from __future__ import annotations

from typing import Any

import msgpack

PREFIX = 4
MAX_FRAME = 64 << 20

# Paths, arguments and environments are bytes to the system; surrogates carry what is not UTF-8 through `str`.
_pack = msgpack.Packer(unicode_errors="surrogateescape").pack


class ProtocolError(Exception):
    """Bytes or fields that are not a message of this protocol. The connection they came by is closed."""


def frame(message: list[Any]) -> bytes:
    body: bytes = _pack(message)
    return len(body).to_bytes(PREFIX, "big") + body


def decode(body: bytes) -> list[Any]:
    try:
        message = msgpack.unpackb(body, strict_map_key=False, unicode_errors="surrogateescape")
    except (ValueError, TypeError) as error:
        raise ProtocolError(f"not msgpack: {error}") from None
    if not isinstance(message, list) or not message or not isinstance(message[0], str):
        raise ProtocolError("a message is an array that begins with its type")
    return message


class FrameReader:
    """Bytes in, messages out. The size limit is checked before the frame's bytes are waited for."""

    __slots__ = ("_buffer", "_limit")

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes | memoryview) -> list[list[Any]]:
        """Raises ProtocolError for what cannot be a message; the stream is then out of step, to be closed."""
        buffer = self._buffer
        buffer += data
        messages: list[list[Any]] = []
        at = 0
        while len(buffer) - at >= PREFIX:
            size = int.from_bytes(buffer[at : at + PREFIX], "big")
            if size > self._limit:
                raise ProtocolError(f"frame of {size} bytes is over the limit of {self._limit}")
            if len(buffer) - at - PREFIX < size:
                break
            messages.append(decode(bytes(buffer[at + PREFIX : at + PREFIX + size])))
            at += PREFIX + size
        if at:
            del buffer[:at]
        return messages
