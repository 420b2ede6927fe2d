"""Events for those who listen: followers of single jobs, and listeners to all. Each batch is told after its commit."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, Protocol

from fluxlike.job.eventlog import parse
from fluxlike.job.job import Event

OnEvents = Callable[[int, list[Event]], None]
"""(number of the first event, events)"""

Row = tuple[int, int, str]
"""(job id, number of the first event, lines of its log)"""


class Committing(Protocol):
    def after_commit(self, callback: Callable[[], None]) -> None: ...


class News:
    def __init__(self, known: Container[int]) -> None:
        """`known`: the jobs there are. News of one that the store refused meanwhile are dropped."""
        self._known = known
        self._followers: dict[int, list[OnEvents]] = {}
        self._listeners: list[Callable[[list[Any]], None]] = []
        self._batch: Committing | None = None
        self._rows: list[Row] = []

    def wanted(self, job_id: int) -> bool:
        return bool(self._listeners) or job_id in self._followers

    def add(self, batch: Committing, job_id: int, seq: int, lines: str) -> None:
        if self._batch is not batch:
            rows: list[Row] = []
            self._batch, self._rows = batch, rows
            batch.after_commit(lambda: self._tell(rows))
        self._rows.append((job_id, seq, lines))

    def follow(self, job_id: int, on_events: OnEvents) -> Callable[[], None]:
        """Once: with the next events of this job. Returns what takes it back."""
        followers = self._followers.setdefault(job_id, [])
        followers.append(on_events)

        def forget() -> None:
            if on_events in followers:
                followers.remove(on_events)
            if not followers and self._followers.get(job_id) is followers:
                del self._followers[job_id]

        return forget

    def listen(self, on_rows: Callable[[list[Any]], None]) -> Callable[[], None]:
        """Every job's events from now on, as rows of [job id, number, timestamp, name, context]."""
        self._listeners.append(on_rows)
        return lambda: self._listeners.remove(on_rows)

    def _tell(self, rows: list[Row]) -> None:
        events: list[Any] = []
        mine: dict[int, tuple[int, list[Event]]] = {}
        for job_id, seq, lines in rows:
            if job_id not in self._known:
                continue
            parsed = parse([lines])
            if self._listeners:
                events.extend([job_id, seq + number, *event] for number, event in enumerate(parsed))
            mine.setdefault(job_id, (seq, []))[1].extend(parsed)
        for job_id, (seq, its) in mine.items():
            for on_events in self._followers.pop(job_id, ()):
                on_events(seq, its)
        if events:
            for on_rows in list(self._listeners):
                on_rows(events)
