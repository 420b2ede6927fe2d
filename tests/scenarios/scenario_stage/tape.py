"""What happened, line by line, in words that stay the same from run to run."""

from __future__ import annotations

import json
import logging
import re
from typing import Any

from fluxlike.ids import encode_f58, nth_after

_WALL_TIME = 1e9
"""Floats above this are wall times and shown as seconds since the scenario began."""

_F58 = re.compile("ƒ[1-9A-HJ-NP-Za-km-z]+")


class Tape(logging.Handler):
    """Also hears the log: a warning is something that the service did."""

    def __init__(self, began: float) -> None:
        super().__init__(logging.WARNING)
        self.began = began
        self._lines: list[str] = []
        self._names: dict[int, str] = {}
        self._met = 0
        self._owners: dict[int, int] = {}
        """task of an array -> the array"""
        self._ids: dict[str, int] = {}
        self._by_f58: dict[str, str] = {}
        self.written = 0

    def write(self, line: str) -> None:
        self.written += 1
        self._lines.append(self.plain(line))

    def take(self) -> list[str]:
        """What was written since the last time."""
        lines, self._lines = self._lines, []
        return lines

    def emit(self, record: logging.LogRecord) -> None:
        self.write(f"log {record.levelname.lower()}: {record.getMessage()}")
        if record.exc_info:
            self.write(f"log {record.levelname.lower()}: {record.exc_info[1]!r}")

    # -- jobs by name -----------------------------------------------------------------------------------------

    def meet(self, job_id: int) -> str:
        """Jobs are j1, j2 and so on, in the order in which they were submitted."""
        if self._owners.pop(job_id, None) is not None:  # kept for a task of an array that was lost in a crash
            del self._names[job_id]
        if job_id not in self._names:
            self._met += 1
            self._names[job_id] = f"j{self._met}"
        name = self._names[job_id]
        self._by_f58[encode_f58(job_id)] = name
        self._ids[name] = job_id
        return name

    def meet_tasks(self, array: int, count: int) -> None:
        """Tasks of an array are called by its name and their index."""
        for index in range(count):
            key = nth_after(array, index + 1)
            self._owners[key] = array
            self._names[key] = name = f"{self._names[array]}.{index}"
            self._ids[name] = key

    def owner(self, key: int) -> int:
        """The job in whose log a job or a task has its events."""
        return self._owners.get(key, key)

    def called(self, job_id: int) -> str:
        return self._names.get(job_id, encode_f58(job_id))

    def id_of(self, name: str) -> int:
        return self._ids[name]

    def plain(self, text: str) -> str:
        """With names where ids are printed."""
        return _F58.sub(lambda found: self._by_f58.get(found[0], found[0]), text)

    # -- values -----------------------------------------------------------------------------------------------

    def value(self, value: Any) -> str:
        if isinstance(value, float):
            return f"+{value - self.began:g}" if value > _WALL_TIME else f"{value:g}"
        if isinstance(value, str):
            return value if value and not set(value) & set(" \"'=") else json.dumps(value, ensure_ascii=False)
        return json.dumps(value, ensure_ascii=False)

    def pairs(self, values: dict[str, Any]) -> str:
        return "".join(f" {key}={self.value(value)}" for key, value in values.items())
