"""The blocking face of the client: one socket, no loop, no thread, and little to import."""

from __future__ import annotations

from time import monotonic

from fluxlike.client import requests, submission
from fluxlike.client.core import ClientCore, is_end, read_body, read_reply
from fluxlike.client.requests import EventPoll, JobPages, OutputPoll, TaskPages
from fluxlike.client.unix import connect
from fluxlike.client.uri import resolve
from fluxlike.errors import Disconnected, FluxlikeError, TimedOut
from fluxlike.protocol.jobs import (
    JobEnds,
    JobEventsReply,
    JobInfoReply,
    JobListed,
    JobPurged,
    JobsTouched,
    JobTasksListed,
    JobUpdated,
    JobUrgencySet,
    JournalRows,
    OutputReadReply,
    Submit,
    Submitted,
)
from fluxlike.protocol.message import ANY
from fluxlike.protocol.payload import Payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from types import TracebackType
    from typing import Any, Self, TypeVar

    from fluxlike.client.results import Event, JobRecord, JournalEvent, OutputChunk, TaskRecord
    from fluxlike.client.submission import Dependencies
    from fluxlike.jobspec.model import Jobspec
    from fluxlike.protocol.message import Message

    P = TypeVar("P", bound=Payload)

READ_BYTES = 256 * 1024

FOREVER = 1e9
"""Seconds. A longer timeout, as "inf" is, is none: the kernel could not count it."""


