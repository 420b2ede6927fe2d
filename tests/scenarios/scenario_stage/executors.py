"""What the nodes of a scenario know."""

from __future__ import annotations

from typing import Any


class Executors:
    """Jobs (or tasks of arrays) that run, and results that nobody has acknowledged yet."""

    def __init__(self) -> None:
        self.running: dict[str, bool] = {}
        """job -> whether its start was reported"""
        self.seen: set[str] = set()
        self.unacknowledged: list[tuple[int, tuple[Any, ...]]] = []
        """(tag of the report, its row)"""

    def hear(self, line: str) -> None:
        verb, *rest = line.split()
        if verb == "launch":
            assert rest[0] not in self.seen, f"{rest[0]} is started twice"
            self._start(rest[0])
        elif line.startswith("look for") and rest[1] not in self.seen:
            self._start(rest[1])  # its start was lost on the way

    def _start(self, job: str) -> None:
        self.seen.add(job)
        self.running[job] = False
