"""What the broker has been told and has not yet made durable: the result log. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

Row = list[Any]


class ResultLog:
    """Rows in order of sequence, kept until acknowledged. A transient's rows are numbered but not kept."""

    __slots__ = ("_kept", "_sequence", "fresh")

    def __init__(self) -> None:
        self._sequence = 0
        self._kept: deque[Row] = deque()
        self.fresh: list[Row] = []
        """Not yet handed to a connection."""

    def started(self, job: int, attempt: int, at: float, pids: list[int]) -> None:
        self._add(job, [self._sequence + 1, job, attempt, "started", at, pids])

    def finished(self, job: int, attempt: int, at: float, statuses: list[int], error: str) -> None:
        self._add(job, [self._sequence + 1, job, attempt, "finished", at, statuses, error])

    def _add(self, job: int, row: Row) -> None:
        self._sequence += 1
        self.fresh.append(row)
        if job >= 0:
            self._kept.append(row)

    def take_fresh(self) -> list[Row]:
        fresh = self.fresh
        self.fresh = []
        return fresh

    def ack(self, sequence: int) -> list[tuple[int, int]]:
        """Forgets rows up to the sequence; answers the (id, attempt) of those that said `finished`."""
        kept = self._kept
        finished: list[tuple[int, int]] = []
        while kept and kept[0][0] <= sequence:
            row = kept.popleft()
            if row[3] == "finished":
                finished.append((row[1], row[2]))
        return finished

    def unacked(self) -> Iterable[Row]:
        return self._kept
