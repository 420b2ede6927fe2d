"""Lines that say which task wrote them. Pure."""

from __future__ import annotations

LONGEST = 64 << 10
"""A line beyond this is given out in pieces, each labelled: memory stays bounded whatever a task writes."""


class Labeler:
    """Bytes of one stream in, whole lines with `rank: ` before each out."""

    __slots__ = ("_label", "_partial")

    def __init__(self, rank: int) -> None:
        self._label = b"%d: " % rank
        self._partial = b""

    def feed(self, data: bytes) -> bytes:
        *lines, partial = (self._partial + data).split(b"\n")
        if len(partial) > LONGEST:
            lines.append(partial)
            partial = b""
        self._partial = partial
        return b"".join(self._label + line + b"\n" for line in lines)

    def end(self) -> bytes:
        """The last line, if it lacked its newline. It gets one: another task's line may follow."""
        return self.feed(b"\n") if self._partial else b""
