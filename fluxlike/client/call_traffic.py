"""What a Python call needs besides a job: large input to its standard input, its outcome from its output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol

from fluxlike.client import requests
from fluxlike.client.call import read_outcome
from fluxlike.client.core import read_reply
from fluxlike.client.futures import JobFailed, JobFuture, RemoteTraceback
from fluxlike.client.requests import EventPoll, OutputPoll
from fluxlike.client.results import JobRecord
from fluxlike.errors import FluxlikeError
from fluxlike.protocol.jobs import JobEventsReply, JobStdin, OutputReadReply
from fluxlike.protocol.message import Message
from fluxlike.protocol.payload import Payload


class Ask(Protocol):
    def __call__(self, payload: Payload, then: Callable[[Message], None], *, stream: bool = False) -> None: ...


class CallTraffic:
    def __init__(self, ask: Ask, settle: Callable[[JobFuture[Any]], None]) -> None:
        """`settle` is told of each future that is done."""
        self._ask = ask
        self._settle = settle

    # -- in -------------------------------------------------------------------------------------------------

    def feed(self, future: JobFuture[Any]) -> None:
        """Send the payload once there is a task to take it. If the job ends before, that is told in other ways."""
        assert future.id is not None
        self._await_start(future, EventPoll(future.id, 0, follow=True))

    def _await_start(self, future: JobFuture[Any], poll: EventPoll) -> None:
        self._ask(poll.request(), partial(self._on_events, future, poll))

    def _on_events(self, future: JobFuture[Any], poll: EventPoll, message: Message) -> None:
        if message.failure() is not None or future.done():
            return
        names = [event.name for event in poll.accept(read_reply(message, JobEventsReply))]
        if "start" in names:
            assert future.id is not None
            self._feed_next(future, requests.stdin(future.id, future.work.payload, (), True))
        elif not poll.done:
            self._await_start(future, poll)

    def _feed_next(self, future: JobFuture[Any], pieces: Iterator[JobStdin]) -> None:
        """Each piece is answered before the next, which is its flow control."""
        piece = next(pieces, None)
        if piece is None:
            future.work.payload = b""
        else:
            self._ask(piece, partial(self._on_fed, future, pieces))

    def _on_fed(self, future: JobFuture[Any], pieces: Iterator[JobStdin], message: Message) -> None:
        if message.failure() is None:
            self._feed_next(future, pieces)

    # -- out ------------------------------------------------------------------------------------------------

    def fetch(self, future: JobFuture[Any], record: JobRecord) -> None:
        """The job has ended; the future is done when its outcome is here."""
        self._read(future, record, OutputPoll(record.id, follow=True), [])

    def _read(self, future: JobFuture[Any], record: JobRecord, poll: OutputPoll, pieces: list[bytes]) -> None:
        self._ask(poll.request(), partial(self._on_output, future, record, poll, pieces))

    def _on_output(
        self, future: JobFuture[Any], record: JobRecord, poll: OutputPoll, pieces: list[bytes], message: Message
    ) -> None:
        try:
            chunks = poll.accept(read_reply(message, OutputReadReply))
        except FluxlikeError as error:
            future.fail(error)
            self._settle(future)
            return
        pieces += [chunk.data for chunk in chunks if chunk.stream == "stdout"]
        if not poll.done:
            self._read(future, record, poll, pieces)
            return
        _conclude(future, record, b"".join(pieces))
        self._settle(future)


def _conclude(future: JobFuture[Any], record: JobRecord, data: bytes) -> None:
    try:
        outcome = read_outcome(data)
    except Exception as error:  # noqa: BLE001  any code of the result's class may run here
        error.add_note("raised while the outcome of the call was unpacked")
        future.fail(error)
        return
    if outcome is None:
        future.fail(JobFailed.of(record))
        return
    returned, value, text = outcome
    if returned:
        future.succeed(value)
    else:
        value.__cause__ = RemoteTraceback(text)
        future.fail(value)
