"""The asyncio face of the client. It starts no task: answers are sorted as they arrive."""

# ruff: noqa: ASYNC109  both faces have one surface, so this one takes timeouts too

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import aclosing, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from fluxlike.client import requests, submission
from fluxlike.client.aio_connection import Connection
from fluxlike.client.core import is_end, read_body, read_reply
from fluxlike.client.requests import EventPoll, JobPages, OutputPoll, TaskPages
from fluxlike.client.results import Event, JobRecord, JournalEvent, OutputChunk, TaskRecord
from fluxlike.client.uri import resolve
from fluxlike.errors import Disconnected, FluxlikeError, TimedOut
from fluxlike.jobspec.model import Jobspec
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
from fluxlike.protocol.message import ANY, Message
from fluxlike.protocol.payload import Payload

if TYPE_CHECKING:
    from fluxlike.client.submission import Dependencies

P = TypeVar("P", bound=Payload)


class AsyncClient:
    """A connection to an instance, by default to the one that encloses this process. Open it by `async with`.

    For the tasks of one loop, any number of them at a time. Every method raises the error that the broker
    answered with, and Disconnected once the connection is gone."""

    def __init__(self, uri: str | None = None) -> None:
        self.uri = resolve(uri)
        self._connection: Connection | None = None

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def connect(self) -> None:
        """For use without `async with`; harmless when repeated."""
        if self._connection is None:
            self._connection = await Connection.open(self.uri)

    async def close(self) -> None:
        """Harmless when repeated. The broker stops what it was still doing for this connection."""
        if self._connection is not None:
            await self._connection.close()

    def fileno(self) -> int:
        return self._wire().fileno()

    def _wire(self) -> Connection:
        if self._connection is None:
            raise Disconnected(f"not connected to {self.uri} yet: use `async with`, or await connect()")
        return self._connection

    # -- messages -------------------------------------------------------------------------------------------

    async def post(self, payload: Payload, *, rank: int = ANY, stream: bool = False) -> int:
        """Ask without waiting. The tag returned is the `matchtag` of the answers that `receive` gives."""
        wire = self._wire()
        tag = wire.send(payload, rank=rank, stream=stream, posted=True)
        await wire.drain()
        return tag

    async def receive(self, timeout: float | None = None) -> Message | None:
        """The next answer to anything posted, errors and end marks included; None when the time is up."""
        try:
            async with asyncio.timeout(timeout):
                return await self._wire().receive()
        except TimeoutError:
            return None

    async def call(self, payload: Payload, reply: type[P], *, rank: int = ANY, timeout: float | None = None) -> P:
        """One request, one answer. Raises TimedOut after `timeout` seconds."""
        return read_reply(await self._ask(payload, None, rank, timeout), reply)

    async def rpc(self, topic: str, body: object = None, *, rank: int = ANY, timeout: float | None = None) -> Any:
        """As `call`, for a topic without classes: plain maps, lists and scalars out and in."""
        return read_body(await self._ask(topic, body, rank, timeout))

    def stream(
        self, payload: Payload, reply: type[P], *, rank: int = ANY, timeout: float | None = None
    ) -> AsyncGenerator[P, None]:
        """One request, sent now, and its answers until the last. Closing it early tells the broker to stop.

        `timeout` is for the whole of it, in seconds; TimedOut when it is up."""
        wire = self._wire()
        deadline = _deadline(timeout)
        tag = wire.send(payload, rank=rank, stream=True)
        answers = self._answers(wire, tag, payload.topic, reply, deadline)
        with suppress(StopIteration):
            answers.asend(None).send(None)
        return answers

    async def _answers(
        self, wire: Connection, tag: int, topic: str, reply: type[P], deadline: float | None
    ) -> AsyncGenerator[P, None]:
        try:
            # Taken by `stream`: only a generator that has begun cleans up when it is closed.
            yield None  # type: ignore[misc]
            while wire.expects(tag):
                message = await self._next(wire, tag, topic, deadline)
                if is_end(message):
                    return
                yield read_reply(message, reply)
        finally:
            wire.drop(tag)

    async def _ask(self, payload: Payload | str, body: object, rank: int, timeout: float | None) -> Message:
        wire = self._wire()
        deadline = _deadline(timeout)
        topic = payload if isinstance(payload, str) else payload.topic
        tag = wire.send(payload, body, rank=rank)
        try:
            return await self._next(wire, tag, topic, deadline)
        finally:
            wire.drop(tag)

    async def _next(self, wire: Connection, tag: int, topic: str, deadline: float | None) -> Message:
        try:
            async with asyncio.timeout_at(deadline):
                await wire.drain()
                return await wire.next(tag)
        except TimeoutError:
            raise TimedOut(f"{topic}: the instance at {self.uri} did not answer in time") from None

    # -- jobs -----------------------------------------------------------------------------------------------

    async def submit(
        self, jobspec: dict[str, Any] | Jobspec, *, urgency: int = 16, flags: Iterable[str] = (), key: str = ""
    ) -> int:
        """The id of the new job, once it is stored. With a `key` that was used before, the id of then."""
        return submission.only_id(await self.call(submission.submit(jobspec, urgency, flags, key), Submitted))

    async def submit_many(
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
        return await self._collect(submission.submit_batches(jobspecs, urgency, flags, key, dependencies))

    async def submit_template(
        self,
        jobspec: dict[str, Any] | Jobspec,
        cc_values: Iterable[str],
        *,
        urgency: int = 16,
        flags: Iterable[str] = (),
        key: str = "",
    ) -> list[int]:
        """One job for each value, which replaces `{cc}` in command, environment and names of output files."""
        return await self._collect(submission.template_batches(jobspec, cc_values, urgency, flags, key))

    async def submit_array(
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
        return submission.only_id(await self.call(request, Submitted))

    async def submit_batches(
        self,
        jobspecs: Iterable[dict[str, Any] | Jobspec],
        *,
        urgency: int = 16,
        flags: Iterable[str] = (),
        key: str = "",
    ) -> AsyncIterator[list[int]]:
        """Submit any number of jobs, some thousand to a message; ids in order, each batch once it is stored.

        A few messages are on their way at a time. Of a message all jobs are accepted or none. `key` makes it safe to
        say all of this again after a lost connection: same key and jobs give the same ids, and nothing runs twice."""
        async with aclosing(self.submit_messages(submission.submit_batches(jobspecs, urgency, flags, key))) as batches:
            async for ids in batches:
                yield ids

    async def submit_messages(self, messages: Iterable[Submit]) -> AsyncGenerator[list[int], None]:
        """As `submit_batches`, for messages made elsewhere."""
        wire = self._wire()
        waiting: list[int] = []
        try:
            for message in messages:
                waiting.append(wire.send(message))
                if len(waiting) >= submission.WINDOW:
                    yield (await self._submit_answer(wire, waiting.pop(0))).ids
            while waiting:
                yield (await self._submit_answer(wire, waiting.pop(0))).ids
        except FluxlikeError as error:
            accepted = await self._still_accepted(wire, waiting)
            submission.note_accepted(error, accepted, submission.ON_THEIR_WAY)
            raise
        finally:
            for tag in waiting:
                wire.drop(tag)

    async def _submit_answer(self, wire: Connection, tag: int) -> Submitted:
        try:
            return read_reply(await self._next(wire, tag, Submit.topic, None), Submitted)
        finally:
            wire.drop(tag)

    async def _still_accepted(self, wire: Connection, tags: list[int]) -> list[int]:
        """Of the messages that were on their way when another was refused."""
        ids: list[int] = []
        while tags:
            try:
                ids += (await self._submit_answer(wire, tags.pop(0))).ids
            except FluxlikeError:
                continue
        return ids

    async def _collect(self, messages: Iterator[Submit]) -> list[int]:
        ids: list[int] = []
        try:
            async for batch in self.submit_messages(messages):
                ids += batch
        except FluxlikeError as error:
            submission.note_accepted(error, ids, submission.BEFORE)
            raise
        return ids

    async def jobs(
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
            found += pages.accept(await self.call(pages.request(), JobListed))
        return found

    async def tasks(
        self, id: int, states: Iterable[str] = (), *, first: int = 0, limit: int = 1000
    ) -> list[TaskRecord]:
        """Tasks of an array job in any of these states, by index from `first` on; a limit of 0 is none."""
        pages = TaskPages(id, states, first, limit)
        found: list[TaskRecord] = []
        while not pages.done:
            found += pages.accept(await self.call(pages.request(), JobTasksListed))
        return found

    async def job(self, id: int) -> JobRecord:
        """Raises NotFound."""
        return requests.only_record(await self.call(requests.by_id(id), JobListed), id)

    async def info(self, id: int, *keys: str) -> dict[str, Any]:
        """What is stored about a job, by key: eventlog, jobspec, R. None named: all that there is."""
        return (await self.call(requests.info(id, keys), JobInfoReply)).values

    async def events(self, id: int, *, follow: bool = True, since: int = 0) -> AsyncIterator[Event]:
        """The job's events from number `since` on; with `follow`, until the job is inactive."""
        poll = EventPoll(id, since, follow)
        while not poll.done:
            for event in poll.accept(await self.call(poll.request(), JobEventsReply)):
                yield event

    async def output(self, id: int, *, follow: bool = True) -> AsyncIterator[OutputChunk]:
        """What the job's tasks wrote, all of it, in order; with `follow`, until the job is inactive."""
        poll = OutputPoll(id, follow)
        while not poll.done:
            for chunk in poll.accept(await self.call(poll.request(), OutputReadReply)):
                yield chunk

    async def wait(self, id: int, timeout: float | None = None) -> JobRecord:
        """The job once it is inactive. Raises TimedOut; the job goes on."""
        async with aclosing(self.stream(requests.wait((id,)), JobEnds, timeout=timeout)) as ends:
            async for reply in ends:
                for record in requests.records(reply):
                    return record
        raise requests.no_end(id)

    async def wait_many(self, ids: Iterable[int], timeout: float | None = None) -> AsyncIterator[JobRecord]:
        """The jobs in the order in which they become inactive. Raises TimedOut, for all of them together."""
        request = requests.wait(ids)
        if request.ids:
            async with aclosing(self.stream(request, JobEnds, timeout=timeout)) as ends:
                async for reply in ends:
                    for record in requests.records(reply):
                        yield record

    async def cancel(self, ids: int | Iterable[int], note: str = "") -> list[int]:
        """End jobs, pending or running; eventlogs keep the note. All are tried, then a refusal is raised."""
        return await self.raise_exception(ids, "cancel", 0, note)

    async def raise_exception(
        self, ids: int | Iterable[int], type: str, severity: int = 0, note: str = ""
    ) -> list[int]:
        """Severity 0 ends the jobs, 1 to 7 only inform. All are tried, then a refusal is raised."""
        request = requests.exception(ids, type, severity, note)
        return requests.touched(await self.call(request, JobsTouched)) if request.ids else []

    async def kill(self, ids: int | Iterable[int], signum: int = 15) -> list[int]:
        """Send a signal to all tasks of running jobs. All are tried, then a refusal is raised."""
        request = requests.kill(ids, signum)
        return requests.touched(await self.call(request, JobsTouched)) if request.ids else []

    async def urgency(self, id: int, urgency: int) -> int:
        """Set it, 0 (hold) to 31 (expedite); returns the old one."""
        return (await self.call(requests.urgency(id, urgency), JobUrgencySet)).old

    async def update(self, id: int, **updates: Any) -> dict[str, Any]:
        """Change an active job: `duration` (seconds, or "+N" and "-N" for more and less) or `name`. What holds now."""
        return (await self.call(requests.update(id, updates), JobUpdated)).updates

    async def purge(
        self, ids: Iterable[int] = (), *, age: float | None = None, num: int | None = None, dry_run: bool = False
    ) -> int:
        """Forget inactive jobs for good: these, or those that ended more than `age` seconds ago, or all but the
        newest `num`; with both limits, what either says. Gives how many; with `dry_run`, how many it would be."""
        return (await self.call(requests.purge(ids, age, num, dry_run), JobPurged)).count

    def journal(self, names: Iterable[str] = ()) -> AsyncGenerator[JournalEvent, None]:
        """Events of every job from now on, each batch once it is stored; only these `names`, if any are given.

        It has no end: close it. Asked for at once, so that no event of what is submitted next is missed."""
        return _in_turn(self.stream(requests.journal(names), JournalRows))

    async def stdin(self, id: int, data: bytes = b"", *, tasks: Iterable[int] = (), eof: bool = False) -> None:
        """Write to the standard input of these tasks, none named: all. Returns when the job has taken it."""
        for request in requests.stdin(id, data, tasks, eof):
            await self.call(request, Payload)


async def _in_turn(replies: AsyncGenerator[JournalRows, None]) -> AsyncGenerator[JournalEvent, None]:
    async with aclosing(replies):
        async for reply in replies:
            for event in requests.journal_events(reply):
                yield event


def _deadline(timeout: float | None) -> float | None:
    """In the loop's time."""
    return None if timeout is None else asyncio.get_running_loop().time() + timeout
