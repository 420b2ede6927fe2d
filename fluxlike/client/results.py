"""What the client gives back: jobs, events, output. Plain values, without a connection."""

from __future__ import annotations

from fluxlike.errors import ProtocolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Event:
    """One line of a job's eventlog (RFC 18)."""

    __slots__ = ("context", "name", "timestamp")

    def __init__(self, timestamp: float, name: str, context: dict[str, Any]) -> None:
        self.timestamp = timestamp
        self.name = name
        self.context = context

    @classmethod
    def from_row(cls, row: Any) -> Event:
        """From [timestamp, name, context]; an absent context is an empty one."""
        try:
            timestamp, name, context = row
        except (TypeError, ValueError):
            raise ProtocolError(f"not a row of an eventlog: {row!r}") from None
        return cls(timestamp, name, context or {})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        return (self.timestamp, self.name, self.context) == (other.timestamp, other.name, other.context)

    __hash__ = None  # type: ignore[assignment]  # the context is a map

    def __repr__(self) -> str:
        return f"Event({self.timestamp!r}, {self.name!r}, {self.context!r})"


class JournalEvent(Event):
    """An event of any job, as the journal tells it: `number` counts the events of its job from 0."""

    __slots__ = ("id", "number")

    def __init__(self, id: int, number: int, timestamp: float, name: str, context: dict[str, Any]) -> None:
        super().__init__(timestamp, name, context)
        self.id = id
        self.number = number

    @classmethod
    def from_row(cls, row: Any) -> JournalEvent:
        """From [job id, number, timestamp, name, context]."""
        try:
            job_id, number, timestamp, name, context = row
        except (TypeError, ValueError):
            raise ProtocolError(f"not a row of the journal: {row!r}") from None
        return cls(job_id, number, timestamp, name, context or {})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JournalEvent):
            return NotImplemented
        return (self.id, self.number) == (other.id, other.number) and super().__eq__(other)

    __hash__ = None  # as its parent

    def __repr__(self) -> str:
        return f"JournalEvent({self.id}, {self.number}, {self.timestamp!r}, {self.name!r}, {self.context!r})"


class OutputChunk:
    """Bytes that one task wrote to "stdout" or "stderr", as they came: a line may be spread over chunks."""

    __slots__ = ("data", "stream", "task")

    def __init__(self, task: int, stream: str, data: bytes) -> None:
        self.task = task
        self.stream = stream
        self.data = data

    @classmethod
    def from_row(cls, row: Any) -> OutputChunk:
        """From [task, stream, data]."""
        try:
            task, stream, data = row
        except (TypeError, ValueError):
            raise ProtocolError(f"not a row of output: {row!r}") from None
        return cls(task, stream, data)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OutputChunk):
            return NotImplemented
        return (self.task, self.stream, self.data) == (other.task, other.stream, other.data)

    def __hash__(self) -> int:
        return hash((self.task, self.stream, self.data))

    def __repr__(self) -> str:
        return f"OutputChunk({self.task!r}, {self.stream!r}, {self.data!r})"


class Record:
    """A map that an instance gave; its fields are attributes. `record` is the whole of it."""

    __slots__ = ("record",)

    def __init__(self, record: dict[str, Any]) -> None:
        if not isinstance(record, dict) or not isinstance(record.get(self._KEY), int):
            raise ProtocolError(f"not a record of {self._WHAT}: {record!r}")
        self.record = record

    _KEY = "id"
    _WHAT = "a job"

    if not TYPE_CHECKING:
        # Read on demand: a listing of many jobs is mostly about few of their fields.
        def __getattr__(self, name):
            if name.startswith("__") or name == "record":  # a copy in the making has no record yet
                raise AttributeError(name)
            try:
                return self.record[name]
            except KeyError:
                raise AttributeError(f"the record of {self._WHAT} has no {name!r}") from None

    def __eq__(self, other: object) -> bool:
        return self.record == other.record if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.record[self._KEY])

    def __repr__(self) -> str:
        key, state, result = (self.record.get(name) for name in (self._KEY, "state", "result"))
        return f"<{type(self).__name__} {key} {state} {result or '-'}>"

    @property
    def active(self) -> bool:
        return bool(self.record["state"] != "inactive")

    @property
    def succeeded(self) -> bool:
        return bool(self.record["result"] == "completed")


class JobRecord(Record):
    """A job as the instance listed it when asked. `record` is the whole map, with what has no name here.

    Times are seconds since 1970, 0.0 for a state that was not reached."""

    __slots__ = ()

    id: int
    userid: int
    urgency: int
    priority: int
    state: str
    """depend, priority, sched, run, cleanup or inactive."""
    result: str
    """completed, failed, canceled or timeout; empty while the job is active."""
    name: str
    cc: str | None
    cwd: str
    queue: str
    ntasks: int
    nnodes: int
    ncores: int
    ngpus: int
    duration: float
    expiration: float
    ranks: str
    nodelist: str
    t_submit: float
    t_depend: float
    t_run: float
    t_cleanup: float
    t_inactive: float
    status: int
    """The largest wait status of its tasks; -1 if none ran."""
    returncode: int
    """Exit code; 128+n after signal n; -128 if it was cancelled before it started."""
    exception_type: str
    exception_severity: int
    exception_note: str
    dependencies: list[str]
    annotations: dict[str, Any]
    reason: str
    """Why it is pending."""
    attempt: int
    array: int
    """How many tasks it has as an array; 0 for an ordinary job."""
    tasks: dict[str, int]
    """Of an array: how many tasks are in each state, or ended with each result."""


class TaskRecord(Record):
    """A task of an array job. Times are seconds since 1970, 0.0 for a state that was not reached."""

    __slots__ = ()

    _KEY = "index"
    _WHAT = "a task"

    index: int
    cc: str
    state: str
    """As a job's."""
    result: str
    """As a job's; empty while the task is active."""
    status: int
    returncode: int
    ranks: str
    nodelist: str
    t_run: float
    t_inactive: float
