"""What both faces ask and how they read the answers: everything about the surface that is not waiting."""

from __future__ import annotations

from fluxlike.client.results import Event, JobRecord, JournalEvent, OutputChunk, TaskRecord
from fluxlike.errors import InvalidRequest, NotFound, ProtocolError, from_wire
from fluxlike.protocol.jobs import (
    JobEnds,
    JobEvents,
    JobEventsReply,
    JobInfo,
    JobJournal,
    JobKill,
    JobList,
    JobListed,
    JobPurge,
    JobRaise,
    JobStdin,
    JobsTouched,
    JobTasks,
    JobTasksListed,
    JobUpdate,
    JobUrgency,
    JobWait,
    JournalRows,
    OutputRead,
    OutputReadReply,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

STDIN_BYTES = 256 * 1024
"""Bytes of standard input in one message. Each is answered before the next, which is its flow control."""

TASKS_PAGE = 10_000
"""Tasks of an array in one answer: an instance has others to answer as well."""

INFO_KEYS = ("eventlog", "jobspec", "R")


def by_id(job_id: int) -> JobList:
    return JobList(ids=[job_id], limit=1)


def records(reply: JobListed | JobEnds) -> list[JobRecord]:
    return [JobRecord(record) for record in reply.jobs]


def only_record(reply: JobListed, job_id: int) -> JobRecord:
    if not reply.jobs:
        raise NotFound(f"no job has the id {_id_text(job_id)}")
    return JobRecord(reply.jobs[0])


def info(job_id: int, keys: tuple[str, ...]) -> JobInfo:
    return JobInfo(id=job_id, keys=list(keys or INFO_KEYS))


def wait(ids: Iterable[int]) -> JobWait:
    """An id named twice is one job."""
    return JobWait(ids=list(dict.fromkeys(ids)))


def no_end(job_id: int) -> ProtocolError:
    return ProtocolError(f"job.wait ended without job {_id_text(job_id)}")


def exception(ids: int | Iterable[int], type: str, severity: int, note: str) -> JobRaise:
    return JobRaise(ids=_ids(ids), type=type, severity=severity, note=note)


def kill(ids: int | Iterable[int], signum: int) -> JobKill:
    return JobKill(ids=_ids(ids), signum=signum)


def urgency(job_id: int, value: int) -> JobUrgency:
    return JobUrgency(id=job_id, urgency=value)


def purge(ids: Iterable[int], age: float | None, num: int | None, dry_run: bool) -> JobPurge:
    """Raises InvalidRequest for limits that make no sense, and for none at all: nothing is purged by accident."""
    chosen = list(ids)
    if not chosen and age is None and num is None:
        raise InvalidRequest("say which jobs to purge: ids, an age in seconds, or how many of the newest to keep")
    for name, limit in (("age", age), ("num", num)):
        if limit is not None and not limit >= 0:
            raise InvalidRequest(f"purge: {name} must be 0 or more, not {limit}")
    limits: dict[str, Any] = {}
    if age is not None:
        limits["age"] = age
    if num is not None:
        limits["num"] = num
    return JobPurge(ids=chosen, dry_run=dry_run, **limits)


def update(job_id: int, updates: dict[str, Any]) -> JobUpdate:
    if not updates:
        raise InvalidRequest("say what to change: duration=SECONDS, or name=TEXT")
    return JobUpdate(id=job_id, updates=updates)


def journal(names: Iterable[str]) -> JobJournal:
    return JobJournal(names=list(names))


def journal_events(reply: JournalRows) -> list[JournalEvent]:
    return [JournalEvent.from_row(row) for row in reply.events]


def touched(reply: JobsTouched) -> list[int]:
    """The ids that were reached; raises the first refusal, which tells how many more there were."""
    if not reply.errors:
        return reply.ids
    job_id, code, text = reply.errors[0]
    name = _id_text(job_id)
    text = text if name in text else f"{name}: {text}"
    if len(reply.errors) > 1:
        total = len(reply.errors) + len(reply.ids)
        text += f" (and {len(reply.errors) - 1} more of {total} jobs were refused)"
    raise from_wire(code, text)


def stdin(job_id: int, data: bytes, tasks: Iterable[int], eof: bool) -> Iterator[JobStdin]:
    """Messages of bounded size; the last one carries the end of input."""
    tasks = list(tasks)
    for start in range(0, max(len(data), 1), STDIN_BYTES):
        end = start + STDIN_BYTES
        yield JobStdin(id=job_id, data=data[start:end], tasks=tasks, eof=eof and end >= len(data))


class JobPages:
    """Where a reader of a list of jobs stands. An instance gives a long list in parts."""

    __slots__ = ("_cursor", "_left", "_question", "done")

    def __init__(self, states: Iterable[str], ids: Iterable[int], name: str, limit: int, since: float) -> None:
        self._question: dict[str, Any] = {
            "states": list(states),
            "ids": list(ids),
            "name": name,
            "since": float(since),
        }
        self._left = limit
        """0 is no limit."""
        self._cursor = ""
        self.done = False

    def request(self) -> JobList:
        return JobList(**self._question, limit=self._left, cursor=self._cursor)

    def accept(self, reply: JobListed) -> list[JobRecord]:
        found = records(reply)
        self._cursor = reply.cursor
        self.done = not reply.cursor or 0 < self._left <= len(found)
        if self._left:
            self._left = max(1, self._left - len(found))
        return found


class TaskPages:
    """Where a reader of an array's tasks stands."""

    __slots__ = ("_first", "_id", "_left", "_states", "done")

    def __init__(self, job_id: int, states: Iterable[str], first: int, limit: int) -> None:
        self._id = job_id
        self._states = list(states)
        self._first = first
        self._left = float(limit or "inf")
        self.done = False

    def request(self) -> JobTasks:
        return JobTasks(id=self._id, states=self._states, first=self._first, limit=self._page())

    def _page(self) -> int:
        return int(min(self._left, TASKS_PAGE))

    def accept(self, reply: JobTasksListed) -> list[TaskRecord]:
        found = [TaskRecord(record) for record in reply.tasks]
        self.done = len(found) < self._page() or len(found) >= self._left
        self._left -= len(found)
        if found:
            self._first = found[-1].index + 1
        return found


class EventPoll:
    """Where a reader of a job's eventlog stands."""

    __slots__ = ("_follow", "_id", "_since", "done")

    def __init__(self, job_id: int, since: int, follow: bool) -> None:
        self._id = job_id
        self._since = since
        self._follow = follow
        self.done = False

    def request(self) -> JobEvents:
        return JobEvents(id=self._id, since=self._since, wait=self._follow)

    def accept(self, reply: JobEventsReply) -> list[Event]:
        """Without `follow`, an empty answer is the end: there is nothing more for now."""
        self._since = reply.next
        self.done = reply.done or not (self._follow or reply.events)
        return [Event.from_row(row) for row in reply.events]


class OutputPoll:
    """Where a reader of a job's output stands."""

    __slots__ = ("_follow", "_id", "_offset", "done")

    def __init__(self, job_id: int, follow: bool) -> None:
        self._id = job_id
        self._offset = 0
        self._follow = follow
        self.done = False

    def request(self) -> OutputRead:
        return OutputRead(id=self._id, offset=self._offset, wait=self._follow)

    def accept(self, reply: OutputReadReply) -> list[OutputChunk]:
        self._offset = reply.next
        self.done = reply.done or not (self._follow or reply.records)
        return [OutputChunk.from_row(row) for row in reply.records]


def _ids(ids: int | Iterable[int]) -> list[int]:
    return [ids] if isinstance(ids, int) else list(ids)


def _id_text(job_id: int) -> str:
    from fluxlike.ids import encode_f58

    return encode_f58(job_id)
