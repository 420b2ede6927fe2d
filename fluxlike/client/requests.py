"""What both faces ask and how they read the answers: everything about the surface that is not waiting."""

from __future__ import annotations

from fluxlike.client.core import pack
from fluxlike.client.results import Event, JobRecord, OutputChunk
from fluxlike.errors import FluxlikeError, NotFound, ProtocolError, from_wire
from fluxlike.protocol.jobs import (
    JobEnds,
    JobEvents,
    JobEventsReply,
    JobInfo,
    JobKill,
    JobList,
    JobListed,
    JobRaise,
    JobStdin,
    JobsTouched,
    JobUrgency,
    JobWait,
    OutputRead,
    OutputReadReply,
    Submit,
    Submitted,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from fluxlike.jobspec.model import Jobspec

BATCH_JOBS = 1000
"""Jobs in one submit message: enough to share a commit, few enough to keep no other client waiting."""

BATCH_BYTES = 4 * 1024 * 1024
"""Bytes of jobspecs in one submit message; one jobspec may be larger."""

STDIN_BYTES = 256 * 1024
"""Bytes of standard input in one message. Each is answered before the next, which is its flow control."""

INFO_KEYS = ("eventlog", "jobspec", "R")


def submit(jobspec: dict[str, Any] | Jobspec, urgency: int, flags: Iterable[str]) -> Submit:
    return Submit(specs=[_plain(jobspec)], jobs=[[0, None]], urgency=urgency, flags=list(flags))


def submit_batches(
    jobspecs: Iterable[dict[str, Any] | Jobspec], urgency: int, flags: Iterable[str]
) -> Iterator[Submit]:
    """Messages of bounded size, in order. Equal jobspecs within a message travel once."""
    return instance_batches(((jobspec, None) for jobspec in jobspecs), urgency, flags)


def template_batches(
    jobspec: dict[str, Any] | Jobspec, cc_values: Iterable[str], urgency: int, flags: Iterable[str]
) -> Iterator[Submit]:
    """One jobspec, one job for each value of `{cc}`."""
    return instance_batches(((jobspec, value) for value in cc_values), urgency, flags)


def instance_batches(
    instances: Iterable[tuple[dict[str, Any] | Jobspec, str | None]], urgency: int, flags: Iterable[str]
) -> Iterator[Submit]:
    """As `submit_batches`, each jobspec with a value for `{cc}` or None."""
    flags = list(flags)
    specs: list[dict[str, Any]] = []
    rows: list[Any] = []
    known: dict[bytes, int] = {}
    size = 0
    last, key = None, b""
    for jobspec, value in instances:
        if jobspec is not last:  # the same again needs no second look
            last, spec = jobspec, _plain(jobspec)
            key = pack(Submit.topic, spec)
        if rows and (len(rows) >= BATCH_JOBS or (key not in known and size + len(key) > BATCH_BYTES)):
            yield Submit(specs=specs, jobs=rows, urgency=urgency, flags=flags)
            specs, rows, known, size = [], [], {}, 0
        if key not in known:
            known[key] = len(specs)
            specs.append(spec)
            size += len(key)
        rows.append([known[key], value])
    if rows:
        yield Submit(specs=specs, jobs=rows, urgency=urgency, flags=flags)


def _plain(jobspec: dict[str, Any] | Jobspec) -> dict[str, Any]:
    return jobspec if isinstance(jobspec, dict) else jobspec.to_json()


def only_id(reply: Submitted) -> int:
    if len(reply.ids) != 1:
        raise ProtocolError(f"one job was submitted and {len(reply.ids)} ids came back")
    return reply.ids[0]


def note_accepted(error: FluxlikeError, accepted: list[int]) -> None:
    """A batch was refused after others were taken: those jobs exist, and who reads the error must know."""
    if accepted:
        error.add_note(f"{len(accepted)} jobs before it were accepted, the last as {_id_text(accepted[-1])}")


def listing(states: Iterable[str], ids: Iterable[int], name: str, limit: int) -> JobList:
    return JobList(states=list(states), ids=list(ids), name=name, limit=limit)


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
