"""What a job has written and nobody has made safe yet: the output window. Pure.

All tasks and both streams of a job on this node share one row of offsets: one number acknowledges all of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

WINDOW = 256 << 10
"""Bytes that may be unacknowledged per job. Enough for bursts, and little enough to keep in memory."""

Chunk = tuple[int, int, str, bytes]
"""Offset, task, stream, data."""


def _begin(chunk: Chunk) -> int:
    return chunk[0]


class OutputWindow:
    """Keeps every byte until it is acknowledged; the caller must not put in more than there is room for."""

    __slots__ = ("_chunks", "_size", "acked", "end")

    def __init__(self, size: int = WINDOW) -> None:
        self._size = size
        self._chunks: list[Chunk] = []
        self.acked = 0
        self.end = 0

    @property
    def room(self) -> int:
        return self._size - self.end + self.acked

    def put(self, task: int, stream: str, data: bytes) -> Chunk:
        chunk = (self.end, task, stream, data)
        self._chunks.append(chunk)
        self.end += len(data)
        return chunk

    def ack(self, offset: int) -> bool:
        """Everything below the offset is safe. True: that was news. An impossible offset changes nothing."""
        if not self.acked < offset <= self.end:
            return False
        self.acked = offset
        chunks = self._chunks
        safe = bisect_right(chunks, offset, key=_begin)
        if safe:
            at, task, stream, data = chunks[safe - 1]
            if at + len(data) > offset:
                safe -= 1
                chunks[safe] = (offset, task, stream, data[offset - at :])
        del chunks[:safe]
        return True

    def unacked(self) -> Iterator[Chunk]:
        return iter(self._chunks)
