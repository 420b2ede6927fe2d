"""The asyncio face of the client. It starts no task: answers are sorted as they arrive."""

# ruff: noqa: ASYNC109  both faces have one surface, so this one takes timeouts too

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing, suppress
from types import TracebackType
from typing import Any, Self, TypeVar

from fluxlike.client import requests
from fluxlike.client.aio_connection import Connection
from fluxlike.client.core import is_end, read_body, read_reply
from fluxlike.client.requests import EventPoll, OutputPoll
from fluxlike.client.results import Event, JobRecord, OutputChunk
from fluxlike.client.uri import resolve
from fluxlike.errors import Disconnected, FluxlikeError, TimedOut
from fluxlike.jobspec.model import Jobspec
from fluxlike.protocol.jobs import (
    JobEnds,
    JobEventsReply,
    JobInfoReply,
    JobListed,
    JobsTouched,
    JobUrgencySet,
    OutputReadReply,
    Submit,
    Submitted,
)
from fluxlike.protocol.message import ANY, Message
from fluxlike.protocol.payload import Payload

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

    async def submit(self, jobspec: dict[str, Any] | Jobspec, *, urgency: int = 16, flags: Iterable[str] = ()) -> int:
        """The id of the new job, once it is stored."""
        return requests.only_id(await self.call(requests.submit(jobspec, urgency, flags), Submitted))

    async def submit_many(
        self, jobspecs: Iterable[dict[str, Any] | Jobspec], *, urgency: int = 16, flags: Iterable[str] = ()
    ) -> list[int]:
        """As `submit_batches`, all ids at the end; an error carries a note of what was accepted before it."""
        return await self._collect(requests.submit_batches(jobspecs, urgency, flags))

    async def submit_template(
        self,
        jobspec: dict[str, Any] | Jobspec,
        cc_values: Iterable[str],
        *,
        urgency: int = 16,
        flags: Iterable[str] = (),
    ) -> list[int]:
        """One job for each value, which replaces `{cc}` in command, environment and names of output files."""
        return await self._collect(requests.template_batches(jobspec, cc_values, urgency, flags))

    async def submit_batches(
        self, jobspecs: Iterable[dict[str, Any] | Jobspec], *, urgency: int = 16, flags: Iterable[str] = ()
    ) -> AsyncIterator[list[int]]:
        """Submit any number of jobs, a thousand to a message; ids in order, each batch once it is stored.

        Of a message all jobs are accepted or none."""
        for batch in requests.submit_batches(jobspecs, urgency, flags):
            yield (await self.call(batch, Submitted)).ids

    async def _collect(self, batches: Iterable[Submit]) -> list[int]:
        ids: list[int] = []
        try:
            for batch in batches:
                ids += (await self.call(batch, Submitted)).ids
        except FluxlikeError as error:
            requests.note_accepted(error, ids)
            raise
        return ids

    async def jobs(
        self, states: Iterable[str] = (), ids: Iterable[int] = (), name: str = "", limit: int = 1000
    ) -> list[JobRecord]:
        """Jobs in any of these states (or with these results), newest first in each; a limit of 0 is none."""
        return requests.records(await self.call(requests.listing(states, ids, name, limit), JobListed))

    async def job(self, id: int) -> JobRecord:
        """Raises NotFound."""
        return requests.only_record(await self.call(requests.listing((), (id,), "", 1), JobListed), id)

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

    async def stdin(self, id: int, data: bytes = b"", *, tasks: Iterable[int] = (), eof: bool = False) -> None:
        """Write to the standard input of these tasks, none named: all. Returns when the job has taken it."""
        for request in requests.stdin(id, data, tasks, eof):
            await self.call(request, Payload)


def _deadline(timeout: float | None) -> float | None:
    """In the loop's time."""
    return None if timeout is None else asyncio.get_running_loop().time() + timeout
