"""Length-prefixed frames on a byte stream (unix sockets of clients and of the executor)."""

from __future__ import annotations

from fluxlike.errors import ProtocolError
from fluxlike.protocol.message import MAX_FRAME

PREFIX = 4


def frame(data: bytes) -> bytes:
    return len(data).to_bytes(PREFIX, "big") + data


class FrameReader:
    """Bytes in, whole frames out. The size limit is checked before a byte of the frame is kept."""

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Raises ProtocolError on a frame over the limit: the stream is then out of step and must be closed."""
        buffer = self._buffer
        if not buffer and int.from_bytes(data[:PREFIX], "big") == len(data) - PREFIX <= self._limit:
            return [data[PREFIX:]] if len(data) >= PREFIX else []  # the ordinary case: just one whole frame
        buffer += data
        frames: list[bytes] = []
        at = 0
        while len(buffer) - at >= PREFIX:
            size = int.from_bytes(buffer[at : at + PREFIX], "big")
            if size > self._limit:
                raise ProtocolError(f"frame of {size} bytes is over the limit of {self._limit}")
            if len(buffer) - at - PREFIX < size:
                break
            frames.append(bytes(buffer[at + PREFIX : at + PREFIX + size]))
            at += PREFIX + size
        if at:
            del buffer[:at]
        return frames
