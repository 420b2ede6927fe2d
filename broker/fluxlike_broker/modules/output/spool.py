"""The spool: one append-only file of records per job. Never truncated, read by range."""

from __future__ import annotations

import os
import struct

HEADER = struct.Struct(">IIBQI")
"""node index, task rank, stream, offset of the data on that node, length of the data."""

STREAMS = ("stdout", "stderr")

Record = tuple[int, str, bytes]
"""(task rank, stream name, data)"""


class JobSpool:
    """Output of one job while it is being written."""

    __slots__ = ("_fd", "_received", "path", "size")

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = -1
        self._received: dict[tuple[int, int], int] = {}
        self.size = 0
        if os.path.exists(path):
            self._recover()

    def _recover(self) -> None:
        """Find where each node's stream stands, and cut a record that a crash left half written."""
        with open(self.path, "rb") as file:
            while True:
                header = file.read(HEADER.size)
                if len(header) < HEADER.size:
                    break
                node, _task, stream, offset, length = HEADER.unpack(header)
                if len(file.read(length)) < length:
                    break
                self._received[node, stream >> 1] = offset + length
                self.size = file.tell()
        os.truncate(self.path, self.size)

    def write(self, node: int, attempt: int, offset: int, task: int, stream: str, data: bytes) -> int:
        """Append what is new; returns how much of that node's output is safe. A repeat is recognised by its offset."""
        key = (node, attempt & 0x7F)
        have = self._received.get(key, 0)
        fresh = data[have - offset :] if offset < have else data
        if offset > have or not fresh:
            return have
        if self._fd < 0:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        mark = STREAMS.index(stream) | (attempt & 0x7F) << 1
        record = HEADER.pack(node, task, mark, have, len(fresh)) + fresh
        _write_all(self._fd, record, self.size)
        self.size += len(record)
        self._received[key] = have + len(fresh)
        return self._received[key]

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _write_all(fd: int, record: bytes, start: int) -> None:
    """All or nothing: on a full disk the half-written record is taken back before the error goes on."""
    view = memoryview(record)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except OSError:
        os.ftruncate(fd, start)
        raise


def read(path: str, offset: int, limit: int) -> tuple[list[Record], int]:
    """Whole records from `offset` on, about `limit` bytes of them; and where to go on."""
    records: list[Record] = []
    try:
        file = open(path, "rb")  # noqa: SIM115  closed by the with below; opening alone may fail
    except FileNotFoundError:
        return records, offset
    with file:
        file.seek(offset)
        taken = 0
        while taken < limit:
            header = file.read(HEADER.size)
            if len(header) < HEADER.size:
                break
            _node, task, mark, _offset, length = HEADER.unpack(header)
            data = file.read(length)
            if len(data) < length:
                break
            records.append((task, STREAMS[mark & 1], data))
            offset = file.tell()
            taken += length
    return records, offset