class Client:
    """A connection to an instance, by default to the one that encloses this process.

    For one thread at a time. Requests may overlap: a stream can be left half read while others are asked.
    Every method raises the error that the broker answered with, Disconnected once the connection is gone."""

    def __init__(self, uri: str | None = None) -> None:
        self.uri = resolve(uri)
        self._core = ClientCore()
        self._boxes: dict[int, list[Message]] = {}
        """Answers by tag, for the requests that a call or a stream of ours waits for."""
        self._inbox: list[Message] = []
        """Answers to posted requests."""
        self._lost = ""
        self._socket = connect(self.uri)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Harmless when repeated. The broker stops what it was still doing for this connection."""
        self._hang_up("this client was closed")

    def fileno(self) -> int:
        """For select and poll. First call `receive(timeout=0)` until it gives None: answers may be here."""
        return self._socket.fileno()

    # -- messages -------------------------------------------------------------------------------------------

    def post(self, payload: Payload, *, rank: int = ANY, stream: bool = False) -> int:
        """Ask without waiting. The tag returned is the `matchtag` of the answers that `receive` gives."""
        return self._send(payload, None, rank, stream, None)

    def receive(self, timeout: float | None = None) -> Message | None:
        """The next answer to anything posted, errors and end marks included; None when the time is up."""
        deadline = _deadline(timeout)
        while not self._inbox:
            if not self._read(deadline):
                return None
        return self._inbox.pop(0)

    def call(self, payload: Payload, reply: type[P], *, rank: int = ANY, timeout: float | None = None) -> P:
        """One request, one answer. Raises TimedOut after `timeout` seconds."""
        return read_reply(self._ask(payload, None, rank, timeout), reply)

    def rpc(self, topic: str, body: object = None, *, rank: int = ANY, timeout: float | None = None) -> Any:
        """As `call`, for a topic without classes: plain maps, lists and scalars out and in."""
        return read_body(self._ask(topic, body, rank, timeout))

    def stream(
        self, payload: Payload, reply: type[P], *, rank: int = ANY, timeout: float | None = None
    ) -> Generator[P, None, None]:
        """One request, sent now, and its answers until the last. Closing it early tells the broker to stop.

        `timeout` is for the whole of it, in seconds; TimedOut when it is up."""
        deadline = _deadline(timeout)
        tag = self._send(payload, None, rank, True, deadline)
        self._boxes[tag] = []
        answers = self._answers(tag, reply, deadline)
        next(answers)
        return answers

    def _answers(self, tag: int, reply: type[P], deadline: float | None) -> Generator[P, None, None]:
        try:
            # Taken by `stream`: only a generator that has begun cleans up when it is closed.
            yield None  # type: ignore[misc]
            while True:
                message = self._next(tag, deadline)
                if is_end(message):
                    return
                yield read_reply(message, reply)
                if not self._core.is_open(tag) and not self._boxes[tag]:
                    return
        finally:
            self._drop(tag)

    def _ask(self, payload: Payload | str, body: object, rank: int, timeout: float | None) -> Message:
        deadline = _deadline(timeout)
        return self._take(self._open(payload, body, rank, deadline), deadline)

    def _open(self, payload: Payload | str, body: object, rank: int, deadline: float | None) -> int:
        """Send a request that has one answer, which `_take` gives."""
        tag = self._send(payload, body, rank, False, deadline)
        self._boxes[tag] = []
        return tag

    def _take(self, tag: int, deadline: float | None) -> Message:
        try:
            return self._next(tag, deadline)
        finally:
            self._drop(tag)

    def _answer(self, tag: int, reply: type[P]) -> P:
        return read_reply(self._take(tag, None), reply)

    # -- the socket -----------------------------------------------------------------------------------------

    def _send(self, payload: Payload | str, body: object, rank: int, stream: bool, deadline: float | None) -> int:
        self._check_alive()
        tag, data = self._core.request(payload, body, rank=rank, stream=stream)
        self._socket.settimeout(_remaining(deadline))
        try:
            self._socket.sendall(data)
        except (TimeoutError, BlockingIOError) as error:
            self._hang_up("a request was cut off by its timeout")
            raise TimedOut(f"the instance at {self.uri} did not take a request in time") from error
        except OSError as error:
            raise self._gone(error.strerror or str(error)) from error
        except BaseException:
            # Ctrl-C between two parts of a frame: whatever follows would be read as its rest.
            self._hang_up("a request was interrupted while it was sent")
            raise
        return tag

    def _next(self, tag: int, deadline: float | None) -> Message:
        box = self._boxes[tag]
        while not box:
            if not self._read(deadline):
                raise TimedOut(f"{self._core.topic(tag)}: the instance at {self.uri} did not answer in time")
        return box.pop(0)

    def _read(self, deadline: float | None) -> bool:
        """Wait for bytes and sort the answers in them; False when the deadline came first."""
        self._check_alive()
        self._socket.settimeout(_remaining(deadline))
        try:
            data = self._socket.recv(READ_BYTES)
        except (TimeoutError, BlockingIOError):
            return False
        except OSError as error:
            raise self._gone(error.strerror or str(error)) from error
        if not data:
            raise self._gone("closed by the broker")
        try:
            answers = self._core.feed(data)
        except FluxlikeError as error:
            self._hang_up(str(error))
            raise
        for message in answers:
            self._boxes.get(message.matchtag, self._inbox).append(message)
        return True

    def _drop(self, tag: int) -> None:
        """Nobody waits for this tag any more; the broker is told if it is still at it and listens."""
        self._boxes.pop(tag, None)
        cancellation = self._core.forget(tag)
        if not cancellation or self._lost:
            return
        self._socket.settimeout(0)
        try:
            self._socket.send(cancellation)
        except OSError:
            # Gone, as the next request will find; or it reads nothing now, and will waste a little work.
            return

    def _check_alive(self) -> None:
        if self._lost:
            raise Disconnected(f"no connection to {self.uri}: {self._lost}")

    def _gone(self, why: str) -> Disconnected:
        self._hang_up(why)
        return Disconnected(f"the connection to {self.uri} is lost: {why}")

    def _hang_up(self, why: str) -> None:
        self._lost = self._lost or why
        self._socket.close()

    # -- jobs -----------------------------------------------------------------------------------------------

    def submit(
        self, jobspec: dict[str, Any] | Jobspec, *, urgency: int = 16, flags: Iterable[str] = (), key: str = ""
    ) -> int:
        """The id of the new job, once it is stored. With a `key` that was used before, the id of then."""
        return submission.only_id(self.call(submission.submit(jobspec, urgency, flags, key), Submitted))

    def submit_many(
        self,
        jobspecs: Iterable[dict[str, Any] | Jobspec],
        *,
        urgency: int = 16,
        flags: Iterable[str] = (),
        key: str = "",
        dependencies: Dependencies | None = None,
    ) -> list[int]:
        """As `submit_batches`, all ids at the end; an error carries a note of what was accepted before it.

        `dependencies` by index: {2: [("afterok", 0), ("afterok", 1)]} lets the third job wait for the first two. The
        jobs then travel in one message; InvalidRequest if that would be too large."""
        return self._collect(submission.submit_batches(jobspecs, urgency, flags, key, dependencies))

    def submit_template(
        self,
        jobspec: dict[str, Any] | Jobspec,
        cc_values: Iterable[str],
        *,
        urgency: int = 16,
        flags: Iterable[str] = (),
        key: str = "",
    ) -> list[int]:
        """One job for each value, which replaces `{cc}` in command, environment and names of output files."""
        return self._collect(submission.template_batches(jobspec, cc_values, urgency, flags, key))

    def submit_array(
        self,
        jobspec: dict[str, Any] | Jobspec,
        count: int | None = None,
        *,
        values: Iterable[str] | None = None,
        max_running: int = 0,
        max_fails: int = -1,
        urgency: int = 16,
        flags: Iterable[str] = (),
        key: str = "",
    ) -> int:
        """One job with many tasks, each with its own allocation, state, exit code and output; see `tasks`.

        `{cc}` is a task's value, or its index. `max_running` tasks hold resources at once (0: no limit); more failed
        tasks than `max_fails` cancel the rest (-1: no limit)."""
        request = submission.array(jobspec, count, values, max_running, max_fails, urgency, flags, key)
        return submission.only_id(self.call(request, Submitted))

    def submit_batches(
        self,
        jobspecs: Iterable[dict[str, Any] | Jobspec],
        *,
        urgency: int = 16,
        flags: Iterable[str] = (),
        key: str = "",
    ) -> Iterator[list[int]]:
        """Submit any number of jobs, some thousand to a message; ids in order, each batch once it is stored.

        A few messages are on their way at a time. Of a message all jobs are accepted or none. `key` makes it safe to
        say all of this again after a lost connection: same key and jobs give the same ids, and nothing runs twice."""
        yield from self.submit_messages(submission.submit_batches(jobspecs, urgency, flags, key))

    def submit_messages(self, messages: Iterable[Submit]) -> Generator[list[int], None, None]:
        """As `submit_batches`, for messages made elsewhere."""
        waiting: list[int] = []
        try:
            for message in messages:
                waiting.append(self._open(message, None, ANY, None))
                if len(waiting) >= submission.WINDOW:
                    yield self._answer(waiting.pop(0), Submitted).ids
            while waiting:
                yield self._answer(waiting.pop(0), Submitted).ids
        except FluxlikeError as error:
            submission.note_accepted(error, self._still_accepted(waiting), submission.ON_THEIR_WAY)
            raise
        finally:
            for tag in waiting:
                self._drop(tag)

    def _still_accepted(self, tags: list[int]) -> list[int]:
        """Of the messages that were on their way when another was refused."""
        ids: list[int] = []
        while tags:
            try:
                ids += self._answer(tags.pop(0), Submitted).ids
            except FluxlikeError:
                continue
        return ids

    def _collect(self, messages: Iterator[Submit]) -> list[int]:
        ids: list[int] = []
        try:
            for batch in self.submit_messages(messages):
                ids += batch
        except FluxlikeError as error:
            submission.note_accepted(error, ids, submission.BEFORE)
            raise
        return ids

    def jobs(
        self,
        states: Iterable[str] = (),
        ids: Iterable[int] = (),
        name: str = "",
        limit: int = 1000,
        *,
        since: float = 0.0,
    ) -> list[JobRecord]:
        """Jobs in any of these states (or with these results), newest first in each; a limit of 0 is none.

        `since`: of the inactive jobs, those that ended at this time (seconds since 1970) or later."""
        pages = JobPages(states, ids, name, limit, since)
        found: list[JobRecord] = []
        while not pages.done:
            found += pages.accept(self.call(pages.request(), JobListed))
        return found

    def tasks(self, id: int, states: Iterable[str] = (), *, first: int = 0, limit: int = 1000) -> list[TaskRecord]:
        """Tasks of an array job in any of these states, by index from `first` on; a limit of 0 is none."""
        pages = TaskPages(id, states, first, limit)
        found: list[TaskRecord] = []
        while not pages.done:
            found += pages.accept(self.call(pages.request(), JobTasksListed))
        return found

    def job(self, id: int) -> JobRecord:
        """Raises NotFound."""
        return requests.only_record(self.call(requests.by_id(id), JobListed), id)

    def info(self, id: int, *keys: str) -> dict[str, Any]:
        """What is stored about a job, by key: eventlog, jobspec, R. None named: all that there is."""
        return self.call(requests.info(id, keys), JobInfoReply).values

    def events(self, id: int, *, follow: bool = True, since: int = 0) -> Iterator[Event]:
        """The job's events from number `since` on; with `follow`, until the job is inactive."""
        poll = EventPoll(id, since, follow)
        while not poll.done:
            yield from poll.accept(self.call(poll.request(), JobEventsReply))

    def output(self, id: int, *, follow: bool = True) -> Iterator[OutputChunk]:
        """What the job's tasks wrote, all of it, in order; with `follow`, until the job is inactive."""
        poll = OutputPoll(id, follow)
        while not poll.done:
            yield from poll.accept(self.call(poll.request(), OutputReadReply))

    def wait(self, id: int, timeout: float | None = None) -> JobRecord:
        """The job once it is inactive. Raises TimedOut; the job goes on."""
        ends = self.stream(requests.wait((id,)), JobEnds, timeout=timeout)
        try:
            for reply in ends:
                for record in requests.records(reply):
                    return record
        finally:
            ends.close()
        raise requests.no_end(id)

    def wait_many(self, ids: Iterable[int], timeout: float | None = None) -> Iterator[JobRecord]:
        """The jobs in the order in which they become inactive. Raises TimedOut, for all of them together."""
        request = requests.wait(ids)
        if request.ids:
            for reply in self.stream(request, JobEnds, timeout=timeout):
                yield from requests.records(reply)

    def cancel(self, ids: int | Iterable[int], note: str = "") -> list[int]:
        """End jobs, pending or running; eventlogs keep the note. All are tried, then a refusal is raised."""
        return self.raise_exception(ids, "cancel", 0, note)

    def raise_exception(self, ids: int | Iterable[int], type: str, severity: int = 0, note: str = "") -> list[int]:
        """Severity 0 ends the jobs, 1 to 7 only inform. All are tried, then a refusal is raised."""
        request = requests.exception(ids, type, severity, note)
        return requests.touched(self.call(request, JobsTouched)) if request.ids else []

    def kill(self, ids: int | Iterable[int], signum: int = 15) -> list[int]:
        """Send a signal to all tasks of running jobs. All are tried, then a refusal is raised."""
        request = requests.kill(ids, signum)
        return requests.touched(self.call(request, JobsTouched)) if request.ids else []

    def urgency(self, id: int, urgency: int) -> int:
        """Set it, 0 (hold) to 31 (expedite); returns the old one."""
        return self.call(requests.urgency(id, urgency), JobUrgencySet).old

    def update(self, id: int, **updates: Any) -> dict[str, Any]:
        """Change an active job: `duration` (seconds, or "+N" and "-N" for more and less) or `name`. What holds now."""
        return self.call(requests.update(id, updates), JobUpdated).updates

    def purge(
        self, ids: Iterable[int] = (), *, age: float | None = None, num: int | None = None, dry_run: bool = False
    ) -> int:
        """Forget inactive jobs for good: these, or those that ended more than `age` seconds ago, or all but the
        newest `num`; with both limits, what either says. Gives how many; with `dry_run`, how many it would be."""
        return self.call(requests.purge(ids, age, num, dry_run), JobPurged).count

    def journal(self, names: Iterable[str] = ()) -> Generator[JournalEvent, None, None]:
        """Events of every job from now on, each batch once it is stored; only these `names`, if any are given.

        It has no end: close it. Asked for at once, so that no event of what is submitted next is missed."""
        return _in_turn(self.stream(requests.journal(names), JournalRows))

    def stdin(self, id: int, data: bytes = b"", *, tasks: Iterable[int] = (), eof: bool = False) -> None:
        """Write to the standard input of these tasks, none named: all. Returns when the job has taken it."""
        for request in requests.stdin(id, data, tasks, eof):
            self.call(request, Payload)


def _in_turn(replies: Generator[JournalRows, None, None]) -> Generator[JournalEvent, None, None]:
    try:
        for reply in replies:
            yield from requests.journal_events(reply)
    finally:
        replies.close()


def _deadline(timeout: float | None) -> float | None:
    return None if timeout is None or timeout > FOREVER else monotonic() + timeout


def _remaining(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - monotonic())
