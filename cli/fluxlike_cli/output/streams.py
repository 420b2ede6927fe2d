"""Output of jobs on our own standard streams: raw, by whole lines, or labelled."""

from __future__ import annotations

from typing import BinaryIO

LONGEST_LINE = 65536
"""Bytes. A longer piece without a line break is passed on as it is: it is not made of lines."""


class StreamWriter:
    """Writes one stream of one or many sources. Lines of different sources are never mixed, unless `raw`.

    `label` is put before each line, as `LABEL: `. Call `flush` when what came together has been written, and
    `close` at the end: a last line without its line break is written then."""

    def __init__(self, sink: BinaryIO, *, raw: bool = False) -> None:
        self._sink = sink
        self._raw = raw
        self._open: dict[str, bytes] = {}
        """The beginnings of lines whose end has not come, by source."""
        self._prefix: dict[str, bytes] = {}

    def write(self, source: str, data: bytes, label: str = "") -> None:
        if self._raw and not label:
            self._sink.write(data)
            return
        prefix = self._prefix.setdefault(source, f"{label}: ".encode() if label else b"")
        data = self._open.pop(source, b"") + data
        end = data.rfind(b"\n") + 1
        if end:
            self._sink.write(_labelled(data[:end], prefix) if prefix else data[:end])
        rest = data[end:]
        if len(rest) > LONGEST_LINE:
            self._sink.write(prefix + rest)
        elif rest:
            self._open[source] = rest

    def flush(self) -> None:
        self._sink.flush()

    def close(self) -> None:
        for source, rest in self._open.items():
            # The next source's label must not land in this one's last line.
            end = b"\n" if self._prefix[source] or len(self._open) > 1 else b""
            self._sink.write(self._prefix[source] + rest + end)
        self._open.clear()
        self._sink.flush()


def _labelled(lines: bytes, prefix: bytes) -> bytes:
    return prefix + lines[:-1].replace(b"\n", b"\n" + prefix) + b"\n"
